"""The task list, edited by the user."""

from pathlib import Path

from tau.coding.todo.list import TodoItem, TodoPhase
from tests.modes.interactive.commands.command_rig import run_command
from tests.modes.interactive.rig import Rig, rigged, run

LIST = "# Build\n\n- [/] write the parser\n- [ ] write the tests\n\n# Ship\n\n- [ ] make a release\n"


def state(rig: Rig) -> list[tuple[str, str]]:
    return [(task.content, task.status) for phase in rig.session.todos.recorded for task in phase.tasks]


def test_tasks_are_added_started_and_closed(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, rows=60) as rig:
            await run_command(rig, "/todo", "No tasks")
            await run_command(rig, "/todo append write the parser", "Added: write the parser")
            await run_command(rig, "/todo append write the tests", "2 tasks left.")
            assert state(rig) == [("write the parser", "in_progress"), ("write the tests", "pending")]
            await run_command(rig, "/todo start 2", "In progress: write the tests")
            assert state(rig)[1] == ("write the tests", "in_progress")
            await run_command(rig, "/todo done", "Done: write the tests")
            await run_command(rig, "/todo drop PARSER", "Dropped: write the parser")
            assert state(rig) == [("write the parser", "abandoned"), ("write the tests", "completed")]
            shown = await run_command(rig, "/todo show", "1 [-] write the parser")
            assert "2 [x] write the tests" in shown
            await run_command(rig, "/todo rm 1", "Removed: write the parser")
            assert state(rig) == [("write the tests", "completed")]
            await run_command(rig, "/todo clear", "Todo list cleared.")
            assert state(rig) == []

    run(test)


def test_phases_are_named_before_a_colon(tmp_path: Path) -> None:
    (tmp_path / "TODO.md").write_text(LIST)

    async def test() -> None:
        async with rigged(tmp_path, rows=60) as rig:
            await run_command(rig, "/todo import", "The list now has 3 tasks.")
            await run_command(rig, "/todo append ship: tell everybody", "Added: tell everybody")
            await run_command(rig, "/todo append note: this is no phase", "Added: note: this is no phase")
            phases = rig.session.todos.recorded
            assert [task.content for task in phases[1].tasks] == ["make a release", "tell everybody"]
            assert phases[0].tasks[-1] == TodoItem("note: this is no phase")
            await run_command(rig, "/todo done Ship", "Done: Ship")
            assert phases[0].name == "Build" and isinstance(phases[0], TodoPhase)
            assert [status for _, status in state(rig)][-2:] == ["completed", "completed"]
            await run_command(rig, "/todo done all", "Done: all tasks")
            assert {status for _, status in state(rig)} == {"completed"}

    run(test)


def test_list_goes_to_files_and_the_clipboard(tmp_path: Path) -> None:
    (tmp_path / "in.md").write_text(LIST)

    async def test() -> None:
        async with rigged(tmp_path, rows=60, columns=160) as rig:
            await run_command(rig, "/todo import in.md", "The list now has 3 tasks.")
            await run_command(rig, "/todo copy", "Copied")
            assert rig.terminal.clipboard[-1].strip() == LIST.strip()
            await run_command(rig, "/todo export", "Exported the tasks to")
            assert (tmp_path / "TODO.md").read_text() == LIST
            await run_command(rig, "/todo export", "already exists")
            rig.front.editor.clear()
            await run_command(rig, "/todo import nowhere.md", "Cannot read")

    run(test)


def test_list_is_edited_as_text(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, rows=60) as rig:

            async def editor(title: str, prefill: str = "") -> str | None:
                return prefill + "- [ ] one more\nnonsense\n"

            await run_command(rig, "/todo append the first", "Added: the first")
            rig.parts.ui.editor = editor  # type: ignore[method-assign]
            shown = await run_command(rig, "/todo edit", "The list now has 2 tasks.")
            assert "is not a phase, task or note" in shown
            assert state(rig)[1] == ("one more", "pending")

    run(test)


def test_invalid_use_is_reported(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, rows=60) as rig:
            for command, problem in (
                ("/todo done", "No task is in progress."),
                ("/todo append", "Usage: /todo append TEXT"),
                ("/todo start", "a task is its number or its text"),
                ("/todo dance", "Usage: /todo"),
                ("/todo start nothing", 'No task has "nothing"'),
            ):
                rig.front.editor.clear()
                await run_command(rig, command, problem)
            rig.front.editor.clear()
            await run_command(rig, "/todo append write a", "Added")
            await run_command(rig, "/todo append write b", "Added: write b")
            await run_command(rig, "/todo start write", '2 tasks have "write"')
            rig.front.editor.clear()
            await run_command(rig, "/todo append write b", 'Task "write b" already exists')
            assert len(state(rig)) == 2

    run(test)
