"""The list of sessions: found by title and by what was said, sorted, renamed, deleted, gone on with."""

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
from tau.modes.interactive.selectors.session_actions import SessionItem, SessionLocation, in_order
from tau.modes.interactive.selectors.session_list_view import SessionChoices, preview_lines, session_item
from tau.modes.interactive.selectors.session_selector import choose_session
from tests.coding.session_index.session_files import answer, named, user, write
from tests.modes.interactive.rig import Rig, run
from tests.modes.interactive.selectors.hands import conversing, opened, settled

SHOWS = "── Sessions"


def wrote(folder: Path, prompt: str, said: str = "Fine.", *more: bytes, age_s: int = 0) -> Path:
    """A session of this folder that was written to some time ago."""
    root = user_paths(os.environ).sessions
    path = write(root, user("a1", prompt), answer("a2", said), *more, cwd=str(folder))
    then = time.time() - age_s
    os.utime(path, (then, then))
    return path


def titles(rig: Rig) -> list[str]:
    """The rows of the list, without what stands behind the titles."""
    rows = rig.screen().splitlines()
    start = next(at for at, row in enumerate(rows) if SHOWS in row) + 2
    end = next(at for at in range(start, len(rows)) if rows[at].startswith("Enter"))
    return [row[2:].split("  ")[0].strip() for row in rows[start:end] if row.strip()]


def found(title: str, *, size: int = 1, changed_ns: int = 0, folder: str = "~/x") -> SessionItem:
    row = SessionRow(f"/s/{title}.jsonl".encode(), size, changed_ns, SessionSummary(messages=2))
    return SessionItem(row, title, folder)


def test_orders() -> None:
    some = [
        found("b", size=1, changed_ns=2),
        found("A", size=3, changed_ns=1),
        found("c", size=2, changed_ns=3),
    ]
    assert [one.title for one in in_order(some, "time")] == ["c", "b", "A"]
    assert [one.title for one in in_order(some, "name")] == ["A", "b", "c"]
    assert [one.title for one in in_order(some, "size")] == ["A", "c", "b"]


def test_a_row_tells_messages_age_and_size() -> None:
    item = session_item(found("x", size=2048), "size", by_folder=True)
    assert (item.group, item.hint.split(",")[0]) == ("~/x", "2 KiB")


def test_titles_with_the_words_come_first_then_what_was_said_then_the_rest() -> None:
    sessions = SessionChoices([found("p a r s e"), found("Other"), found("Fix the parser"), found("Nothing")])
    sessions.said = [1]
    sessions.narrow("parse")
    assert [sessions.items[at].label for at in sessions.order] == ["Fix the parser", "Other", "p a r s e"]


def test_a_preview_has_facts_prompts_and_the_last_answer() -> None:
    lines = preview_lines(found("x"), files.SessionPreview(["one", "two\x07"], 4, "done"))
    assert lines[1:] == ["You: one", "You: two", "and 4 more prompts", "Last answer: done"]


def test_the_place_follows_the_setting_and_the_flag(tmp_path: Path) -> None:
    async def test() -> None:
        async with conversing(tmp_path, "hello", session_dir=tmp_path / "mine") as rig:
            place = files.place_of(rig.current)
            assert (place.root, place.flat) == (tmp_path / "mine", True)
            rows, _ = files.list_sessions(place, everywhere=False, sort="time", progress=lambda *_: None)
            assert [one.title for one in rows] == ["hello"]

    run(test)


def test_sessions_of_this_folder_are_listed_the_latest_first(tmp_path: Path) -> None:
    async def test() -> None:
        wrote(tmp_path, "Write the docs", age_s=7200)
        wrote(tmp_path, "Fix the parser", age_s=600)
        wrote(tmp_path / "elsewhere", "Not of here")
        async with (
            conversing(tmp_path) as rig,
            opened(rig, choose_session, "2 in this folder, by time"),
        ):
            assert titles(rig) == ["Fix the parser", "Write the docs"]
            assert "2 messages, 10 min" in rig.screen()
            await rig.press("ctrl+p")
            await rig.show("3 in all folders")
            assert "Not of here" in titles(rig) and f"{tmp_path}/e" in rig.screen()
            await rig.press("escape")

    run(test)


def test_another_session_is_gone_on_with(tmp_path: Path) -> None:
    async def test() -> None:
        path = wrote(tmp_path, "Fix the parser", "The parser is fixed.", age_s=60)
        async with conversing(tmp_path, "hello") as rig:
            old = rig.session
            async with opened(rig, choose_session, "2 in this folder"):
                await rig.type("fix")
                await rig.press("enter")
            await rig.until(lambda: rig.current.session not in (None, old), "another session")
            assert rig.session.log.path == path
            await rig.show("The parser is fixed.")

    run(test)


def test_a_session_of_another_folder_says_where_it_was_held(tmp_path: Path) -> None:
    async def test() -> None:
        (tmp_path / "a").mkdir()
        wrote(tmp_path / "b", "Elsewhere")
        async with conversing(tmp_path / "a", "hello", columns=200) as rig:
            old = rig.session
            async with opened(rig, choose_session, "1 in this folder"):
                await rig.press("ctrl+p")
                await rig.show("2 in all folders")
                await rig.type("elsewhere")
                await rig.press("enter")
            await rig.until(lambda: rig.current.session not in (None, old), "another session")
            await rig.show(f"it continues in {tmp_path / 'a'}")

    run(test)


def test_the_session_one_is_in_is_marked_and_stays(tmp_path: Path) -> None:
    async def test() -> None:
        async with conversing(tmp_path, "hello") as rig:
            session = rig.session
            async with opened(rig, choose_session, "❯ hello ✓"):
                await rig.press("enter")
            await rig.show("You are already in this session.")
            assert rig.current.session is session

    run(test)


def test_what_was_said_is_searched_while_one_types(tmp_path: Path) -> None:
    async def test() -> None:
        wrote(tmp_path, "Write the docs", "A zebra has stripes.", age_s=60)
        wrote(tmp_path, "Fix the parser", "Nothing of that.")
        async with conversing(tmp_path) as rig, opened(rig, choose_session, "2 in this folder"):
            await rig.type("zebra")
            await rig.show("Answer: A zebra has stripes.")
            assert [title.split(" Answer")[0] for title in titles(rig)] == ["Write the docs"]
            await rig.press("ctrl+u")
            await rig.show("Fix the parser")
            assert "stripes" not in await rig.gone("stripes")
            await rig.press("escape")

    run(test)


def test_what_is_highlighted_is_previewed_beside_or_below(tmp_path: Path) -> None:
    async def test() -> None:
        wrote(tmp_path, "Write the docs", "All is written.", user("a3", "And the index"), age_s=60)
        async with (
            conversing(tmp_path, columns=120, rows=20) as rig,
            opened(rig, choose_session, "Last answer: All is written."),
        ):
            assert "│ You: And the index" in rig.screen()
            rig.terminal.resize(80, 40)
            await rig.show("\nLast answer: All is written.")
            rig.terminal.resize(80, 20)
            await rig.gone("Last answer")
            await rig.press("escape")

    run(test)


def test_sorts_go_around(tmp_path: Path) -> None:
    async def test() -> None:
        wrote(tmp_path, "b is long", "long " * 500, age_s=60)
        wrote(tmp_path, "c is late", age_s=1)
        wrote(tmp_path, "a is old", age_s=600)
        async with conversing(tmp_path) as rig, opened(rig, choose_session, "by time"):
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


def test_a_session_is_renamed(tmp_path: Path) -> None:
    async def test() -> None:
        path = wrote(tmp_path, "Fix the parser", age_s=60)
        async with conversing(tmp_path, "hello") as rig:
            async with opened(rig, choose_session, "2 in this folder"):
                await rig.press("down", "ctrl+r")
                await rig.show("Rename Fix the parser")
                await rig.type("Great repair")
                await rig.press("enter")
                await rig.show("❯ Great repair")
                await rig.press("up", "ctrl+r")
                await rig.show("Rename hello")
                await rig.type("This one")
                await rig.press("enter")
                await rig.show("This one ✓")
                await rig.press("ctrl+r")
                await rig.show("Rename This one")
                await rig.press("escape")
                await rig.show(SHOWS)
                await rig.press("escape")
            assert rig.session.names.name == "This one"
            log = SessionLog.open(path, read_only=True)
            assert log.name == "Great repair"
            log.close()

    run(test)


def test_a_session_is_moved_to_the_trash_after_a_question(tmp_path: Path) -> None:
    async def test() -> None:
        path = wrote(tmp_path, "Fix the parser", age_s=60)
        async with conversing(tmp_path) as rig:
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


def test_the_session_one_is_in_is_not_deleted(tmp_path: Path) -> None:
    async def test() -> None:
        async with conversing(tmp_path, "hello") as rig:
            async with opened(rig, choose_session, "❯ hello ✓"):
                await rig.press("ctrl+d")
                await rig.show("start another one first")
                await rig.press("escape")
            assert rig.session.log.path is not None and rig.session.log.path.exists()

    run(test)


def test_a_session_of_another_window_says_so_and_is_left_alone(tmp_path: Path) -> None:
    async def test() -> None:
        path = wrote(tmp_path, "Fix the parser", age_s=60)
        other = SessionLog.open(path)
        async with (
            conversing(tmp_path, columns=100) as rig,
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


def test_the_name_that_is_given_counts_more_than_the_first_words(tmp_path: Path) -> None:
    async def test() -> None:
        wrote(tmp_path, "Fix the parser", "Done.", named("a3", "Parser work"))
        async with conversing(tmp_path) as rig:
            async with opened(rig, choose_session, "❯ Parser work"):
                await rig.press("escape")
            assert not rig.parts.dialogs.open

    run(test)


def test_functions_that_touch_files(tmp_path: Path) -> None:
    paths = user_paths(os.environ)
    path = wrote(tmp_path, "Fix the parser", "It is fixed.")
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


def test_typing_goes_on_while_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listing, typed = files.list_sessions, threading.Event()

    def slowly(*args: object, **more: object) -> object:
        assert typed.wait(8)
        return listing(*args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(files, "list_sessions", slowly)

    async def test() -> None:
        wrote(tmp_path, "Fix the parser")
        wrote(tmp_path, "Write the docs")
        async with conversing(tmp_path) as rig:
            async with opened(rig, choose_session, "Reading sessions"):
                await rig.type("docs")
                assert "Filter: docs" in await settled(rig) and "Write" not in rig.screen()
                typed.set()
                await rig.show("❯ Write the docs")
                assert titles(rig) == ["Write the docs"]
                await rig.press("escape")
            await asyncio.sleep(0)

    run(test)
