"""What happens to commands when the process that runs them is gone."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tau.base.orphan_guard import OrphanGuard
from tests.support.limits import HANG_S


@contextmanager
def running(script: str, **env: str) -> Iterator[subprocess.Popen[bytes]]:
    """A shell that leads a process group, ready when it has written a line."""
    with subprocess.Popen(
        ["/bin/sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True, env={**os.environ, **env}
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        try:
            yield child
        finally:
            child.kill()


def test_watched_process_ends_with_the_guard() -> None:
    guard = OrphanGuard()
    with running("echo; exec sleep 100") as child:
        guard.watch(child.pid)
        del guard
        assert child.wait(timeout=HANG_S) == -15


def test_end_of_the_interpreter_printed_that_os_was_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = OrphanGuard()
    with running("echo; exec sleep 100") as child:
        guard.watch(child.pid)
        monkeypatch.setattr("tau.base.orphan_guard.os", None)
        del guard
        assert child.wait(timeout=HANG_S) == -15


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes can be found by their id on Linux only")
def test_announced_process_ends_before_its_group_is_known() -> None:
    guard = OrphanGuard()
    guard.announce("TAU_RUN", "0123456789abcdef")
    with running("echo; exec sleep 100", TAU_RUN="0123456789abcdef") as child:
        del guard
        assert child.wait(timeout=HANG_S) == -15


def test_process_that_ignores_sigterm_is_killed() -> None:
    guard = OrphanGuard()
    with running("trap '' TERM; echo; while :; do sleep 0.1; done") as child:
        guard.watch(child.pid)
        del guard
        assert child.wait(timeout=HANG_S) == -9


def test_forgotten_process_lives_on() -> None:
    guard = OrphanGuard()
    with running("echo; exec sleep 100") as kept, running("echo; exec sleep 100") as ended:
        guard.announce("TAU_RUN", "a")
        for child in (kept, ended):
            guard.watch(child.pid)
        guard.forget("TAU_RUN", "a", kept.pid)
        del guard
        assert ended.wait(timeout=HANG_S) == -15
        assert kept.poll() is None


def test_forgetting_an_unannounced_process_does_no_harm() -> None:
    guard = OrphanGuard()
    with running("echo; exec sleep 100") as child:
        guard.watch(child.pid)
        for _ in range(64):
            guard.forget("TAU_RUN", "unknown")
        del guard
        assert child.wait(timeout=HANG_S) == -15


def test_folder_is_removed_with_the_guard_unless_already_cleaned_up(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("kept", "removed", "with a blank")]
    for folder in folders:
        folder.mkdir()
        (folder / "file").touch()
    guard = OrphanGuard()
    with running("echo; exec sleep 100") as child:
        guard.watch(child.pid)
        for folder in folders:
            guard.add_folder(folder)
        guard.forget_folder(folders[0])
        del guard
        assert child.wait(timeout=HANG_S) == -15
    deadline = time.monotonic() + HANG_S
    while folders[1].exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert [folder.exists() for folder in folders] == [True, False, True]


def test_commands_run_without_a_shell_to_guard_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object, **_kwargs: object) -> None:
        raise OSError

    with monkeypatch.context() as patch:
        patch.setattr("tau.base.orphan_guard.subprocess.Popen", refuse)
        guard = OrphanGuard()
    with running("echo; exec sleep 100") as child:
        guard.watch(child.pid)  # the pipe has no reader
        guard.forget("TAU_RUN", "a", child.pid)
        assert child.poll() is None
