"""A program for child processes: one tool call, run repeatedly, that dies or fails at each of its steps.

It reads lines of JSON, `[CASE, FAULT, FOLDER]`. For each, it lays out the case in FOLDER/1, FOLDER/2, ... and
runs its call in each of them, in a separate child. The fault strikes the first one at its first system call
that touches a file, the second one at its second, and so on until a call ends unharmed. FAULT is `kill` or
the name of an error such as ENOSPC, with a trailing `+` if everything after it fails too. Prints the reports
of all children as one line of JSON.
"""

import _sqlite3
import asyncio
import ctypes
import errno
import gc
import io
import json
import os
import signal
import sqlite3
import sys
import time
import traceback
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tau.agent.tool import Tool
from tau.base.errors import ToolError
from tau.coding import artifacts
from tau.coding.tools.edit import Edit
from tau.coding.tools.edit_hashline import HashlineEdit
from tau.coding.tools.edit_patch import PatchEdit
from tau.coding.tools.write import Write
from tests.coding.context import CallContext, call, call_context

COUNTED = (
    *("open", "write", "fsync", "replace", "rename", "unlink", "mkdir"),
    *("chmod", "fchmod", "ftruncate", "lseek"),
)
SHORT_BYTES = 700  # a system that takes few bytes at a time, so that there are writes to be torn
MAX_STEPS = 500
NOON = time.struct_time((2024, 6, 1, 12, 0, 0, 5, 153, 0))
OLD = "".join(f"line {number} of the old text\n" for number in range(80))
NEW = OLD.replace("line 7 of", "line seven, which is longer now, of")
PATCH = """*** Begin Patch
*** Update File: one.txt
@@
-line 7 of the old text
+line seven, which is longer now, of the old text
*** Update File: two.txt
*** Move to: deep/moved.txt
@@
-line 3 of the old text
+line three
*** Add File: fresh/tool.sh
+#!/bin/sh
+echo made
*** Delete File: three.txt
*** End Patch"""


def text_file(folder: Path) -> None:
    (folder / "one.txt").write_text(OLD)


def three_files(folder: Path) -> None:
    for name in ("one.txt", "two.txt", "three.txt"):
        (folder / name).write_text(OLD)


def linked_file(folder: Path) -> None:
    text_file(folder)
    os.link(folder / "one.txt", folder / "other.txt")


def archive(folder: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        packed.writestr(zipfile.ZipInfo("a.txt"), OLD)
        packed.writestr(zipfile.ZipInfo("b.txt"), "b\n")
    (folder / "pack.zip").write_bytes(buffer.getvalue())


def database(folder: Path, journal: str = "delete") -> None:
    with closing(sqlite3.connect(folder / "app.db")) as connection:
        connection.execute(f"PRAGMA journal_mode={journal}")
        connection.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)")
        connection.execute("CREATE INDEX by_text ON notes (text)")
        connection.executemany("INSERT INTO notes (text) VALUES (?)", [(f"{n} {OLD}",) for n in range(9)])
        connection.commit()


def database_with_log(folder: Path) -> None:
    database(folder, "wal")


@dataclass(frozen=True)
class ToolCase:
    """Files, and a call that changes them."""

    lay_out: Callable[[Path], None]
    tool: Tool[Any]
    arguments: dict[str, Any]

    @property
    def is_database(self) -> bool:
        return self.arguments is ROW

    def arguments_in(self, ctx: CallContext) -> dict[str, Any]:
        """An edit by line needs the tag of an earlier read."""
        tag = ctx.snapshots.record(ctx.cwd / "one.txt", OLD)
        return {
            name: value.replace("TAG", tag or "") if isinstance(value, str) else value
            for name, value in self.arguments.items()
        }


REPLACEMENT = {"old_text": "line 7 of", "new_text": "line seven, which is longer now, of"}
ROW = {"path": "app.db:notes:4", "content": json.dumps({"text": NEW + NEW})}
CASES = {
    "edit": ToolCase(text_file, Edit(), {"path": "one.txt", **REPLACEMENT}),
    "edit_linked": ToolCase(linked_file, Edit(), {"path": "one.txt", **REPLACEMENT}),
    "hashline": ToolCase(text_file, HashlineEdit(), {"input": "¶one.txt#TAG\nreplace 8..8:\n+line seven"}),
    "write": ToolCase(text_file, Write(), {"path": "one.txt", "content": NEW}),
    "write_new": ToolCase(text_file, Write(), {"path": "a/b/run.sh", "content": "#!/bin/sh\n" + NEW}),
    "patch": ToolCase(three_files, PatchEdit("apply_patch"), {"input": PATCH}),
    "archive": ToolCase(archive, Write(), {"path": "pack.zip:a.txt", "content": NEW}),
    "database": ToolCase(database, Write(), ROW),
    "database_with_log": ToolCase(database_with_log, Write(), ROW),
}


class FaultInjector:
    """Counts steps and strikes at one of them."""

    def __init__(self, at: int, fault: str, report: int) -> None:
        self.at = at
        self.onwards = fault.endswith("+")
        self.number = 0 if fault == "kill" else getattr(errno, fault.removesuffix("+"))
        self.report = report
        self.write = os.write
        self.count = 0
        self.struck = ""

    def error(self, name: str) -> int:
        """The error of the next step, 0 if it succeeds. Does not return from a kill."""
        self.count += 1
        if self.count < self.at or (self.count > self.at and not self.onwards):
            return 0
        self.struck = self.struck or name
        if not self.number:
            self.tell({"at": name})
            os.kill(os.getpid(), signal.SIGKILL)
        return self.number

    def tell(self, report: dict[str, Any]) -> None:
        self.write(self.report, json.dumps(report).encode() + b"\n")

    def wrapped(self, name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def step(*args: Any, **kwargs: Any) -> Any:
            number = self.error(name)
            if number:
                raise OSError(number, os.strerror(number))
            if name == "write":
                return real(args[0], bytes(args[1])[:SHORT_BYTES])
            return real(*args, **kwargs)

        return step


class Vfs(ctypes.Structure):
    """SQLite's table of system functions; only the last ones matter here."""

    _fields_ = (
        ("version", ctypes.c_int),
        ("sizes", ctypes.c_int * 2),
        ("names", ctypes.c_void_p * 3),
        ("methods", ctypes.c_void_p * 13),
        ("set_system_call", ctypes.c_void_p),
        ("get_system_call", ctypes.c_void_p),
    )


SQLITE_CALLS = {
    "pwrite": (ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64),
    "pwrite64": (ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64),
    "ftruncate": (ctypes.c_int, ctypes.c_int, ctypes.c_int64),
    "unlink": (ctypes.c_int, ctypes.c_char_p),
}
KEPT: list[Any] = []  # SQLite's callbacks must outlive this function


def sqlite_can_be_wrapped() -> bool:
    """A Python with SQLite built in may not export the library's names."""
    try:
        return bool(ctypes.CDLL(_sqlite3.__file__).sqlite3_vfs_find)
    except (AttributeError, OSError):
        return False


def wrap_sqlite(striking: FaultInjector) -> None:
    """The same for SQLite's own calls."""
    library = ctypes.CDLL(_sqlite3.__file__)
    library.sqlite3_vfs_find.restype = ctypes.POINTER(Vfs)
    vfs = library.sqlite3_vfs_find(None)
    getter = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(vfs[0].get_system_call)
    setter = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
        vfs[0].set_system_call
    )
    for name, types in SQLITE_CALLS.items():
        address = getter(vfs, name.encode())
        if address:
            kind = ctypes.CFUNCTYPE(*types, use_errno=True)
            step = kind(_sqlite_step(name, kind(address), striking))
            KEPT.append(step)
            setter(vfs, name.encode(), ctypes.cast(step, ctypes.c_void_p))


def _sqlite_step(name: str, real: Callable[..., int], striking: FaultInjector) -> Callable[..., int]:
    def step(*args: Any) -> int:
        number = striking.error(name)
        if number:
            ctypes.set_errno(number)
            return -1
        return real(*args)

    return step


def run_child(case: ToolCase, folder: Path, striking: FaultInjector) -> None:
    error = None
    with call_context(folder) as ctx:
        arguments = case.arguments_in(ctx)
        time.localtime = lambda *_: NOON  # archives keep the time
        artifacts.remove_abandoned = lambda place: None  # a thread, whose steps are not the call's
        for name in COUNTED:
            setattr(os, name, striking.wrapped(name))
        if case.is_database:
            wrap_sqlite(striking)
        try:
            asyncio.run(call(case.tool, ctx, **arguments))
        except ToolError as failure:
            error = str(failure)
        striking.at, striking.onwards = 0, False
        striking.tell({"at": striking.struck, "error": error})


def warm_up(case: ToolCase, folder: Path) -> None:
    """Call it unharmed, so that not every child imports what it imports and compiles its patterns."""
    folder.mkdir()
    case.lay_out(folder)
    with call_context(folder) as ctx:
        asyncio.run(call(case.tool, ctx, **case.arguments_in(ctx)))
    gc.collect()
    gc.freeze()


def sweep(case: ToolCase, fault: str, root: Path) -> Iterator[dict[str, Any]]:
    warm_up(case, root / "first")
    for at in range(1, MAX_STEPS):
        folder = root / str(at)
        folder.mkdir()
        case.lay_out(folder)
        reading, writing = os.pipe()
        pid = os.fork()
        if not pid:
            try:
                run_child(case, folder, FaultInjector(at, fault, writing))
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            report = json.loads(pipe.readline() or "{}")
        _, status = os.waitpid(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        yield {"folder": str(folder), "code": code, **report}
        if code == 0 and not report["at"]:
            return
    sys.exit("more steps than expected")


if __name__ == "__main__":
    for line in sys.stdin:
        name, fault, root = json.loads(line)
        print(json.dumps(list(sweep(CASES[name], fault, Path(root)))), flush=True)
