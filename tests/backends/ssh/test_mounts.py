"""The files of a host in a local folder, if sshfs is available."""

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tau.backends.ssh.connections import Connections
from tau.base.run import LocalRunner
from tests.backends.ssh.loopback import Server, running_sshd


@pytest.fixture(scope="module")
def sshd() -> Iterator[Server]:
    with running_sshd() as server:
        yield server


@pytest.fixture
def server(sshd: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setenv("PATH", f"{sshd.bin}:{os.environ['PATH']}")
    return sshd


async def mounted(server: Server, folder: Path, file: Path) -> str | None:
    """The content of a host's file, read through the mount; None if there is no mount."""
    runner = LocalRunner()
    try:
        async with Connections(runner, cache=folder / "cache", mounts=folder / "mounts") as connections:
            async with connections.start(server.host(), "true") as running:
                assert await running.read() == b""
                assert (await running.wait()).code == 0
            mount = connections.mounted(server.host())
            if mount is None:
                return None
            inside = mount / file.relative_to("/")
            return await asyncio.to_thread(inside.read_text)
    finally:
        runner.close()


def test_files_are_readable_while_the_session_lives(server: Server, tmp_path: Path) -> None:
    if shutil.which("sshfs") is None or not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("sshfs is not installed, or this user cannot mount anything")
    file = tmp_path / "there.txt"
    file.write_text("from afar")
    content = asyncio.run(mounted(server, tmp_path, file))
    if content is None:
        pytest.skip("mounts are not allowed here")
    assert content == "from afar"
    assert list((tmp_path / "mounts").iterdir()) == []
    assert file.exists()


def test_commands_run_without_sshfs(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tau.backends.ssh.mounts.find_program", lambda name: None)
    assert asyncio.run(mounted(server, tmp_path, tmp_path)) is None


def test_failing_sshfs_changes_nothing(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "bin" / "sshfs"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho no >&2; exit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{broken.parent}:{os.environ['PATH']}")
    assert asyncio.run(mounted(server, tmp_path, tmp_path)) is None
