"""Tool calls that change files, killed or failing at each step: the old content or the new."""

import asyncio
import errno
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tau.base.files import try_lock, write_atomic
from tau.coding.tools.write import Write
from tests.coding.context import call, call_context
from tests.faults import steps
from tests.faults.steps import CASES, NEW, OLD

Tree = dict[str, bytes]
ROOT = Path(__file__).parents[2]
DATABASES = {name for name, case in CASES.items() if case.is_database}
FILES = sorted(CASES.keys() - DATABASES)
LIKE_EDIT = ("edit_linked", "hashline", "write")  # the same writer


def case_of(name: str, *more: str, is_short: bool) -> Any:
    return pytest.param(name, *more, marks=() if is_short else pytest.mark.soak)


KILLED = [case_of(name, is_short=name not in LIKE_EDIT) for name in FILES if name != "edit_linked"]
FAULTS = [
    *(case_of(name, "ENOSPC", is_short=name not in LIKE_EDIT) for name in FILES),
    *(case_of(name, "EIO", is_short=name == "edit") for name in FILES),
]
ROW_FAULTS = [
    case_of(name, fault, reason, is_short=(name == "database") == (fault == "ENOSPC"))
    for name in sorted(DATABASES)
    for fault, reason in (("ENOSPC", "disk is full"), ("EIO", "disk I/O error"))
]


class Sweeps:
    """Runs each sweep once, in a child that has imported everything; tests only read what it left."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._done: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self._process = subprocess.Popen(
            [sys.executable, str(ROOT / "tests/faults/steps.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )

    def of(self, case: str, fault: str) -> list[dict[str, Any]]:
        """One report per step of the call, the last of them unharmed."""
        if case in DATABASES and not steps.sqlite_can_be_wrapped():
            pytest.skip("this Python's SQLite does not let its system calls be replaced")
        if (case, fault) not in self._done:
            folder = self._folder / f"{case}-{fault}"
            folder.mkdir()
            asking, answering = self._process.stdin, self._process.stdout
            assert asking is not None and answering is not None
            asking.write(json.dumps([case, fault, str(folder)]).encode() + b"\n")
            asking.flush()
            self._done[case, fault] = json.loads(answering.readline())
        reports = self._done[case, fault]
        assert reports[-1]["error"] is None
        assert len(reports) > 8
        return reports

    def close(self) -> None:
        self._process.communicate()
        assert self._process.returncode == 0


@pytest.fixture(scope="module")
def sweeps(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sweeps]:
    made = Sweeps(tmp_path_factory.mktemp("sweeps"))
    yield made
    made.close()


def is_temporary(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.startswith(".tau-") and name.endswith(".tmp")


def is_copy(path: str) -> bool:
    """Whether this is a leftover with old content: a backup, or the replaced file."""
    return ".tau-backup-" in path or is_temporary(path)


def files_in(folder: Path) -> Tree:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def before_and_after(case: str, reports: list[dict[str, Any]], folder: Path) -> tuple[Tree, Tree]:
    laid_out = folder / "laid out"
    laid_out.mkdir()
    CASES[case].lay_out(laid_out)
    old, new = files_in(laid_out), files_in(Path(reports[-1]["folder"]))
    assert old != new
    return old, new


def write_beside(path: Path) -> None:
    with call_context(path.parent) as ctx:
        asyncio.run(call(Write(), ctx, path="beside.txt", content="x"))
    (path.parent / "beside.txt").unlink()


@pytest.mark.parametrize("case", KILLED)
def test_kill_9_at_each_step_leaves_whole_files_and_the_next_write_cleans_up(
    case: str, sweeps: Sweeps, tmp_path: Path
) -> None:
    reports = sweeps.of(case, "kill")
    old, new = before_and_after(case, reports, tmp_path)
    left = 0
    for report in reports[:-1]:
        assert report["code"] == -signal.SIGKILL
        folder = Path(report["folder"])
        found = files_in(folder)
        temporary = [path for path in found if is_temporary(path)]
        left += len(temporary)
        assert len(temporary) <= 1
        if temporary:  # other tests look at the same sweep
            folder = Path(shutil.copytree(folder, tmp_path / folder.name))
        for path in temporary:
            write_beside(folder / path)
        assert files_in(folder) == {path: data for path, data in found.items() if path not in temporary}
        for path in old.keys() | new.keys():
            assert found.get(path) in (old.get(path), new.get(path)), (report["at"], path)
        if case == "patch":  # a moved file is in at least one of its places
            assert found.keys() & {"two.txt", "deep/moved.txt"}
    assert left  # otherwise there was nothing to clean up


def test_killed_patch_has_changed_files_in_patch_order(sweeps: Sweeps, tmp_path: Path) -> None:
    """Removals come last: until then the old content is in its old place too."""
    reports = sweeps.of("patch", "kill")
    old, new = before_and_after("patch", reports, tmp_path)
    steps_seen = set()
    for report in reports:
        found = files_in(Path(report["folder"]))
        state = (
            found["one.txt"] == new["one.txt"],
            "deep/moved.txt" in found,
            "fresh/tool.sh" in found,
            "two.txt" not in found,
            "three.txt" not in found,
        )
        assert list(state) == sorted(state, reverse=True)
        steps_seen.add(sum(state))
    assert steps_seen == set(range(6))
    assert os.access(Path(reports[-1]["folder"]) / "fresh/tool.sh", os.X_OK)
    assert old["two.txt"] == OLD.encode()


def test_kill_9_while_writing_a_hard_linked_file_leaves_it_whole_and_its_other_name_alone(
    sweeps: Sweeps,
) -> None:
    written = 0
    for report in sweeps.of("edit_linked", "kill"):
        found = files_in(Path(report["folder"]))
        assert found["other.txt"] == OLD.encode()
        assert found["one.txt"] in (OLD.encode(), NEW.encode()), report["at"]
        written += found["one.txt"] == NEW.encode()
    assert written


def rows(folder: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / "app.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return connection.execute("SELECT id, text FROM notes ORDER BY id").fetchall()


@pytest.mark.parametrize("case", sorted(DATABASES))
def test_kill_9_at_each_step_of_a_row_leaves_a_valid_database(case: str, sweeps: Sweeps) -> None:
    reports = sweeps.of(case, "kill")
    old = [(number + 1, f"{number} {OLD}") for number in range(9)]
    new = [row if row[0] != 4 else (4, NEW + NEW) for row in old]
    seen = []
    for report in reports:
        found = rows(Path(report["folder"]))
        assert found in (old, new), report["at"]
        seen.append(found == new)
    assert seen == sorted(seen)
    assert seen[-1] and not seen[0]


@pytest.mark.parametrize(("case", "fault"), FAULTS)
def test_error_at_any_step_changes_nothing_and_says_why(
    case: str, fault: str, sweeps: Sweeps, tmp_path: Path
) -> None:
    reports = sweeps.of(case, fault)
    old, new = before_and_after(case, reports, tmp_path)
    failures = 0
    for report in reports:
        message = report["error"]
        assert report["code"] == 0
        found = files_in(Path(report["folder"]))
        if report["at"] == "unlink":  # what cannot be removed stays, if only as a copy
            found = {path: data for path, data in found.items() if not is_copy(path)}
        assert found == (new if message is None else old), report
        if message is not None:
            failures += 1
            assert os.strerror(getattr(errno, fault)) in message
            assert message.endswith(".") and "\n" not in message
            assert "[Errno" not in message and str(Path(report["folder"]).parent) not in message
    assert failures > 2


@pytest.mark.parametrize("fault", ["ENOSPC+", pytest.param("EIO+", marks=pytest.mark.soak)])
@pytest.mark.parametrize("case", ["edit", "write_new", "patch", "archive"])
def test_broken_disk_leaves_whole_files_and_reports_what_was_not_restored(
    case: str, fault: str, sweeps: Sweeps, tmp_path: Path
) -> None:
    reports = sweeps.of(case, fault)
    old, new = before_and_after(case, reports, tmp_path)
    for report in reports:
        found = files_in(Path(report["folder"]))
        message = report["error"] or ""
        assert {path for path in found if not is_temporary(path)} <= old.keys() | new.keys()
        changed = [path for path in old.keys() | new.keys() if found.get(path) != old.get(path)]
        for path in changed:
            assert found.get(path) == new.get(path)
            assert (
                not message or f"{path} " in message.partition("Some changes could not be rolled back")[2]
            ), report


@pytest.mark.parametrize(("case", "fault", "reason"), ROW_FAULTS)
def test_error_at_any_step_of_a_row_changes_nothing_and_says_why(
    case: str, fault: str, reason: str, sweeps: Sweeps
) -> None:
    failures = exact = 0
    for report in sweeps.of(case, fault):
        message = report["error"]
        changed = rows(Path(report["folder"]))[3] == (4, NEW + NEW)
        assert changed == (message is None), report
        if message is not None and report["at"] != "open":
            failures += 1
            exact += reason in message
            assert (
                reason in message or "disk I/O error" in message
            )  # it tells more only of the database itself
            assert "not a SQLite database" not in message
            assert message.endswith(".") and "\n" not in message
    assert failures > 2 and exact > 1


def test_temporary_file_of_a_live_writer_is_left_alone(tmp_path: Path) -> None:
    busy = tmp_path / ".tau-0.tmp"
    with busy.open("wb") as file:
        assert try_lock(file.fileno())
        write_atomic(tmp_path / "a.txt", b"a")
        assert busy.exists()
    write_atomic(tmp_path / "a.txt", b"b")
    assert files_in(tmp_path) == {"a.txt": b"b"}


def test_one_write_cleans_up_after_several_killed_writers(tmp_path: Path) -> None:
    for number in range(16):
        (tmp_path / f".tau-{number}.tmp").write_bytes(b"left")
    write_atomic(tmp_path / "a.txt", b"a")
    assert files_in(tmp_path) == {"a.txt": b"a"}


def test_temporary_names_already_in_use_do_not_stop_a_write(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / ".tau-0.tmp").symlink_to(outside)
    (folder / ".tau-1.tmp").mkdir()
    os.mkfifo(folder / ".tau-2.tmp")
    for number in range(3, 16):
        (folder / f".tau-{number}.tmp").mkdir()
    write_atomic(folder / "a.txt", b"a")
    assert files_in(folder) == {".tau-0.tmp": b"mine", "a.txt": b"a"}
    assert outside.read_text() == "mine"


def test_many_writers_in_one_folder_do_not_disturb_each_other(tmp_path: Path) -> None:
    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for writer in range(24):
                group.create_task(asyncio.to_thread(repeat, writer))

    def repeat(writer: int) -> None:
        for number in range(30):
            write_atomic(tmp_path / f"{writer}.txt", f"{number}".encode(), sync=False)

    asyncio.run(main())
    assert files_in(tmp_path) == {f"{writer}.txt": b"29" for writer in range(24)}
