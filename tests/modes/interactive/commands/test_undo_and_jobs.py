"""Undoing what the agent did, and viewing and stopping background jobs."""

import asyncio
from pathlib import Path

from tau.ai.faux import Say, Use
from tau.coding.ports import JobReport
from tests.modes.interactive.commands.command_rig import run_command
from tests.modes.interactive.rig import rigged, run


def test_undo_reverts_changes_and_redo_reapplies_them(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("before\n")

    async def test() -> None:
        script = [[Use("write", path="a.txt", content="after\n")], [Say("Written.")]]
        async with rigged(tmp_path, script, settings={"tools.approvalMode": "yolo"}) as rig:
            await run_command(rig, "/undo list", "The agent has not changed any files in this session.")
            await run_command(rig, "change it", "Written.")
            await rig.idle()
            assert file.read_text() == "after\n"
            assert "change it" in await run_command(rig, "/undo list", "a.txt")
            await run_command(rig, "/undo", 'Undone: "change it", 1 file.')
            assert file.read_text() == "before\n"
            await run_command(rig, "/redo", "Redone:")
            assert file.read_text() == "after\n"
            await run_command(rig, "/undo 1 other.txt", "")
            assert file.read_text() == "after\n"

    run(test)


def test_file_changed_by_someone_else_is_left_alone_unless_forced(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("before\n")

    async def test() -> None:
        script = [[Use("write", path="a.txt", content="after\n")], [Say("Written.")]]
        async with rigged(tmp_path, script, settings={"tools.approvalMode": "yolo"}) as rig:
            await run_command(rig, "change it", "Written.")
            await rig.idle()
            file.write_text("mine\n")
            await run_command(rig, "/undo", "conflict")
            assert file.read_text() == "mine\n"
            await run_command(rig, "/undo --force", "Usage: /undo")
            rig.front.editor.clear()
            await rig.send("/undo --force a.txt")
            await rig.until(lambda: file.read_text() == "before\n", "the old text")

    run(test)


def test_undo_of_nothing_says_so(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.send("/undo")
            await rig.until(lambda: bool(rig.front.layout.banner.children), "a word about it")
            assert "undo" in rig.screen().lower()
            await run_command(rig, "/undo 0", "Usage: /undo")

    run(test)


def test_jobs_are_listed_read_as_they_run_and_stopped(tmp_path: Path) -> None:
    go = asyncio.Event()

    async def work(report: JobReport) -> str:
        report("half way there")
        await go.wait()
        report("almost there")
        await asyncio.sleep(600)
        return "never"

    async def quick(report: JobReport) -> str:
        return "\n".join(f"line {number}" for number in range(100))

    async def test() -> None:
        async with rigged(tmp_path, rows=60) as rig:
            await run_command(rig, "/jobs", "No background jobs")
            first = rig.session.jobs.start("bash", "make all", work)
            second = rig.session.jobs.start("bash", "make quick", quick)
            await rig.until(lambda: rig.session.jobs.get(second).status == "completed", "the quick one")
            shown = await run_command(rig, "/jobs", "make all")
            assert f"{first} running" in shown and f"{second} completed" in shown
            await rig.press("escape")
            await rig.gone("Background jobs")
            shown = await run_command(rig, f"/jobs {second}", f"{second} completed")
            assert "line 99" in shown and "S stop" not in shown
            await rig.press("s")
            await rig.show("It has already ended.")
            await rig.press("q")
            await rig.until(lambda: not rig.terminal.alternate, "the normal screen")
            await rig.send("/jobs")
            await rig.show("Background jobs")
            await rig.press("down", "enter")
            shown = await rig.show("half way there")
            assert f"{first} running" in shown and "make all" in shown and "S stop" in shown
            go.set()
            rig.skip(1)
            await rig.show("almost there")
            await rig.press("s")
            await rig.show(f"{first} stopped")
            assert rig.session.jobs.get(first).status == "cancelled"
            await rig.press("q")
            await rig.show(f"Background job {first} stopped: make all")
            await run_command(rig, "/jobs cancel x-9", 'No job "x-9"')
            rig.front.editor.clear()
            await run_command(rig, "/jobs x-8", 'No job "x-8"')
            rig.front.editor.clear()
            await run_command(rig, "/jobs cancel all", "No jobs stopped.")

    run(test)
