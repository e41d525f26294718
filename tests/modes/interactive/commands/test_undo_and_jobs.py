"""What the agent did is taken back, and what runs in the background is seen and stopped."""

import asyncio
from pathlib import Path

from tau.ai.faux import Say, Use
from tau.coding.ports import JobReport
from tests.modes.interactive.commands.asking import said
from tests.modes.interactive.rig import rigged, run


def test_undo_takes_changes_back_and_redo_brings_them_again(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("before\n")

    async def test() -> None:
        script = [[Use("write", path="a.txt", content="after\n")], [Say("Written.")]]
        async with rigged(tmp_path, script, settings={"tools.approvalMode": "yolo"}) as rig:
            await said(rig, "/undo list", "The agent has not changed any files in this session.")
            await said(rig, "change it", "Written.")
            await rig.idle()
            assert file.read_text() == "after\n"
            assert "change it" in await said(rig, "/undo list", "a.txt")
            await said(rig, "/undo", 'Undone: "change it", 1 file.')
            assert file.read_text() == "before\n"
            await said(rig, "/redo", "Redone:")
            assert file.read_text() == "after\n"
            await said(rig, "/undo 1 other.txt", "")
            assert file.read_text() == "after\n"

    run(test)


def test_a_file_that_somebody_else_changed_is_left_alone_unless_forced(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("before\n")

    async def test() -> None:
        script = [[Use("write", path="a.txt", content="after\n")], [Say("Written.")]]
        async with rigged(tmp_path, script, settings={"tools.approvalMode": "yolo"}) as rig:
            await said(rig, "change it", "Written.")
            await rig.idle()
            file.write_text("mine\n")
            await said(rig, "/undo", "conflict")
            assert file.read_text() == "mine\n"
            await said(rig, "/undo --force", "Usage: /undo")
            rig.front.editor.clear()
            await said(rig, "/undo --force a.txt", "Undone:")
            assert file.read_text() == "before\n"

    run(test)


def test_undo_of_nothing_says_so(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.send("/undo")
            await rig.until(lambda: bool(rig.front.layout.banner.children), "a word about it")
            assert "undo" in rig.screen().lower()
            await said(rig, "/undo 0", "Usage: /undo")

    run(test)


def test_jobs_are_listed_read_and_stopped(tmp_path: Path) -> None:
    async def work(report: JobReport) -> str:
        report("half way there")
        await asyncio.sleep(60)
        return "never"

    async def quick(report: JobReport) -> str:
        return "\n".join(f"line {number}" for number in range(100))

    async def test() -> None:
        async with rigged(tmp_path, rows=60) as rig:
            await said(rig, "/jobs", "No background jobs")
            first = rig.session.jobs.start("bash", "make all", work)
            second = rig.session.jobs.start("bash", "make quick", quick)
            await rig.until(lambda: rig.session.jobs.get(second).status == "completed", "the quick one")
            shown = await said(rig, "/jobs", "make all")
            assert f"{first}  running" in shown and f"{second}  completed" in shown
            assert "half way there" in await said(rig, f"/jobs {first}", "half way there")
            shown = await said(rig, f"/jobs {second}", "(60 lines before)")
            assert "line 99" in shown
            await said(rig, f"/jobs cancel {first}", "1 job stopped.")
            assert rig.session.jobs.get(first).status == "cancelled"
            await said(rig, "/jobs cancel x-9", 'No job "x-9"')
            rig.front.editor.clear()
            await said(rig, "/jobs x-8", 'No job "x-8"')
            rig.front.editor.clear()
            await said(rig, "/jobs cancel all", "No jobs stopped.")

    run(test)
