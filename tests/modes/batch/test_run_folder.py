"""The journal: results once, leases, and what a crash cut off."""

from pathlib import Path

import pytest

from tau.base.errors import SessionError, UsageError
from tau.modes.batch.run_folder import (
    BatchResult,
    EndRecord,
    ResultRecord,
    RetryRecord,
    RunFolder,
    StartRecord,
)
from tau.modes.batch.task import BatchTask


def made(path: Path, *names: str) -> RunFolder:
    folder = RunFolder.create(path / "run", [BatchTask(id=name, prompt="p") for name in names], {"note": 1})
    folder.lock()
    return folder


def result(name: str, status: str = "done", cost: float = 0.5) -> BatchResult:
    return BatchResult(id=name, attempt=1, status=status, cost=cost)  # type: ignore[arg-type]


def test_state_is_what_the_journal_says(tmp_path: Path) -> None:
    folder = made(tmp_path, "a", "b", "c")
    folder.write(StartRecord("a", 1, 1, "w", "t"))
    folder.write(ResultRecord("a", 1, result("a")))
    folder.write(StartRecord("b", 1, 2, "w", "t"))
    folder.write(EndRecord("b", 2, "refused", counts=False, cost=0.25))
    folder.write(StartRecord("c", 1, 3, "w", "t"))
    folder.close()
    again = RunFolder(tmp_path / "run")
    again.read()
    state = again.state
    assert list(state.results) == ["a"] and list(state.open) == ["c"]
    assert state.attempts == {"a": 1, "b": 0, "c": 1}
    assert (state.fence, state.spent) == (3, 0.75)
    assert list(again.tasks()) == ["a", "b", "c"] and again.options()["note"] == 1


def test_second_coordinator_is_refused(tmp_path: Path) -> None:
    folder = made(tmp_path, "a")
    with pytest.raises(UsageError, match="Another tau runs the batch"):
        RunFolder(tmp_path / "run").lock()
    folder.close()
    RunFolder(tmp_path / "run").lock()


def test_result_that_a_crash_kept_from_the_results_is_added(tmp_path: Path) -> None:
    folder = made(tmp_path, "a", "b")
    folder.write(ResultRecord("a", 1, result("a")))
    folder.write(ResultRecord("b", 2, result("b")))
    folder.close()
    results = tmp_path / "run/results.jsonl"
    lines = results.read_bytes().splitlines(keepends=True)
    results.write_bytes(lines[0] + lines[1][:20])
    again = RunFolder(tmp_path / "run")
    again.lock()
    assert results.read_bytes() == b"".join(lines)


def test_retried_result_leaves_the_results(tmp_path: Path) -> None:
    folder = made(tmp_path, "a", "b")
    folder.write(ResultRecord("a", 1, result("a", "failed")))
    folder.write(ResultRecord("b", 2, result("b")))
    folder.write(RetryRecord(["a"]))
    folder.close()  # killed before the file was rewritten
    again = RunFolder(tmp_path / "run")
    again.lock()
    assert list(again.state.results) == ["b"] and again.state.spent == 1.0
    assert (tmp_path / "run/results.jsonl").read_bytes().count(b"\n") == 1


def test_torn_last_line_of_the_journal_is_dropped(tmp_path: Path) -> None:
    folder = made(tmp_path, "a")
    folder.write(StartRecord("a", 1, 1, "w", "t"))
    folder.close()
    journal = tmp_path / "run/journal.jsonl"
    journal.write_bytes(journal.read_bytes() + b'{"type":"result","task":"a"')
    again = RunFolder(tmp_path / "run")
    again.lock()
    assert not again.state.results and list(again.state.open) == ["a"]


def test_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x/file").write_text("mine")
    with pytest.raises(UsageError, match="is not empty"):
        RunFolder.create(tmp_path / "x", [], {})
    with pytest.raises(UsageError, match="is not the folder of a batch"):
        RunFolder(tmp_path / "x").options()
    (tmp_path / "x/journal.jsonl").write_text('{"type":"from the future"}\n')
    with pytest.raises(SessionError, match="another version"):
        RunFolder(tmp_path / "x").read()
