"""The session list: search by title and content, sort, rename, delete, resume."""

import asyncio
import os
import threading
import time
from pathlib import Path

import pytest

from tau.base.errors import SessionError
from tau.coding.session.storage.log import SessionLog
from tau.coding.session.storage.session_store import SessionStore
from tau.coding.session.storage.trash import Trash
from tau.coding.session_index.index import SessionRow
from tau.coding.session_index.records import SessionSummary
from tau.config.paths import user_paths
from tau.modes.interactive.selectors import session_actions as files
from tau.modes.interactive.selectors.session_actions import SessionItem, SessionLocation, sort_sessions
from tau.modes.interactive.selectors.session_list_view import SessionChoices, preview_lines, session_item
from tau.modes.interactive.selectors.session_selector import choose_session
from tests.coding.session_index.session_files import answer, named, user, write
from tests.modes.interactive.rig import Rig, run
from tests.modes.interactive.selectors.selector_rig import open_conversation, opened, settled
from tests.support.limits import HANG_S

SHOWS = "── Sessions"


def write_session(
    folder: Path, prompt: str, answer_text: str = "Fine.", *more: bytes, age_s: int = 0
) -> Path:
    """A session of this folder, last written some time ago."""
    root = user_paths(os.environ).sessions
    path = write(root, user("a1", prompt), answer("a2", answer_text), *more, cwd=str(folder))
    then = time.time() - age_s
    os.utime(path, (then, then))
    return path


def titles(rig: Rig) -> list[str]:
    """The rows of the list, reduced to their titles."""
    rows = rig.screen().splitlines()
    start = next(at for at, row in enumerate(rows) if SHOWS in row) + 2
    end = next(at for at in range(start, len(rows)) if rows[at].startswith("Enter"))
    return [row[2:].split("  ")[0].strip() for row in rows[start:end] if row.strip()]


def found(title: str, *, size: int = 1, changed_ns: int = 0, folder: str = "~/x") -> SessionItem:
    row = SessionRow(f"/s/{title}.jsonl".encode(), size, changed_ns, SessionSummary(messages=2))
    return SessionItem(row, title, folder)


def test_sort_orders() -> None:
    some = [
        found("b", size=1, changed_ns=2),
        found("A", size=3, changed_ns=1),
        found("c", size=2, changed_ns=3),
    ]
    assert [one.title for one in sort_sessions(some, "time")] == ["c", "b", "A"]
    assert [one.title for one in sort_sessions(some, "name")] == ["A", "b", "c"]
    assert [one.title for one in sort_sessions(some, "size")] == ["A", "c", "b"]


def test_row_shows_messages_age_and_size() -> None:
    item = session_item(found("x", size=2048), "size", by_folder=True)
    assert (item.group, item.hint.split(",")[0]) == ("~/x", "2 KiB")


def test_title_matches_come_first_then_text_matches_then_fuzzy_ones() -> None:
    sessions = SessionChoices([found("p a r s e"), found("Other"), found("Fix the parser"), found("Nothing")])
    sessions.content_matches = [1]
    sessions.narrow("parse")
    assert [sessions.items[at].label for at in sessions.order] == ["Fix the parser", "Other", "p a r s e"]


def test_preview_has_facts_prompts_and_the_last_answer() -> None:
    lines = preview_lines(found("x"), files.SessionPreview(["one", "two\x07"], 4, "done"))
    assert lines[1:] == ["You: one", "You: two", "and 4 more prompts", "Last answer: done"]


def test_location_follows_the_setting_and_the_flag(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path, "hello", session_dir=tmp_path / "mine") as rig:
            place = files.location_of(rig.current)
            assert (place.root, place.flat) == (tmp_path / "mine", True)
            rows, _ = files.list_sessions(place, everywhere=False, sort="time", progress=lambda *_: None)
            assert [one.title for one in rows] == ["hello"]

    run(test)


def test_sessions_of_this_folder_are_listed_latest_first(tmp_path: Path) -> None:
    async def test() -> None:
        write_session(tmp_path, "Write the docs", age_s=7200)
        write_session(tmp_path, "Fix the parser", age_s=600)
        write_session(tmp_path / "elsewhere", "Not of here")
        async with (
            open_conversation(tmp_path) as rig,
            opened(rig, choose_session, "2 in this folder, by time"),
        ):
            assert titles(rig) == ["Fix the parser", "Write the docs"]
            assert "2 messages, 10 min" in rig.screen()
            await rig.press("ctrl+p")
            await rig.show("3 in all folders")
            assert "Not of here" in titles(rig) and f"{tmp_path}/e" in rig.screen()
            await rig.press("escape")

    run(test)


def test_resume_another_session(tmp_path: Path) -> None:
    async def test() -> None:
        path = write_session(tmp_path, "Fix the parser", "The parser is fixed.", age_s=60)
        async with open_conversation(tmp_path, "hello") as rig:
            old = rig.session
            async with opened(rig, choose_session, "2 in this folder"):
                await rig.type("fix")
                await rig.press("enter")
            await rig.until(lambda: rig.current.session not in (None, old), "another session")
            assert rig.session.log.path == path
            await rig.show("The parser is fixed.")

    run(test)


def test_session_of_another_folder_shows_its_folder(tmp_path: Path) -> None:
    async def test() -> None:
        (tmp_path / "a").mkdir()
        write_session(tmp_path / "b", "Elsewhere")
        async with open_conversation(tmp_path / "a", "hello", columns=200) as rig:
            old = rig.session
            async with opened(rig, choose_session, "1 in this folder"):
                await rig.press("ctrl+p")
                await rig.show("2 in all folders")
                await rig.type("elsewhere")
                await rig.press("enter")
            await rig.until(lambda: rig.current.session not in (None, old), "another session")
            await rig.show(f"it continues in {tmp_path / 'a'}")

    run(test)


def test_current_session_is_marked_and_stays(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path, "hello") as rig:
            session = rig.session
            async with opened(rig, choose_session, "❯ hello ✓"):
                await rig.press("enter")
            await rig.show("You are already in this session.")
            assert rig.current.session is session

    run(test)


def test_messages_are_searched_while_typing(tmp_path: Path) -> None:
    async def test() -> None:
        write_session(tmp_path, "Write the docs", "A zebra has stripes.", age_s=60)
        write_session(tmp_path, "Fix the parser", "Nothing of that.")
        async with open_conversation(tmp_path) as rig, opened(rig, choose_session, "2 in this folder"):
            await rig.type("zebra")
            await rig.show("Answer: A zebra has stripes.")
            assert [title.split(" Answer")[0] for title in titles(rig)] == ["Write the docs"]
            await rig.press("ctrl+u")
            await rig.show("Fix the parser")
            assert "stripes" not in await rig.gone("stripes")
            await rig.press("escape")

    run(test)


def test_highlighted_session_is_previewed_beside_or_below(tmp_path: Path) -> None:
    async def test() -> None:
        write_session(tmp_path, "Write the docs", "All is written.", user("a3", "And the index"), age_s=60)
        async with (
            open_conversation(tmp_path, columns=120, rows=20) as rig,
            opened(rig, choose_session, "Last answer: All is written."),
        ):
            assert "│ You: And the index" in rig.screen()
            rig.terminal.resize(80, 40)
            await rig.show("\nLast answer: All is written.")
            rig.terminal.resize(80, 20)
            await rig.gone("Last answer")
            await rig.press("escape")

    run(test)


def test_sort_orders_cycle(tmp_path: Path) -> None:
    async def test() -> None:
        write_session(tmp_path, "b is long", "long " * 500, age_s=60)
        write_session(tmp_path, "c is late", age_s=1)
        write_session(tmp_path, "a is old", age_s=600)
        async with open_conversation(tmp_path) as rig, opened(rig, choose_session, "by time"):
            assert titles(rig) == ["c is late", "b is long", "a is old"]
            await rig.press("ctrl+s")
            await rig.show("by name")
            assert titles(rig) == ["a is old", "b is long", "c is late"]
            await rig.press("ctrl+s")
            await rig.show("by size")
            assert titles(rig)[0] == "b is long" and "KiB" in rig.screen()
            await rig.press("ctrl+s")
            await rig.show("by time")
            await rig.press("escape")

    run(test)


def test_rename_a_session(tmp_path: Path) -> None:
    async def test() -> None:
        path = write_session(tmp_path, "Fix the parser", age_s=60)
        async with open_conversation(tmp_path, "hello") as rig:
            async with opened(rig, choose_session, "2 in this folder"):
                await rig.press("down", "ctrl+r")
                await rig.show('Rename "Fix the parser"')
                await rig.type("Great repair")
                await rig.press("enter")
                await rig.show("❯ Great repair")
                await rig.press("up", "ctrl+r")
                await rig.show('Rename "hello"')
                await rig.type("This one")
                await rig.press("enter")
                await rig.show("This one ✓")
                await rig.press("ctrl+r")
                await rig.show('Rename "This one"')
                await rig.press("escape")
                await rig.show(SHOWS)
                await rig.press("escape")
            assert rig.session.names.name == "This one"
            log = SessionLog.open(path, read_only=True)
            assert log.name == "Great repair"
            log.close()

    run(test)


def test_session_is_moved_to_the_trash_after_confirmation(tmp_path: Path) -> None:
    async def test() -> None:
        path = write_session(tmp_path, "Fix the parser", age_s=60)
        async with open_conversation(tmp_path) as rig:
            async with opened(rig, choose_session, "1 in this folder"):
                await rig.press("ctrl+d")
                await rig.show("❯ Keep")
                await rig.press("enter")
                await rig.show(SHOWS)
                assert path.exists()
                await rig.press("ctrl+d")
                await rig.show("❯ Keep")
                await rig.press("down", "enter")
                await rig.show("Moved to the trash")
                await rig.show("No sessions in this folder yet")
                await rig.press("escape")
            assert not path.exists()
            (trashed,) = Trash(rig.current.paths.trash).content()
            assert (trashed.path, trashed.title) == (str(path), "Fix the parser")

    run(test)


def test_current_session_is_not_deleted(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path, "hello") as rig:
            async with opened(rig, choose_session, "❯ hello ✓"):
                await rig.press("ctrl+d")
                await rig.show("start another one first")
                await rig.press("escape")
            assert rig.session.log.path is not None and rig.session.log.path.exists()

    run(test)


def test_session_open_in_another_window_is_left_alone_with_a_notice(tmp_path: Path) -> None:
    async def test() -> None:
        path = write_session(tmp_path, "Fix the parser", age_s=60)
        other = SessionLog.open(path)
        async with (
            open_conversation(tmp_path, columns=100) as rig,
            opened(rig, choose_session, "Fix the parser (open elsewhere)"),
        ):
            await rig.press("ctrl+r")
            await rig.show("Rename")
            await rig.type("Mine")
            await rig.press("enter")
            await rig.show("is open in another tau")
            await rig.press("ctrl+d")
            await rig.show("Keep")
            await rig.press("down", "enter")
            await rig.show("is open in another tau")
            await rig.press("escape")
        other.close()
        assert path.exists() and b"Mine" not in path.read_bytes()

    run(test)


def test_given_name_ranks_above_the_first_words(tmp_path: Path) -> None:
    async def test() -> None:
        write_session(tmp_path, "Fix the parser", "Done.", named("a3", "Parser work"))
        async with open_conversation(tmp_path) as rig:
            async with opened(rig, choose_session, "❯ Parser work"):
                await rig.press("escape")
            assert not rig.parts.dialogs.open

    run(test)


def test_list_search_preview_rename_and_delete_files(tmp_path: Path) -> None:
    paths = user_paths(os.environ)
    path = write_session(tmp_path, "Fix the parser", "It is fixed.")
    store = SessionStore(paths.sessions, tmp_path)
    place = SessionLocation(
        paths.index, paths.sessions, store.folder, False, str(tmp_path), paths.trash, paths.blobs
    )
    ((one,), _) = files.list_sessions(place, everywhere=True, sort="time", progress=lambda *_: None)
    file = one.row.file
    assert files.preview(place, file) == files.SessionPreview(["Fix the parser"], 0, "It is fixed.")
    assert files.preview(place, b"/no/such.jsonl") == files.SessionPreview((), 0, "")
    assert files.search_sessions(place, "  ", everywhere=True) == {}
    assert files.search_sessions(place, "fixed", everywhere=False) == {file: "Answer: It is fixed."}
    assert files.open_elsewhere([file, b"/no/such.jsonl"]) == {file: False, b"/no/such.jsonl": False}
    files.rename(place, file, "  Another\nname ")
    log = SessionLog.open(path)
    assert log.name == "Another name" and files.open_elsewhere([file]) == {file: True}
    with pytest.raises(SessionError):
        files.rename(place, file, "x")
    log.close()
    assert path.stem.endswith(files.delete(place, file, "t")) and not path.exists()


def test_typing_works_while_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listing, typed = files.list_sessions, threading.Event()

    def slowly(*args: object, **more: object) -> object:
        assert typed.wait(HANG_S)
        return listing(*args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(files, "list_sessions", slowly)

    async def test() -> None:
        write_session(tmp_path, "Fix the parser")
        write_session(tmp_path, "Write the docs")
        async with open_conversation(tmp_path) as rig:
            async with opened(rig, choose_session, "Reading sessions"):
                await rig.type("docs")
                assert "Filter: docs" in await settled(rig) and "Write" not in rig.screen()
                typed.set()
                await rig.show("❯ Write the docs")
                assert titles(rig) == ["Write the docs"]
                await rig.press("escape")
            await asyncio.sleep(0)

    run(test)
