"""Exporting the conversation to a file or the clipboard, with secrets masked."""

import json
from pathlib import Path

import pytest

from tau.ai.faux import Say
from tau.tui.terminal.clipboard import MAX_COPY_BYTES
from tests.modes.interactive.commands.command_rig import run_command
from tests.modes.interactive.rig import Rig, rigged, run

KEY = "sk-ant-api03-Q7vKp2mXw9sT4bNc8dZr1yHfJg6uLe3aVoIxPkWqRtYsMnBcDfGhJkLz5678-AbCdEfGh"


async def talked(rig: Rig) -> None:
    await run_command(rig, f"my key is {KEY}", "Hello.")
    await rig.idle()


@pytest.mark.parametrize("ending", ["html", "md", "json"])
def test_export_format_follows_the_file_name(tmp_path: Path, ending: str) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Hello.")]], columns=160) as rig:
            await talked(rig)
            await run_command(rig, f"/export out.{ending}", "Exported the session to")
            text = (tmp_path / f"out.{ending}").read_text()
            assert "Hello." in text
            assert KEY not in text
            if ending == "json":
                assert json.loads(text)

    run(test)


def test_export_without_a_name_is_a_page_named_after_the_session(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Hello.")]], columns=160) as rig:
            await talked(rig)
            await rig.send("/name The parser / 2")
            await run_command(rig, "/export", "Exported the session to")
            assert (tmp_path / "tau-The-parser-2.html").exists()

    run(test)


def test_export_overwrites_nothing_and_reports_problems(tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_text("Mine.")

    async def test() -> None:
        async with rigged(tmp_path, [[Say("Hello.")]], columns=160) as rig:
            await run_command(rig, "/export", "The conversation is empty.")
            await talked(rig)
            for command, problem in (
                ("/export mine.md", "is not a tau export"),
                ("/export out.pdf", "must end in .html, .md or .json"),
                ("/export --all out.md", 'Unknown option "--all"'),
                ("/export no/such/folder.md", "Cannot write"),
            ):
                rig.front.editor.clear()
                await run_command(rig, command, problem)
            assert (tmp_path / "mine.md").read_text() == "Mine."
            rig.front.editor.clear()
            await run_command(rig, "/export --force --raw mine.md", "Exported the session to")
            assert (
                "Nothing was masked." in (tmp_path / "mine.md").read_text()
            )  # but the file was, when written

    run(test)


def test_in_memory_session_is_exported_too(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Hello.")]], columns=160, save=False) as rig:
            await talked(rig)
            await run_command(rig, "/export out.md", "Exported the session to")
            assert "Hello." in (tmp_path / "out.md").read_text()

    run(test)


def test_dump_copies_the_conversation_through_the_terminal(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Hello.")]]) as rig:
            await talked(rig)
            await run_command(rig, "/dump", "Copied")
            (copied,) = rig.terminal.clipboard
            assert "Hello." in copied and KEY not in copied

    run(test)


def test_oversized_dump_goes_to_a_file(tmp_path: Path) -> None:
    async def test() -> None:
        long = "A long line of words, again and again.\n" * (MAX_COPY_BYTES // 30)
        async with rigged(tmp_path, [[Say(long)]], columns=160) as rig:
            await rig.send("hello")
            await rig.until(lambda: len(rig.session.log.messages()) == 2, "the answer")
            await rig.idle()
            await run_command(rig, "/dump", "do not fit the clipboard")
            folder = rig.session.log.artifacts_folder
            assert folder is not None
            (file,) = folder.glob("conversation-*.md")
            assert long.strip() in file.read_text() and file.stat().st_mode & 0o777 == 0o600

    run(test)
