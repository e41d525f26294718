"""Completions as a user sees them: files after @, commands after /, paths with Tab."""

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tau.modes.interactive.commands.command_controller import CommandController
from tau.modes.interactive.composer import completion
from tau.modes.interactive.composer import file_index as files_module
from tau.tui.widgets.autocomplete import CompletionItem, Suggestions
from tests.modes.interactive.rig import Rig, rigged, run


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    for name in ("src/main.py", "src/editor/view.py", "docs/my notes.md", "build/main.o", "README.md"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    (folder / ".gitignore").write_text("build/\n")
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    subprocess.run(["git", "add", "-A"], cwd=folder, check=True)
    return folder


def offered(rig: Rig) -> list[str]:
    suggestions = rig.front.editor.completing.list
    return [] if suggestions is None else [item.label for item in suggestions.items]


async def offers(rig: Rig, *labels: str) -> None:
    await rig.until(lambda: offered(rig)[: len(labels)] == list(labels), f"{labels}, not {offered(rig)}")


def test_letters_after_an_at_sign_find_files_and_enter_takes_one(project: Path) -> None:
    async def test() -> None:
        async with rigged(project) as rig:
            await rig.type("look at @vie")
            await rig.show("❯ view.py")
            await rig.press("enter")
            assert rig.front.editor.text == "look at @src/editor/view.py "
            await rig.gone("❯ view.py")

    run(test)


def test_argument_that_only_resembles_an_item_was_replaced_by_it(project: Path) -> None:
    async def test() -> None:
        async with rigged(project) as rig:
            await rig.type("/stats 0")
            await offers(rig, "30")
            await rig.press("enter")
            await rig.show("Usage: /stats")
            assert rig.front.editor.text == "/stats 0"

    run(test)


def test_bare_at_sign_shows_the_top_of_the_tree_without_ignored_files(project: Path) -> None:
    async def test() -> None:
        async with rigged(project) as rig:
            await rig.type("@")
            await offers(rig, "src/", "docs/", "README.md", ".gitignore")

    run(test)


def test_folder_completion_continues_with_its_files(project: Path) -> None:
    async def test() -> None:
        async with rigged(project) as rig:
            await rig.type("@src")
            await rig.show("❯ src/")
            await rig.press("tab")
            assert rig.front.editor.text == "@src/"
            await offers(rig, "editor/", "main.py")
            await rig.press("down", "enter")
            assert rig.front.editor.text == "@src/main.py "

    run(test)


def test_name_with_spaces_is_quoted(project: Path) -> None:
    async def test() -> None:
        async with rigged(project) as rig:
            await rig.type("@notes")
            await rig.show("❯ my notes.md")
            await rig.press("tab")
            assert rig.front.editor.text == '@"docs/my notes.md" '

    run(test)


def test_ignored_file_is_found_by_its_path(project: Path) -> None:
    async def test() -> None:
        async with rigged(project) as rig:
            await rig.type("@build/ma")
            await rig.show("❯ main.o")
            await rig.press("tab")
            assert rig.front.editor.text == "@build/main.o "

    run(test)


def test_file_above_the_folder_is_found_by_its_path(project: Path) -> None:
    (project.parent / "beside.txt").touch()

    async def test() -> None:
        async with rigged(project) as rig:
            await rig.type("@../be")
            await rig.show("❯ beside.txt")
            await rig.press("tab")
            assert rig.front.editor.text == "@../beside.txt "

    run(test)


def test_enter_sends_a_fully_typed_path(project: Path) -> None:
    async def test() -> None:
        async with rigged(project) as rig:
            await rig.type("@README.m")
            await rig.show("❯ README.md")
            await rig.type("d")
            await rig.gone("❯ README.md")
            await rig.press("enter")
            await rig.until(lambda: bool(rig.faux.requests), "the message")
            assert rig.faux.requests[0].messages[-1].content == "@README.md"

    run(test)


def test_email_address_completes_nothing(project: Path) -> None:
    async def test() -> None:
        async with rigged(project) as rig:
            await rig.type("mail me@src")
            await rig.rested()
            assert offered(rig) == []

    run(test)


def test_new_files_are_found_when_the_list_is_stale(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files_module, "STALE_S", 0.0)

    async def test() -> None:
        async with rigged(project) as rig:
            await rig.type("@fresh")
            await rig.rested()
            assert offered(rig) == []
            (project / "fresh.py").touch()
            await rig.type(" @fresh")
            await offers(rig, "fresh.py")

    run(test)


def test_known_files_are_offered_while_the_search_continues(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """git's list never arrives here: the content of the folder itself is still offered."""

    async def never(self: Any, index: Any, folder: Path) -> None:
        await asyncio.sleep(0)

    monkeypatch.setattr(files_module.WorkspaceFiles, "_build", never)

    async def test() -> None:
        async with rigged(project) as rig:
            await rig.type("@READ")
            await offers(rig, "README.md")

    run(test)


def test_list_is_left_alone_once_the_user_has_moved(project: Path) -> None:
    async def test() -> None:
        async with rigged(project) as rig:
            await rig.type("@m")
            await rig.until(lambda: len(offered(rig)) > 1, "a list")
            await rig.rested()
            await rig.press("down")
            completion = rig.parts.input._completion
            completion.refresh()
            assert rig.front.editor.completing.at == 1

    run(test)


def test_new_files_do_not_reopen_a_closed_list(project: Path) -> None:
    async def test() -> None:
        async with rigged(project) as rig:
            await rig.type("@m")
            await rig.until(lambda: len(offered(rig)) > 1, "a list")
            await rig.press("escape")
            rig.parts.input._completion.refresh()
            assert offered(rig) == []
            await rig.press("left")
            rig.parts.input._completion.refresh()
            assert offered(rig) == []

    run(test)


def test_number_of_files_is_limited_with_a_note(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files_module, "MAX_FILES", 3)

    async def test() -> None:
        async with rigged(project) as rig:
            await rig.type("@m")
            await rig.show("Only the first 3 files are indexed")

    run(test)


def test_tab_completes_a_path_and_then_enter_sends(project: Path) -> None:
    async def test() -> None:
        async with rigged(project) as rig:
            await rig.type("see ./sr")
            await rig.rested()
            assert offered(rig) == []
            await rig.press("tab")
            assert rig.front.editor.text == "see ./src/"
            await rig.rested()
            assert offered(rig) == []
            await rig.press("tab")
            await offers(rig, "editor/", "main.py")
            await rig.type("m")
            await offers(rig, "main.py")
            await rig.press("tab")
            assert rig.front.editor.text == "see ./src/main.py"

    run(test)


def test_tab_completed_only_part_of_a_small_folder_on_a_busy_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(completion, "MAX_LIST_S", -1)
    monkeypatch.setattr(completion, "MIN_LISTED", 2)
    for number in range(4):
        (tmp_path / f"a{number}").touch()
    assert len(completion.list_entries("./a", tmp_path).names) == 3


def test_tab_completes_paths_in_shell_commands(project: Path) -> None:
    async def test() -> None:
        async with rigged(project) as rig:
            await rig.type("!cat docs/my")
            await rig.press("tab")
            assert rig.front.editor.text == r"!cat docs/my\ notes.md"
            await rig.press("escape")
            await rig.type("!!RE")
            await rig.press("tab")
            assert rig.front.editor.text == "!!README.md"

    run(test)


def test_tab_without_anything_to_complete_does_nothing(project: Path) -> None:
    async def test() -> None:
        async with rigged(project) as rig:
            await rig.press("tab")
            await rig.type("nothing-such")
            await rig.press("tab")
            assert rig.front.editor.text == "nothing-such"

    run(test)


def test_slash_completes_commands(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        asked: list[tuple[str, int]] = []

        def complete(commands: CommandController, text: str, cursor: int) -> Suggestions | None:
            asked.append((text, cursor))
            model = CompletionItem("/model", "/model ", "Choose a model")
            return Suggestions(0, [model]) if len(text) < 4 else None

        monkeypatch.setattr(CommandController, "complete", complete)
        async with rigged(project) as rig:
            await rig.type("/m")
            shown = await rig.show("❯ /model")
            assert "Choose a model" in shown
            await rig.press("tab")
            assert rig.front.editor.text == "/model "
            assert asked[0] == ("/m", 2)
            await rig.type("./sr")
            await rig.press("tab")
            assert rig.front.editor.text == "/model ./src/"

    run(test)


def test_failing_source_is_logged_and_the_editor_works_on(project: Path) -> None:
    async def test() -> None:
        async with rigged(project) as rig:

            def complete(text: str, cursor: int) -> Suggestions | None:
                raise RuntimeError("broken")

            rig.parts.commands.complete = complete  # type: ignore[method-assign]
            await rig.type("/m")
            await rig.rested()
            await rig.type("ore")
            assert rig.front.editor.text == "/more"

    run(test)


def test_list_height_is_a_setting(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"file{number:02}.txt").touch()

    async def test() -> None:
        async with rigged(tmp_path, settings={"interaction.autocompleteRows": 4}) as rig:
            await rig.type("@file")
            await rig.show("1/20")
            assert sum("file" in row and ".txt" in row for row in rig.terminal.screen()) == 3

    run(test)


def test_file_names_cannot_contain_control_sequences(tmp_path: Path) -> None:
    (tmp_path / "fine.txt").touch()
    (tmp_path / "f\x1b]0;owned\x07.txt").touch()

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.type("@f")
            await rig.show("❯ fine.txt")
            assert rig.terminal.title != "owned"
            assert len(offered(rig)) == 1

    run(test)
