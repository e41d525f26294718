"""What Landlock does not keep is kept by a filter of system calls, or undone after the command."""

import os
import stat
import sys
from pathlib import Path

from tests.safety.sandbox_rig import Inside, Place, in_sandbox, listening


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_permissions_of_credentials_and_startup_files_are_restored(tmp_path: Path) -> None:
    place = Place(tmp_path)
    key = place.home / ".ssh/id_ed25519"
    watched = {place.home: 0o750, key: 0o600, key.parent: 0o700, place.home / ".bashrc": 0o644}
    for path, permissions in watched.items():
        path.chmod(permissions)
    code = "import os, sys\nfor path in sys.argv[1:]: os.chmod(path, 0o777)"

    async def work(inside: Inside) -> list[str]:
        await inside.run([sys.executable, "-c", code, *map(str, watched)])
        assert mode(place.home) == 0o777  # the gap
        notes = inside.sandbox.check_repositories()
        assert inside.sandbox.check_repositories() == []
        return notes

    notes = in_sandbox(place, work, "landlock")
    assert {path: mode(path) for path in watched} == watched
    assert len(notes) == len(watched)
    assert f"The permissions of {key} were changed by the command; they are restored." in notes


CONNECT = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1]); print('connected')"
PAIRS = "import socket; a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))"


def test_sockets_of_other_programs_cannot_be_connected_unless_allowed(tmp_path: Path) -> None:
    place = Place(tmp_path)
    os.chdir(place.home)
    address = str(place.home / "agent.sock")

    async def work(inside: Inside) -> tuple[str, str]:
        connected = await inside.text([sys.executable, "-c", CONNECT, address])
        return connected, await inside.text([sys.executable, "-c", PAIRS])

    with listening("agent.sock"):
        connected, pairs = in_sandbox(place, work, "landlock")
        assert "Permission denied" in connected
        assert pairs == "b'x'\n"
        assert in_sandbox(place, work, "landlock", sockets=(address,))[0] == "connected\n"
