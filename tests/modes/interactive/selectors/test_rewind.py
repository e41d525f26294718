"""Going back to an earlier prompt: conversation, files, or both."""

from pathlib import Path
from typing import Any

import pytest

from tau.ai.faux import Say, Use
from tau.ai.wire import UserMessage
from tests.modes.interactive.rig import Rig, rigged, run


def script() -> list[Any]:
    turns = []
    for number in ("one", "two", "three"):
        turns += [[Use("write", path=f"{number}.txt", content=f"{number}\n")], [Say(f"Wrote {number}.")]]
    return turns


async def talk(rig: Rig) -> None:
    for number in ("one", "two", "three"):
        await rig.send(f"write {number}")
        await rig.show(f"Wrote {number}.")
        await rig.idle()


async def previewed(rig: Rig, text: str) -> None:
    """The dialog says what would happen, wherever it is wrapped."""
    await rig.until(lambda: text in " ".join(rig.screen().split()), text)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.txt"))


@pytest.mark.parametrize(
    ("tabs", "kept", "text", "messages"),
    [
        (0, ["one.txt"], "write two", ["write one"]),
        (1, ["one.txt", "three.txt", "two.txt"], "write two", ["write one"]),
        (2, ["one.txt"], "", ["write one", "write two", "write three"]),
    ],
    ids=["both", "conversation", "files"],
)
def test_goes_back_as_chosen(
    tmp_path: Path, tabs: int, kept: list[str], text: str, messages: list[str]
) -> None:
    async def test() -> None:
        async with rigged(tmp_path, script(), rows=50) as rig:
            await talk(rig)
            await rig.press("escape", "escape")
            await previewed(rig, "deletes three.txt.")
            await rig.press("down")
            await previewed(rig, "deletes two.txt, three.txt.")
            await rig.press(*["tab"] * tabs)
            await rig.press("enter")
            await rig.show("Rewound")
            await rig.idle()
            assert files(tmp_path) == kept
            assert rig.front.editor.text == text
            sent = [one.content for one in rig.session.log.messages() if isinstance(one, UserMessage)]
            assert sent == messages

    run(test)


def test_files_changed_by_someone_else_are_named_and_left(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, script(), rows=50) as rig:
            await talk(rig)
            (tmp_path / "three.txt").write_text("mine now\n")
            await rig.send("/rewind")
            await rig.press("down")
            await previewed(rig, "deletes two.txt; leaves what someone else changed since: three.txt.")
            await rig.press("enter")
            await rig.show("Rewound the conversation and files")
            assert "conflict  three.txt: changed since" in rig.tape()
            assert (tmp_path / "three.txt").read_text() == "mine now\n"
            assert not (tmp_path / "two.txt").exists()

    run(test)


def test_first_prompt_can_be_edited_again_and_escape_changes_nothing(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, script(), rows=50) as rig:
            await talk(rig)
            await rig.send("/rewind")
            await previewed(rig, "deletes three.txt.")
            await rig.press("escape")
            await rig.gone("Rewind to before")
            assert len(files(tmp_path)) == 3
            await rig.send("/rewind")
            await previewed(rig, "deletes three.txt.")
            await rig.press("down", "down", "enter")
            await rig.show("Rewound")
            assert files(tmp_path) == [] and rig.front.editor.text == "write one"
            assert rig.session.log.messages() == []

    run(test)


def test_session_without_messages_or_changes_says_so(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Hello.")]]) as rig:
            await rig.press("escape", "escape")
            await rig.show("There are no messages to go back to yet.")
            await rig.send("hi")
            await rig.show("Hello.")
            await rig.idle()
            await rig.send("/rewind")
            await previewed(rig, "no files have changed since")
            await rig.press("tab")
            await previewed(rig, "Rewinds the conversation; files stay as they are.")

    run(test)
