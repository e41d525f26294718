"""Reviewing a plan before approval."""

from pathlib import Path

import pytest

from tau.ai.faux import Say, Use
from tests.modes.interactive.rig import Rig, rigged, run

PLAN = "# Mend the leak\n\n1. Find it\n2. **Mend** it\n\n" + "\n".join(f"- step {n}" for n in range(60))
SCRIPT = [
    [Use("write", path="local://plan.md", content=PLAN)],
    [Use("resolve", action="apply", reason="ready")],
    [Say("What comes next.")],
]


async def planned(rig: Rig) -> str:
    """The review is on screen."""
    rig.session.plan.enter()
    await rig.send("plan it")
    return await rig.show("Plan: Mend the leak")


def tool_result(rig: Rig) -> str:
    return str(rig.faux.requests[2].messages[-1].content[0].text)  # type: ignore[union-attr]


def test_plan_can_be_read_to_its_end_and_approved(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, SCRIPT) as rig:
            shown = await planned(rig)
            assert "1. Approve and start" in shown and "**" not in shown
            for _ in range(20):
                await rig.press("pageDown")
            await rig.show("step 59")
            await rig.type("1")
            await rig.show("What comes next.")
            assert not rig.session.plan.on
            assert rig.session.plan.approved == "local://mend-the-leak.md"
            assert "Carry out the plan now." in tool_result(rig)

    run(test)


def test_enter_alone_keeps_planning(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, SCRIPT) as rig:
            await planned(rig)
            await rig.press("enter")
            await rig.show("What comes next.")
            assert rig.session.plan.on
            assert "keep planning" in tool_result(rig)

    run(test)


def test_escape_keeps_planning_and_stops_the_run(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, SCRIPT) as rig:
            await planned(rig)
            await rig.press("escape")
            await rig.idle()
            assert rig.session.plan.on
            assert len(rig.faux.requests) == 2

    run(test)


def test_plan_is_rejected_with_comments(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, SCRIPT) as rig:
            await planned(rig)
            await rig.type("4")
            await rig.show("What should change:")
            await rig.press("enter")
            await rig.show("Describe what should change.")
            await rig.send("tests first")
            await rig.show("What comes next.")
            assert rig.session.plan.on
            assert "sent the plan back: tests first" in tool_result(rig)

    run(test)


def test_plan_is_edited_and_shown_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "edit.sh"
    script.write_text('#!/bin/sh\nprintf "# Another plan\\n\\nDo less.\\n" > "$1"\n')
    script.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(script))

    async def test() -> None:
        async with rigged(tmp_path, SCRIPT) as rig:
            await planned(rig)
            await rig.type("3")
            await rig.show("Plan: Another plan")
            await rig.show("Do less.")
            assert rig.session.plan.plan().text == "# Another plan\n\nDo less."
            await rig.type("1")
            await rig.show("What comes next.")
            folder = rig.session.log.artifacts_folder
            assert folder is not None
            kept = [path.read_text() for path in (folder / "local").iterdir()]
            assert kept == ["# Another plan\n\nDo less.\n"]

    run(test)


def test_failing_editor_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "false")

    async def test() -> None:
        async with rigged(tmp_path, SCRIPT) as rig:
            await planned(rig)
            await rig.type("3")
            await rig.show("exited with code 1")
            await rig.show("Plan: Mend the leak")
            await rig.press("escape")
            await rig.idle()

    run(test)


def test_new_session_takes_over_the_plan(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, SCRIPT) as rig:
            await planned(rig)
            old = rig.session
            await rig.type("2")
            await rig.until(lambda: rig.current.session not in (None, old), "a new session")
            await rig.show("What comes next.")
            assert not rig.session.plan.on
            assert old.plan.approved == "local://plan.md"
            message = str(rig.faux.requests[2].messages[0].content)
            assert message.startswith("Carry out this plan") and "step 59" in message
            assert len(rig.faux.requests[2].messages) == 1

    run(test)
