"""Commands about sessions, typed into the real screen, with real session files."""

import asyncio
import os
from pathlib import Path

import pytest

from tau.ai.faux import Say
from tau.coding.session.storage.trash import Trash
from tau.config.paths import user_paths
from tests.modes.interactive.commands.command_rig import run_command
from tests.modes.interactive.rig import Rig, rigged, run


def ids(rig: Rig) -> list[str]:
    return [node.id for node in rig.session.log.nodes() if node.type == "message"]


async def other_session(rig: Rig, command: str) -> None:
    before = rig.session
    await rig.send(command)
    await rig.until(lambda: rig.current.session not in (None, before), "another session")


def test_new_starts_an_empty_session(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("First.")]]) as rig:
            await run_command(rig, "hello", "First.")
            await rig.idle()
            first = rig.session.log.header.id
            await other_session(rig, "/clear")
            assert rig.session.log.header.id != first and not rig.session.log.messages()
            shown = await rig.show("Started a new session. /resume returns to the previous one.")
            assert shown.index("First.") < shown.index("Started a new session.")

    run(test)


def test_resume_accepts_an_id_prefix(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("In the first.")], [Say("In the second.")]]) as rig:
            await run_command(rig, "hello", "In the first.")
            await rig.idle()
            first = rig.session.log.header.id
            await run_command(rig, f"/resume {first}", "You are already in this session.")
            await asyncio.sleep(0.01)  # ids sort by time
            await other_session(rig, "/new")
            await run_command(rig, "hello again", "In the second.")
            await rig.idle()
            await other_session(rig, f"/resume {first}")
            assert rig.session.log.header.id == first
            assert "In the first." in await rig.show("In the first.")

    run(test)


def test_resume_of_a_missing_session_stays_here(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Here.")]]) as rig:
            await run_command(rig, "hello", "Here.")
            await rig.idle()
            before = rig.session
            await run_command(rig, "/resume zzzz", 'No session has an id that starts with "zzzz"')
            rig.front.editor.clear()
            await run_command(rig, "/resume nowhere/x.jsonl", 'No session file "')
            assert rig.session is before

    run(test)


def test_name_is_shown_and_set(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await run_command(rig, "/name", "The session has no name.")
            await run_command(rig, "/rename The  parser", 'Renamed the session to "The parser".')
            assert rig.session.names.name == "The parser"

    run(test)


def test_session_shows_its_facts(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Hello.")]], columns=160) as rig:
            assert "not written yet" in await run_command(rig, "/session", "not written yet")
            await run_command(rig, "hello", "Hello.")
            await rig.idle()
            shown = await run_command(rig, "/session", "1 message from you, 1 answer")
            assert rig.session.log.header.id in shown and str(tmp_path) in shown
            await run_command(rig, "/session erase", "Usage: /session")

    run(test)


def test_in_memory_session_says_so(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Hello.")]], save=False) as rig:
            await run_command(rig, "/session", "none; the session is not saved")
            await run_command(rig, "/fork", "cannot be copied")
            await run_command(rig, "/session delete", "This session has not been written to disk yet.")
            assert rig.session.log.path is None

    run(test)


def test_delete_asks_and_moves_the_session_to_the_trash(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Hello.")]]) as rig:
            await run_command(rig, "hello", "Hello.")
            await rig.idle()
            old = rig.session
            path = old.log.path
            assert path is not None
            await run_command(rig, "/session delete", "Delete this session?")
            await rig.press("escape")
            await rig.show("Session not deleted.")
            assert path.exists()
            await run_command(rig, "/session delete", "Delete this session?")
            await rig.press("up", "enter")
            await rig.show("Session moved to the trash")
            assert rig.session is not old and not path.exists()
            (trashed,) = Trash(user_paths(os.environ).trash).content()
            assert trashed.id == old.log.header.id

    run(test)


def test_goto_moves_back_and_puts_the_message_into_the_editor(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("One.")], [Say("Two.")], [Say("Other.")]]) as rig:
            for text, answer in (("first", "One."), ("second", "Two.")):
                await run_command(rig, text, answer)
                await rig.idle()
            second = ids(rig)[2]
            await rig.send(f"/goto {second[:6]}")
            await rig.until(lambda: rig.front.editor.text == "second", "the message in the editor")
            assert "Two." not in await rig.gone("Two.")
            rig.front.editor.set_text("another")
            await rig.press("enter")
            await rig.show("Other.")
            assert [str(message.content) for message in rig.faux.requests[2].messages][-1] == "another"
            assert len(rig.faux.requests[2].messages) == 3

    run(test)


def test_goto_refuses_impossible_targets(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("One.")]]) as rig:
            await run_command(rig, "first", "One.")
            await rig.idle()
            await run_command(rig, "/goto zz", 'No entry has an id starting with "zz"')
            rig.front.editor.clear()
            await run_command(rig, f"/goto {ids(rig)[-1]}", "Already at this point.")
            assert rig.session.log.leaf == ids(rig)[-1]

    run(test)


def test_fork_continues_in_a_copy(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("One.")], [Say("In the copy.")]]) as rig:
            await run_command(rig, "/fork", "There is nothing to copy yet.")
            await run_command(rig, "first", "One.")
            await rig.idle()
            path = rig.session.log.path
            assert path is not None
            before = path.read_bytes()
            await other_session(rig, "/fork")
            assert "One." in await rig.show("Continuing in a copy")
            await run_command(rig, "second", "In the copy.")
            assert path.read_bytes() == before
            assert rig.session.log.header.parent_session == str(path)
            assert rig.tape().count("One.") == 1

    run(test)


def test_conversation_on_the_screen_stays_once_through_a_reload(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("One.")], [Say("Two.")]]) as rig:
            await run_command(rig, "first", "One.")
            await rig.idle()
            await other_session(rig, "/reload")
            await run_command(rig, "second", "Two.")
            assert rig.tape().count("One.") == 1

    run(test)


def test_a_resumed_session_keeps_its_distance_from_the_previous_one(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("One.")]]) as rig:
            await run_command(rig, "first", "One.")
            await rig.idle()
            await other_session(rig, "/new")
            await rig.show("Started a new session")
            rows = rig.tape().splitlines()
            at = next(at for at, row in enumerate(rows) if "Started a new session" in row)
            assert rows[at - 2 : at] == ["One.", ""]

    run(test)


def test_add_dir_adds_a_folder_to_the_workspace(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("o")

    async def test() -> None:
        async with rigged(tmp_path, []) as rig:
            await run_command(rig, f"/add-dir {other}", "Added /")
            await run_command(rig, f"/add-dir {other}", "already")
            await run_command(rig, "/add-dir", "Workspace folders:")
            assert rig.session.folders is not None and rig.session.folders.added == (other,)
            assert "Added folder" in await run_command(rig, "/session", "Added folder")
            await run_command(rig, "/add-dir none-such", "folder.")

    run(test)
