"""What Landlock does not keep is kept by a filter of system calls, or undone after the command."""

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from tau.agent.effects import Effects
from tau.coding.approval.permissions import Permissions
from tau.coding.approval.policy import Workspace, decide
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


# Each prints OPEN if it gets through. PORT is a server of the host, FILE a socket of the host.
ATTEMPTS = {
    "connect to a server of the host": "s = tcp(); s.connect(('127.0.0.1', PORT)); opened()",
    "connect to it by IPv6": "s = tcp6(); s.connect(('::ffff:127.0.0.1', PORT)); opened()",
    "connect to it by no address": "s = tcp(); s.connect(('0.0.0.0', PORT)); opened()",
    "connect to another machine": "s = tcp(); s.setblocking(False); s.connect(('192.0.2.1', 80))",
    "send while connecting": "s = tcp(); s.sendto(b'x', 0x20000000, ('127.0.0.1', PORT)); opened()",
    "send a message while connecting": (
        "s = tcp(); s.sendmsg([b'x'], [], 0x20000000, ('127.0.0.1', PORT)); opened()"
    ),
    "use another protocol": "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262); opened()",
    "use datagrams": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM); opened()",
    "serve other machines": "s = tcp(); s.bind(('0.0.0.0', 0)); public(s)",
    "serve other machines by IPv6": "s = tcp6(); s.bind(('::', 0)); public(s)",
    "serve without an address": "s = tcp(); s.listen(); public(s)",
    "serve after a failed connection": (
        "s = tcp()\ntry: s.connect(('127.0.0.1', PORT))\nexcept OSError: pass\ns.listen(); public(s)"
    ),
    "serve on the host's port": (
        "s = tcp(); s.setsockopt(1, 15, 1); s.setsockopt(1, 2, 1); s.bind(('127.0.0.1', PORT)); opened()"
    ),
    "serve on a privileged port": "s = tcp(); s.bind(('127.0.0.1', 1023)); opened()",
    "swap the address": (
        "own = tcp(); own.bind(('127.0.0.1', 0)); own.listen(256)\n"
        "address = bytearray(struct.pack('=HHI8x', 2, 0, 0x0100007F))\n"
        "mine, theirs = own.getsockname()[1].to_bytes(2, 'big'), PORT.to_bytes(2, 'big')\n"
        "raw = (ctypes.c_char * 16).from_buffer(address)\n"
        "running = True\n"
        "def swap():\n"
        "    while running: address[2:4] = theirs; address[2:4] = mine\n"
        "threading.Thread(target=swap).start()\n"
        "for _ in range(50):\n"
        "    s = tcp()\n"
        "    if libc.connect(s.fileno(), raw, 16) == 0 and s.getpeername()[1] == PORT: opened()\n"
        "    s.close()\n"
        "running = False"
    ),
    "swap the socket": (
        "path = os.environ['TMPDIR'] + '/s%d'\n"
        "spare = tcp(); s = socket.socket(socket.AF_UNIX); running = True\n"
        "def swap():\n"
        "    while running: os.dup2(spare.fileno(), s.fileno()); os.dup2(other.fileno(), s.fileno())\n"
        "for turn in range(25):\n"
        "    other = socket.socket(socket.AF_UNIX); running = True\n"
        "    thread = threading.Thread(target=swap); thread.start()\n"
        "    try: s.bind(path % turn)\n"
        "    except OSError: pass\n"
        "    running = False; thread.join()\n"
        "    if spare.getsockname()[1]: opened()"
    ),
    "connect to a socket of the host": "unix().connect(FILE); opened()",
    "connect to it by a link": "os.symlink(FILE, 'l'); unix().connect('l'); opened()",
    "connect to it from another folder": (
        "os.chdir(os.path.dirname(FILE)); unix().connect('agent.sock'); opened()"
    ),
    "connect to it by /proc": "unix().connect('/proc/self/root' + FILE); opened()",
    "connect to an abstract socket": "unix().connect('\\0tau-landlock'); opened()",
    "open a terminal of another program": (
        "import glob\nfor name in glob.glob('/dev/pts/[0-9]*'): os.open(name, os.O_RDWR); opened()"
    ),
    "get a terminal from something else": (
        "for fd in (0, 1, 2):\n    if libc.ioctl(fd, 0x5441, 2) >= 0: opened()"
    ),
}
ATTEMPT_PRELUDE = """
import ctypes, os, socket, struct, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
PORT, FILE = int(sys.argv[1]), sys.argv[2]
def opened(): print("OPEN", flush=True)
def tcp(): return socket.socket()
def tcp6(): return socket.socket(socket.AF_INET6)
def unix(): return socket.socket(socket.AF_UNIX)
def public(s):
    s.listen()
    if s.getsockname()[0] not in ("127.0.0.1", "::1", "::ffff:127.0.0.1"): opened()
"""
ATTEMPT_DRIVER = """
import json, os, sys
for name, code in json.load(open(sys.argv[3])).items():
    print(name, flush=True)
    if os.fork() == 0:
        try: exec(code, {})
        except OSError as error: print(error.errno, flush=True)
        os._exit(0)
    os.wait()
"""
WORKING = """
for family, host in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::"), (socket.AF_INET6, "::1")):
    server = socket.socket(family); server.bind((host, 0)); server.listen()
    client = socket.create_connection(server.getsockname()[:2]); client.send(b"x")
    print(server.accept()[0].recv(1))
server = unix(); server.bind("own.sock"); server.listen()
client = unix(); client.connect("own.sock"); client.send(b"x"); print(server.accept()[0].recv(1))
ours, theirs = os.openpty(); os.write(theirs, b"t"); print(os.read(ours, 1), os.isatty(theirs))
"""


def test_supervisor_reaches_only_what_is_in_the_sandbox(tmp_path: Path) -> None:
    place = Place(tmp_path)
    file = place.home / "agent.sock"
    codes = place.project / "codes.json"
    codes.write_text(json.dumps({name: ATTEMPT_PRELUDE + code for name, code in ATTEMPTS.items()}))
    with (
        listening(("127.0.0.1", 0)) as server,
        listening(str(file)),
        listening("\0tau-landlock"),
        os.fdopen(os.open("/dev/ptmx", os.O_RDWR)),
    ):
        port = str(server.getsockname()[1])

        async def work(inside: Inside) -> tuple[str, str]:
            words = [sys.executable, "-c", ATTEMPT_DRIVER, port, str(file), str(codes)]
            tried = await inside.text(words)
            works = await inside.text([sys.executable, "-c", ATTEMPT_PRELUDE + WORKING, port, str(file)])
            return tried, works

        tried, works = in_sandbox(place, work, "landlock")
    assert "OPEN" not in tried, tried
    assert all(name in tried for name in ATTEMPTS)
    assert works.splitlines() == ["b'x'"] * 4 + ["b't' True"]


@pytest.mark.parametrize(
    ("command", "asks"),
    [
        ("ls ~/.ssh", True),
        ("cd ~ && find .ssh -name '*'", True),
        ("echo ~/.ssh/*", True),
        ("bash -c 'ls -la $HOME/.ssh/.'", True),
        ("cat ~/.ssh/id_ed25519", False),  # which Landlock refuses
        ("ls ~ .", False),
        (f"ls /proc/1/root/x {'x' * 300} {'y/' * 3000}", False),  # neither can be opened
    ],
)
def test_command_that_lists_the_names_in_a_credential_store_asks(
    tmp_path: Path, command: str, asks: bool
) -> None:
    key = Path.home() / ".ssh/id_ed25519"
    key.parent.mkdir(parents=True)
    key.touch()
    for shares_temporary in (True, False):
        verdict = decide(
            Effects(runs=(command,), run_cwd=tmp_path),
            Permissions(mode="workspace"),
            Workspace.of((tmp_path,), temporary=(Path("/tmp"),)),
            demo=False,
            contained=True,
            shares_temporary=shares_temporary,
        )
        assert verdict.verdict == ("ask" if asks and shares_temporary else "allow")
        assert "list the names in" in verdict.questions[0].notes[0] if verdict.questions else True


@pytest.mark.parametrize(
    ("command", "asks"),
    [
        ("chmod 777 /tmp/of-another", True),
        ("touch -d 2020-01-01 /tmp/of-another", True),
        ("chown 1 /tmp/of-another; true", True),
        ("find /tmp -name x -exec chmod 777 {} +", True),
        ("touch /tmp/../tmp/of-another", True),
        ("chmod 644 a.txt && touch b.txt", False),
        ("echo x > /tmp/new; rm -f /tmp/new; cat /tmp/of-another", False),  # which Landlock refuses
    ],
)
def test_permissions_in_the_temporary_folder_ask_only_where_it_is_shared(
    tmp_path: Path, command: str, asks: bool
) -> None:
    workspace = Workspace.of((tmp_path,), temporary=(Path("/tmp"),))

    def verdict(*, shares_temporary: bool) -> str:
        return decide(
            Effects(runs=(command,), run_cwd=tmp_path),
            Permissions(mode="workspace"),
            workspace,
            demo=False,
            contained=True,
            shares_temporary=shares_temporary,
        ).verdict

    assert verdict(shares_temporary=True) == ("ask" if asks else "allow")
    if "-exec" not in command:
        assert verdict(shares_temporary=False) == "allow"
