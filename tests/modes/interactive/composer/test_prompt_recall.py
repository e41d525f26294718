"""Prompt history, in this session and in others."""

import asyncio
import os
from pathlib import Path

from tau.ai.faux import Say
from tau.coding.session_index.prompt_history import FILE_NAME, PromptHistory
from tau.modes.interactive.current_session import SessionSwitch
from tests.modes.interactive.rig import Rig, rigged, run


def remember(*texts: str, cwd: str = "/elsewhere") -> None:
    history = PromptHistory(Path(os.environ["TAU_HOME"]) / FILE_NAME)
    for text in texts:
        history.add(text, cwd)
    history.close()


def recent() -> list[str]:
    history = PromptHistory(Path(os.environ["TAU_HOME"]) / FILE_NAME)
    found = [prompt.text for prompt in history.recent()]
    history.close()
    return found


async def walk(rig: Rig, key: str, text: str) -> None:
    await rig.press(key)
    await rig.until(lambda: rig.front.editor.text == text, repr(text))


def test_up_walks_through_this_session_and_then_all_others(tmp_path: Path) -> None:
    remember("oldest", "older")

    async def test() -> None:
        async with rigged(tmp_path, [[Say("Yes.")]]) as rig:
            await rig.send("first here")
            await rig.idle()
            await rig.send("second here")
            await rig.idle()
            await rig.type("draft")
            for text in ("second here", "first here", "older", "oldest"):
                await walk(rig, "up", text)
            await rig.press("up")
            assert rig.front.editor.text == "oldest"
            for text in ("older", "first here", "second here", "draft"):
                await walk(rig, "down", text)

    run(test)
    assert recent()[:2] == ["second here", "first here"]


def test_nothing_is_opened_before_it_is_needed(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.type("only typed")
            await rig.rested()

    run(test)
    assert not (Path(os.environ["TAU_HOME"]) / FILE_NAME).exists()


def test_typing_is_not_disturbed_while_the_history_loads(tmp_path: Path) -> None:
    remember("from before")

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            rig.terminal.press("up")
            rig.terminal.type("mine")
            await rig.rested()
            assert rig.front.editor.text == "mine"

    run(test)


def test_prompts_of_a_resumed_session_come_first(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Yes.")]]) as rig:
            await rig.send("asked in the session")
            await rig.idle()
            path = str(rig.session.log.path)
            await asyncio.to_thread(remember, "asked elsewhere, later")
            before = rig.session
            rig.app.leave(SessionSwitch("resume", session=path))
            await rig.until(lambda: rig.current.session not in (None, before), "the session again")
            await walk(rig, "up", "asked in the session")
            await walk(rig, "up", "asked elsewhere, later")

    run(test)


def test_search_finds_words_in_known_prompts(tmp_path: Path) -> None:
    remember("fix the Parser", "write docs")

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await walk(rig, "up", "write docs")
            recall = rig.parts.composer.recall
            assert [entry.text for entry in recall.search("parser fix")] == ["fix the Parser"]
            assert recall.search("nothing such") == []

    run(test)


def test_ctrl_r_searches_everything_and_puts_the_choice_into_the_editor(tmp_path: Path) -> None:
    remember("fix the parser\nin two lines", "write docs", "fix the tests")

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.type("half a")
            await rig.press("ctrl+r")
            shown = await rig.show("Prompt history")
            assert shown.index("fix the tests") < shown.index("write docs") < shown.index("fix the parser in")
            await rig.type("parser")
            await rig.gone("write docs")
            await rig.press("enter")
            await rig.gone("Prompt history")
            assert rig.front.editor.text == "fix the parser\nin two lines"
            await rig.press("ctrl+-")
            assert rig.front.editor.text == "half a"

    run(test)


def test_ctrl_r_starts_with_the_typed_text_and_escape_keeps_it(tmp_path: Path) -> None:
    remember("fix the parser", "write docs")

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.type("docs")
            await rig.press("ctrl+r")
            await rig.show("Filter: docs")
            assert "fix the parser" not in rig.screen()
            await rig.press("escape")
            await rig.gone("Filter")
            assert rig.front.editor.text == "docs"

    run(test)


def test_ctrl_r_without_a_history_says_so(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.press("ctrl+r")
            await rig.show("The prompt history is empty.")

    run(test)


def test_ctrl_r_fits_the_narrowest_terminal(tmp_path: Path) -> None:
    remember("a prompt that is much longer than the terminal is wide")

    async def test() -> None:
        async with rigged(tmp_path, columns=20, rows=10) as rig:
            await rig.press("ctrl+r")
            await rig.show("a prompt that")
            assert all(len(row) <= 20 for row in rig.terminal.screen())

    run(test)


def test_keys_are_not_stored_in_the_prompt_history(tmp_path: Path) -> None:
    key = "sk-ant-api03-abcdefghijklmnop1234567890"
    odd = "completely-unknown-form-of-a-key"
    home = Path(os.environ["TAU_HOME"])
    home.mkdir(parents=True)
    (home / "auth.json").write_text(f'{{"mine": {{"type": "key", "key": "{odd}"}}}}')

    async def test() -> None:
        async with rigged(tmp_path, [[Say("Yes.")]] * 3) as rig:
            await rig.send(f"/login {odd}2")
            await rig.idle()
            rig.front.editor.clear()  # the failed message is typed again
            await rig.send(f"why does {key} not work?")
            await rig.idle()
            rig.terminal.paste(f"and {odd} neither?\n" + "a line\n" * 20)
            await rig.press("enter")
            await rig.idle()
            await rig.press("up")
            assert odd in rig.front.editor.text, "here it can be changed and sent again"

    run(test)
    found = recent()
    assert "why does [masked Anthropic key] not work?" in found and "/login" in found
    assert any(text.startswith("and [masked] neither?") for text in found)
    for path in home.glob(f"{FILE_NAME}*"):
        assert key.encode() not in path.read_bytes() and odd.encode() not in path.read_bytes()


def test_multiline_and_unusual_text_round_trips(tmp_path: Path) -> None:
    text = 'first\n\tsecond "quoted" \\n\n\n日本語 👩‍👩‍👧 \u200d end'

    async def test() -> None:
        async with rigged(tmp_path, [[Say("Yes.")]]) as rig:
            rig.terminal.paste(text)
            await rig.press("enter")
            await rig.idle()
        async with rigged(tmp_path) as rig:
            await rig.press("up")
            await rig.until(lambda: not rig.front.editor.is_empty, "the text")
            assert rig.front.editor.text == text

    run(test)
    assert recent() == [text]


def test_control_sequences_in_a_recalled_prompt_are_plain_text(tmp_path: Path) -> None:
    remember("evil \x1b[2J\x1b]0;title\x07 \x00 text\x9b31m")

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.press("up")
            await rig.until(lambda: not rig.front.editor.is_empty, "the text")
            assert rig.front.editor.text == "evil  \ufffd text"

    run(test)
