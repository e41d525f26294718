"""A real sshd on loopback with its own keys, and an ssh isolated from the real user."""

import getpass
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tau.backends.ssh.hosts import SshHost
from tests.support.free_ports import free_port
from tests.support.limits import HANG_S

SSHD = shutil.which("sshd") or shutil.which("/usr/sbin/sshd")
SSH = shutil.which("ssh")
START_S = HANG_S
SERVER = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
PermitUserEnvironment no
MaxSessions 50
Subsystem sftp internal-sftp
"""
CLIENT = """\
UserKnownHostsFile {folder}/known_hosts
GlobalKnownHostsFile /dev/null
IdentityAgent none
"""


@dataclass(frozen=True)
class Server:
    """`bin` holds an ssh that ignores the real user's files and agents; put it first on the PATH."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes]

    @property
    def bin(self) -> Path:
        return self.folder / "bin"

    @property
    def tmp(self) -> Path:
        """A short private path for sockets."""
        return self.folder / "tmp"

    @property
    def key(self) -> Path:
        return self.folder / "user_key"

    def host(self, name: str = "box", **fields: object) -> SshHost:
        usual = {"address": "127.0.0.1", "user": getpass.getuser(), "port": self.port, "key": self.key}
        return SshHost(name=name, **{**usual, **fields})  # type: ignore[arg-type]

    def entry(self) -> dict[str, object]:
        """The same in the form of a file entry."""
        return {
            "host": "127.0.0.1",
            "username": getpass.getuser(),
            "port": self.port,
            "keyPath": str(self.key),
        }


@contextmanager
def running_sshd() -> Iterator[Server]:
    """Skips if there is no sshd, or none that lets us in."""
    if SSHD is None or SSH is None:
        pytest.skip("sshd or ssh is not installed (Debian: openssh-server, openssh-client)")
    folder = Path(tempfile.mkdtemp(prefix="tau-sshd-", dir="/tmp"))
    try:
        for name in ("host_key", "user_key"):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True
            )
        port = free_port()
        _write_files(folder, port)
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        with (folder / "sshd.log").open("wb") as log:
            process = subprocess.Popen(
                [SSHD, "-D", "-e", "-f", str(folder / "sshd_config")],
                stdin=subprocess.DEVNULL,
                stderr=log,
                env={"PATH": os.environ["PATH"]},
            )
        server = Server(folder, port, process)
        try:
            _wait_until_it_lets_us_in(server)
            yield server
        finally:
            process.terminate()
            process.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write_files(folder: Path, port: int) -> None:
    config = folder / "sshd_config"
    config.write_text(SERVER.format(port=port, folder=folder))
    (folder / "ssh_config").write_text(CLIENT.format(folder=folder))
    # Since OpenSSH 9.8 a failing client is penalized; older versions do not know the option.
    config.write_text(config.read_text() + "PerSourcePenalties no\n")
    if subprocess.run([str(SSHD), "-t", "-f", str(config)], capture_output=True).returncode:
        config.write_text(SERVER.format(port=port, folder=folder))
    (folder / "bin").mkdir()
    (folder / "tmp").mkdir()
    ssh = folder / "bin" / "ssh"
    ssh.write_text(f'#!/bin/sh\nexec {SSH} -F {folder}/ssh_config "$@"\n')
    ssh.chmod(0o755)


def _wait_until_it_lets_us_in(server: Server) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if server.process.poll() is not None:
            break
        tried = subprocess.run(
            [
                str(server.bin / "ssh"),
                *("-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=accept-new"),
                *("-i", str(server.key), "-p", str(server.port), "127.0.0.1", "true"),
            ],
            capture_output=True,
            stdin=subprocess.DEVNULL,
        )
        if tried.returncode == 0:
            return
        if b"Permission denied" in tried.stderr:
            break
        time.sleep(0.05)
    message = (server.folder / "sshd.log").read_text(errors="replace").strip().splitlines()[-1:]
    pytest.skip(f"an sshd of our own does not let us in here: {' '.join(message)}")
