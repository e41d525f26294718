"""Each terminal goes on with its own session."""

import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tau.coding.session.storage import last_session
from tau.coding.session.storage.last_session import recall, remember, this_terminal


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "terminals"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    path = tmp_path / "s.jsonl"
    path.write_text("{}\n")
    return path


def test_a_terminal_gets_its_session_back_in_the_same_folder(folder: Path, session: Path) -> None:
    remember(folder, "one", session, Path("/work"))
    assert recall(folder, "one", Path("/work")) == session
    assert recall(folder, "one", Path("/elsewhere")) is None
    assert recall(folder, "two", Path("/work")) is None
    session.unlink()
    assert recall(folder, "one", Path("/work")) is None


def test_where_there_is_no_terminal_nothing_is_written(folder: Path, session: Path) -> None:
    remember(folder, None, session, Path("/work"))
    assert not folder.exists() and recall(folder, None, Path("/work")) is None


def test_what_cannot_be_written_or_read_is_no_error(folder: Path, session: Path) -> None:
    folder.write_text("a file")
    remember(folder, "one", session, Path("/work"))
    assert recall(folder, "one", Path("/work")) is None
    folder.unlink()
    folder.mkdir()
    (folder / "one").write_bytes(b"\xff\0/work")
    assert recall(folder, "one", Path("/work")) is None


def test_terminals_of_long_ago_are_forgotten(folder: Path, session: Path) -> None:
    remember(folder, "old", session, Path("/work"))
    then = time.time() - last_session.KEPT_S - 100
    os.utime(folder / "old", (then, then))
    remember(folder, "new", session, Path("/work"))
    assert (folder / "old").exists()  # looked for once a day
    os.utime(folder / ".cleaned", (then, then))
    remember(folder, "new", session, Path("/work"))
    assert not (folder / "old").exists() and (folder / "new").exists()


NAME = "from tau.coding.session.storage.last_session import this_terminal; print(this_terminal({}))"


def in_a_terminal() -> list[str]:
    """What two programs in the same new terminal call it; each has only one of its streams there."""
    leader, follower = pty.openpty()
    code = f"import subprocess, sys\nfor _ in range(2): subprocess.run([sys.executable, '-c', {NAME!r}])"
    try:
        ran = subprocess.run(
            [sys.executable, "-c", code],
            stdin=follower,
            capture_output=True,
            text=True,
            start_new_session=True,
        )
    finally:
        os.close(leader)
        os.close(follower)
    return ran.stdout.split()


def test_programs_in_one_terminal_agree_and_the_next_terminal_is_another_one() -> None:
    first, second = in_a_terminal(), in_a_terminal()
    assert len(first) == 2 and len(set(first)) == len(set(second)) == 1
    assert first[0] != second[0]  # though its device has the same name
    assert "/" not in first[0]


def test_without_a_terminal_its_variables_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_terminal(fd: int) -> str:
        raise OSError("not a terminal")

    monkeypatch.setattr(os, "ttyname", no_terminal)
    assert this_terminal({}) is None
    pane = this_terminal({"TMUX_PANE": "%1", "TMUX": "/tmp/tmux-1/default,99,0", "TERM_SESSION_ID": "w0"})
    assert pane is not None and pane != this_terminal({"TMUX_PANE": "%1", "TMUX": "/tmp/tmux-1/default,7,0"})
    assert this_terminal({"TERM_SESSION_ID": "w0"}) == "TERM_SESSION_ID--w0"
    assert len(this_terminal({"WT_SESSION": "../" * 500}) or "") < 200
