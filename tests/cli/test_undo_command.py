"""`tau undo`: the right session, one line per file, and an exit code for the outcome."""

import asyncio
from pathlib import Path

import pytest

from tau.ai.wire import UserMessage
from tau.base.errors import UsageError
from tau.cli import undo_command
from tau.coding.files.local_fs import LocalFileSystem
from tau.coding.session.storage.log import SessionLog
from tau.coding.undo.file_history import FOLDER_NAME, FileHistory
from tau.coding.undo.journal import CallBegan
from tau.coding.undo.recorder import RecordingFileSystem
from tau.sdk import session_store


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = (tmp_path / "work").resolve()
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    monkeypatch.chdir(folder)
    return folder


def session(folder: Path) -> SessionLog:
    log = session_store(cwd=folder).new()
    log.append_message(UserMessage("fix it", 0))
    return log


def work(log: SessionLog, prompt: str, files: dict[str, str]) -> str:
    """What the agent writes for a prompt; returns the id of the session."""
    assert log.artifacts_folder is not None
    place = log.artifacts_folder / FOLDER_NAME
    history = FileHistory(lambda: place)
    history.begin_turn(prompt)
    fs = RecordingFileSystem(LocalFileSystem(), lambda: history)
    for name, text in files.items():
        asyncio.run(fs.write(Path.cwd() / name, text.encode()))
    history.close()
    log.close()
    return log.header.id


def test_undo_reverts_the_last_turn_and_says_so(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    work(session(project), "fix it", {"a.txt": "two\n", "d/new.txt": "new\n"})

    assert undo_command.run([]) == 0

    assert capfd.readouterr().out.splitlines() == [
        "restored  a.txt",
        "deleted   d/new.txt",
        "removed   d/ (empty folder)",
        'Undone: "fix it", 2 files.',
    ]
    assert (project / "a.txt").read_text() == "one\n"


def test_redo_reapplies_it(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    work(session(project), "fix it", {"a.txt": "two\n"})
    undo_command.run([])

    assert undo_command.run(["--redo"]) == 0

    assert capfd.readouterr().out.endswith('Redone: "fix it", 1 file.\n')
    assert (project / "a.txt").read_text() == "two\n"


def test_conflict_is_shown_and_exits_with_1(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    work(session(project), "fix it", {"a.txt": "two\n", "b.txt": "b\n"})
    (project / "a.txt").write_text("mine, and longer\n")

    assert undo_command.run([]) == 1

    deleted, conflict, last = capfd.readouterr().out.splitlines()
    assert deleted == "deleted   b.txt"
    assert conflict.startswith("conflict  a.txt: changed since; the agent left 4 bytes, ")
    assert "now it is 17 bytes, " in conflict and "before it was 4 bytes, " in conflict
    assert last == (
        'Undone: "fix it", 1 file. 1 file left as it is. '
        "To undo a conflicting file anyway, pass it to --force."
    )
    assert undo_command.run(["--force", "a.txt"]) == 0
    assert (project / "a.txt").read_text() == "one\n"


def test_dry_run_changes_nothing(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    work(session(project), "fix it", {"a.txt": "two\n", "new.txt": "new\n"})

    assert undo_command.run(["--dry-run"]) == 0

    assert capfd.readouterr().out == "would restore a.txt\nwould delete new.txt\n"
    assert (project / "a.txt").read_text() == "two\n" and (project / "new.txt").exists()


def test_list_is_newest_first_and_marks_undone_turns(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log = session(project)
    work(log, "first", {"a.txt": "two\n"})
    work(log, "second", {"b.txt": "b\n"})
    undo_command.run([])
    capfd.readouterr()

    assert undo_command.run(["--list"]) == 0

    second, files, first, others = capfd.readouterr().out.splitlines()
    assert second.endswith("  second (undone)") and files.strip() == "b.txt"
    assert first.startswith("  1  ") and first.endswith("  first") and others.strip() == "a.txt"


def test_number_undoes_that_many_turns(project: Path) -> None:
    log = session(project)
    work(log, "first", {"a.txt": "two\n"})
    work(log, "second", {"a.txt": "three\n"})

    assert undo_command.run(["2"]) == 0
    assert (project / "a.txt").read_text() == "one\n"


def test_only_the_named_files_are_undone(project: Path) -> None:
    work(session(project), "fix it", {"a.txt": "two\n", "b.txt": "b\n"})

    assert undo_command.run(["b.txt"]) == 0

    assert (project / "a.txt").read_text() == "two\n" and not (project / "b.txt").exists()


def test_last_session_with_changes_is_the_default(project: Path) -> None:
    first = work(session(project), "first", {"a.txt": "two\n"})
    work(session(project), "second", {"b.txt": "b\n"})
    session(project).close()  # has changed nothing

    assert undo_command.run([]) == 0
    assert not (project / "b.txt").exists() and (project / "a.txt").read_text() == "two\n"
    assert undo_command.run(["--session", first]) == 0
    assert (project / "a.txt").read_text() == "one\n"


def test_session_that_only_ran_a_command_does_not_hide_earlier_changes(project: Path) -> None:
    work(session(project), "first", {"a.txt": "two\n"})
    later = session(project)
    assert later.artifacts_folder is not None
    place = later.artifacts_folder / FOLDER_NAME
    history = FileHistory(lambda: place)
    history.begin_turn("run it")
    history.note(CallBegan(call="call-1"))
    history.close()
    later.close()
    assert (place / "journal.log").exists()

    assert undo_command.run([]) == 0
    assert (project / "a.txt").read_text() == "one\n"


def test_sessions_of_other_folders_are_ignored(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work(session(project), "fix it", {"a.txt": "two\n"})
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    with pytest.raises(UsageError, match=r"no session in .*other has recorded file changes"):
        undo_command.run([])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--what"], 'Unknown flag "--what"'),
        (["0"], "use 1 or more"),
        (["--force"], "needs the names"),
        (["--session"], "--session needs a value: --session ID."),
        (["--redo", "2"], "takes no turns or files"),
        (["--list=yes"], "--list takes no value."),
    ],
)
def test_invalid_use_is_reported(words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        undo_command.run(words)


def test_session_without_changes_is_reported(project: Path) -> None:
    log = session(project)
    log.close()
    with pytest.raises(UsageError, match="changed no files"):
        undo_command.run(["--session", log.header.id])
