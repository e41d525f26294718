"""Each terminal resumes its own session."""

import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tau.coding.session.storage import last_session
from tau.coding.session.storage.last_session import load, save, terminal_id


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "terminals"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    path = tmp_path / "s.jsonl"
    path.write_text("{}\n")
    return path


def test_terminal_resumes_its_session_in_the_same_folder(folder: Path, session: Path) -> None:
    save(folder, "one", session, Path("/work"))
    assert load(folder, "one", Path("/work")) == session
    assert load(folder, "one", Path("/elsewhere")) is None
    assert load(folder, "two", Path("/work")) is None
    session.unlink()
    assert load(folder, "one", Path("/work")) is None


def test_without_a_terminal_nothing_is_written(folder: Path, session: Path) -> None:
    save(folder, None, session, Path("/work"))
    assert not folder.exists() and load(folder, None, Path("/work")) is None


def test_unreadable_or_unwritable_file_is_not_an_error(folder: Path, session: Path) -> None:
    folder.write_text("a file")
    save(folder, "one", session, Path("/work"))
    assert load(folder, "one", Path("/work")) is None
    folder.unlink()
    folder.mkdir()
    (folder / "one").write_bytes(b"\xff\0/work")
    assert load(folder, "one", Path("/work")) is None


def test_old_terminals_are_forgotten(folder: Path, session: Path) -> None:
    save(folder, "old", session, Path("/work"))
    then = time.time() - last_session.KEPT_S - 100
    os.utime(folder / "old", (then, then))
    save(folder, "new", session, Path("/work"))
    assert (folder / "old").exists()  # checked once a day
    os.utime(folder / ".cleaned", (then, then))
    save(folder, "new", session, Path("/work"))
    assert not (folder / "old").exists() and (folder / "new").exists()


NAME = "from tau.coding.session.storage.last_session import terminal_id; print(terminal_id({}))"


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


def test_programs_in_one_terminal_agree_and_the_next_terminal_differs() -> None:
    first, second = in_a_terminal(), in_a_terminal()
    assert len(first) == 2 and len(set(first)) == len(set(second)) == 1
    assert first[0] != second[0]  # although its device has the same name
    assert "/" not in first[0]


def test_without_a_tty_environment_variables_identify_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_terminal(fd: int) -> str:
        raise OSError("not a terminal")

    monkeypatch.setattr(os, "ttyname", no_terminal)
    assert terminal_id({}) is None
    pane = terminal_id({"TMUX_PANE": "%1", "TMUX": "/tmp/tmux-1/default,99,0", "TERM_SESSION_ID": "w0"})
    assert pane is not None and pane != terminal_id({"TMUX_PANE": "%1", "TMUX": "/tmp/tmux-1/default,7,0"})
    assert terminal_id({"TERM_SESSION_ID": "w0"}) == "TERM_SESSION_ID--w0"
    long = terminal_id({"WT_SESSION": "../" * 500 + "b" + "a" * 120})
    assert long == "a" * 120  # the end tells terminals apart
