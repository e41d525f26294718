"""Every spelling of a path declares the file that it leads to, and nothing else is touched."""

import asyncio
import os

import pytest

from tests.safety.effects_rig import Outcome, Trap, play
from tests.safety.effects_table import SPELLINGS

BESIDE = ("-journal", "-wal", "-shm")  # of a database


def expected(trap: Trap, target: str | None) -> set[str] | None:
    if target is None:
        return None
    text = target.replace("{base}", str(trap.base)).replace("{self}", os.path.realpath("/proc/self"))
    return {text} if text else set()


def check_changes(outcome: Outcome) -> None:
    """Nothing changed that was not declared."""
    allowed = outcome.writes or set()
    assert {name for name in outcome.changed if not name.endswith(BESIDE)} <= allowed, outcome.text


def check_reads(trap: Trap, outcome: Outcome) -> None:
    """No text of a file is shown that was not declared; a hard link has the text of its other name."""
    reads = outcome.reads or set()
    for name, data in trap.state().items():
        marker = f"marker of {name}"
        linked = name in ("out/hard.txt", "out/h.db")
        if marker.encode() in data and f"{marker}\n" in f"{outcome.text}\n" and not linked:
            assert any(name == each or name.startswith(f"{each}/") for each in reads), name


def test_table_is_large_enough() -> None:
    assert 2 * len(SPELLINGS) >= 200
    assert len({row[0] for row in SPELLINGS}) == len(SPELLINGS)


@pytest.mark.parametrize(("spelling", "target"), [(text, target) for text, target, _ in SPELLINGS])
def test_write_declares_what_it_changes(trap: Trap, spelling: str, target: str | None) -> None:
    path = spelling.replace("{base}", str(trap.base))
    outcome = asyncio.run(play(trap, "write", {"path": path, "content": '{"text": "new"}'}))
    assert (None if outcome.writes is None else outcome.writes) == expected(trap, target)
    check_changes(outcome)


@pytest.mark.parametrize(("spelling", "target"), [(text, target) for text, _, target in SPELLINGS])
def test_read_declares_what_it_shows(trap: Trap, spelling: str, target: str | None) -> None:
    path = spelling.replace("{base}", str(trap.base))
    outcome = asyncio.run(play(trap, "read", {"path": path}))
    wanted = expected(trap, target)
    if outcome.reads is None or wanted is None:
        assert outcome.reads == wanted
    else:  # a missing file is looked for below the working folder
        assert outcome.reads - {"ws"} == wanted - {"ws"}
    assert not outcome.changed
    check_reads(trap, outcome)


WRITABLE = ("a.txt", "link.txt", "chain.txt", "folder/new.txt", "dangling", "far", "x.zip:m.txt", "x.db:t:1")


@pytest.mark.parametrize("spelling", WRITABLE)
def test_declared_file_is_written(trap: Trap, spelling: str) -> None:
    [target] = [target for text, target, _ in SPELLINGS if text == spelling]
    outcome = asyncio.run(play(trap, "write", {"path": spelling, "content": '{"text": "new"}'}))
    assert outcome.changed == {target}, outcome.text


OUTSIDE = [
    (text, target)
    for text, target, _ in SPELLINGS
    if target and (not target.startswith("ws/") or ".git" in target.lower())
]


@pytest.mark.parametrize(("spelling", "target"), OUTSIDE)
def test_no_spelling_writes_outside_unasked(trap: Trap, spelling: str, target: str) -> None:
    """In a mode that cannot ask, so the answer is no."""
    path = spelling.replace("{base}", str(trap.base))
    content = {"path": path, "content": '{"text": "new"}'}
    outcome = asyncio.run(play(trap, "write", content, mode="workspace"))
    assert not outcome.changed and "needs the user's approval" in outcome.text


def test_hard_link_keeps_its_other_name(trap: Trap) -> None:
    outcome = asyncio.run(play(trap, "write", {"path": "hard.txt", "content": "new\n"}))
    assert outcome.changed == {"ws/hard.txt"}, outcome.text
    assert (trap.ws / "hard.txt").read_text() == "new\n"
    assert "another name" in outcome.text


def test_database_with_a_second_name_is_not_written(trap: Trap) -> None:
    outcome = asyncio.run(play(trap, "write", {"path": "hard.db:t:1", "content": '{"text": "new"}'}))
    assert not outcome.changed and "hard link" in outcome.text
