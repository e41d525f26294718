"""A command that cannot be started leaves no descriptor open, whichever step fails."""

import asyncio
import errno
import os
import termios
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tau.base.orphan_guard import OrphanGuard
from tau.base.run import LocalRunner, Pty
from tests.base.failing_calls import FailAt

HERE = Path(__file__).parent
DESCRIPTORS = Path("/proc/self/fd")
pytestmark = pytest.mark.skipif(not DESCRIPTORS.is_dir(), reason="descriptors are counted by /proc")


def left_open(fail: Callable[[], None], **options: Any) -> int:
    """How many descriptors a failed start leaves open."""

    async def main() -> int:
        runner = LocalRunner()
        async with await runner.start(["true"], cwd=HERE) as process:
            await process.wait()  # the runner's one-time resources exist now
        before = len(list(DESCRIPTORS.iterdir()))
        fail()
        with pytest.raises(OSError):
            await runner.start(["true"], cwd=HERE / "no-such-folder", **options)
        return len(list(DESCRIPTORS.iterdir())) - before

    return asyncio.run(main())


@pytest.mark.parametrize("options", [{}, {"stdin": "open"}, {"stdin": b"text"}, {"terminal": Pty()}])
def test_missing_folder_leaves_no_descriptor(options: dict[str, Any]) -> None:
    assert left_open(lambda: None, **options) == 0


def test_command_that_did_not_start_is_forgotten_by_the_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    monkeypatch.setattr(OrphanGuard, "_send", lambda guard, line: sent.append(line))

    async def main() -> None:
        with pytest.raises(FileNotFoundError):
            await LocalRunner().start(["true"], cwd=HERE / "no-such-folder")

    asyncio.run(main())
    announced, forgotten = sent
    assert announced.startswith("+ TAU_RUN=") and forgotten == announced.replace("+", "-")


@pytest.mark.parametrize(
    ("module", "name", "call", "options"),
    [
        (os, "pipe", 2, {"stdin": "open"}),
        (os, "memfd_create", 1, {"stdin": b"text"}),
        (os, "lseek", 1, {"stdin": b"text"}),
        (termios, "tcsetwinsize", 1, {"terminal": Pty()}),
    ],
    ids=["second pipe", "file for the input", "input written", "size of the terminal"],
)
def test_failing_step_leaves_no_descriptor(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str, call: int, options: dict[str, Any]
) -> None:
    real = getattr(module, name)
    fault = FailAt(real, call, errno.EMFILE, False)
    assert left_open(lambda: monkeypatch.setattr(module, name, fault), **options) == 0
    assert fault.calls == call
