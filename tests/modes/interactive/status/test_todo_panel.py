"""The task list above the editor."""

from pathlib import Path
from typing import Any

from tau.ai.faux import Say, Use
from tau.coding.todo.list import TodoItem, TodoPhase
from tau.tui.text.width import visible_width
from tests.modes.interactive.rig import Rig, rigged, run

LIST: list[dict[str, Any]] = [
    {"phase": "Look", "items": ["read the files", "think about it"]},
    {"phase": "Build", "items": [f"step {number}" for number in range(10)]},
]


def panel(rig: Rig, width: int = 80) -> str:
    return "\n".join(rig.parts.transcript.todo.render(width))


def test_shows_the_current_phase_when_the_agent_writes_a_list(tmp_path: Path) -> None:
    async def test() -> None:
        script = [[Use("todo", ops=[{"op": "init", "list": LIST}])], [Say("Is that a good plan?")]]
        async with rigged(tmp_path, script, rows=50) as rig:  # type: ignore[arg-type]
            await rig.send("go")
            await rig.show("Is that a good plan?")
            await rig.idle()
            shown = rig.screen().split("Is that a good plan?")[1]
            assert "Look 0 of 2 done, phase 1 of 2" in shown
            assert "❯ read the files" in shown and "☐ think about it" in shown
            assert "step 0" not in shown

    run(test)


def test_key_toggles_it_and_an_empty_list_takes_no_room(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            assert not rig.front.layout.todo.children
            rig.session.todos.edit((TodoPhase("Do", (TodoItem("one thing"),)),))
            rig.parts.transcript.todo.refresh()
            await rig.show("one thing")
            assert rig.parts.transcript.todo.toggle() is False
            await rig.gone("one thing")
            assert rig.parts.transcript.todo.toggle() is True
            await rig.show("one thing")
            rig.session.todos.edit(())
            rig.parts.transcript.todo.refresh()
            await rig.gone("one thing")

    run(test)


def test_long_list_shows_the_current_phase_and_says_where_the_rest_is(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, rows=30) as rig:
            done = TodoItem("looked", "completed")
            steps = tuple(TodoItem(f"step {number}") for number in range(40))
            rig.session.todos.edit((TodoPhase("Look", (done,)), TodoPhase("Build", steps)))
            rig.parts.transcript.todo.refresh()
            await rig.show("step 0")
            assert "looked" not in panel(rig) and "34 more in this phase" in panel(rig)
            assert "/todo shows all" in panel(rig)

    run(test)


def test_each_state_has_a_sign_or_a_word_for_screen_readers(tmp_path: Path) -> None:
    tasks = (
        TodoItem("alpha", "completed"),
        TodoItem("beta", "abandoned"),
        TodoItem("gamma", "in_progress"),
        TodoItem("delta"),
    )

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            rig.session.todos.edit((TodoPhase("Do", tasks),))
            rig.parts.transcript.todo.refresh()
            await rig.show("gamma")
            for row in ("☑ alpha", "✗ beta", "❯ gamma", "☐ delta"):
                assert row in rig.screen()
            for width in (1, 2, 5, 20):
                assert all(visible_width(row) <= width for row in rig.parts.transcript.todo.render(width))
        async with rigged(tmp_path, settings={"display.screenReader": True}) as rig:
            rig.session.todos.edit((TodoPhase("Do", tasks),))
            rig.parts.transcript.todo.refresh()
            await rig.until(lambda: "In progress: gamma" in rig.tape(), "the task")
            for row in ("Done: alpha", "Dropped: beta", "To do: delta"):
                assert row in rig.tape()

    run(test)
