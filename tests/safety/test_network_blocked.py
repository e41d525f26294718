"""What was blocked is claimed only if it was: each command runs in a real sandbox, under strace."""

import asyncio
import os
import re
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from tau.backends.sandbox.network.decision_log import DecisionLog
from tau.base.run import Exit
from tau.coding.shell.blocked_attempts import Containment, find_blocked

# What is outside is read-only: HOME/x is claimed as blocked. The workspace is the current folder.
BLOCKED: dict[str, str] = {
    "touch ~/new": "new",
    "touch ~/file": "file",
    "touch -c ~/file": "file",
    "touch 'in' ~/new": "new",
    "touch ../home/new": "new",
    "touch ~/'a b'": "a b",
    "echo hi > ~/new": "new",
    "echo hi >> ~/file": "file",
    "echo hi 2> ~/new": "new",
    "echo hi &> ~/new": "new",
    "echo hi > ~/new 2>&1": "new",
    "echo hi > out-link": "file",
    "false > ~/new": "new",
    "echo hi > ~/new && cat ~/new": "new",
    "echo hi > ~/new || echo no": "new",
    "echo hi > ~/new; echo done": "new",
    "echo one; echo hi > ~/new": "new",
    "true && touch ~/new": "new",
    "cd sub && touch ~/new": "new",
    "cd sub && touch ../../home/new": "new",
    "cd ~ && touch new": "new",
    "echo hi | tee ~/new": "new",
    "echo hi | tee -a ~/file": "file",
    "mkdir ~/folder2": "folder2",
    "mkdir -p ~/folder2/a/b": "folder2",
    "rmdir ~/empty": "empty",
    "rm ~/file": "file",
    "rm -f ~/file": "file",
    "rm -rf ~/folder": "folder",
    "cp in ~/new": "new",
    "cp in ~/folder": "folder/in",
    "cp -r sub ~/sub2": "sub2",
    "cp in ~/file": "file",
    "mv in ~/new": "new",
    "mv ~/file here": "file",
    "ln -s in ~/new": "new",
    "ln -sf in ~/file": "file",
    "chmod 600 ~/file": "file",
    "chmod +x ~/file": "file",
    "dd if=in of=HOME/new": "new",
    "sed -i s/a/b/ ~/file": "file",
    "git config user.name x": "../work/.git/config",
    "git config --global user.name x": ".gitconfig",
}
# Nothing was blocked, whatever the output says.
NOT_BLOCKED = (
    """
touch new
touch ~/missing/new
touch --no-such-option ~/new
touch -c ~/missing
echo touch ~/new: Read-only file system
echo "cannot create ~/new: Read-only file system" && false
echo 'Permission denied' > note; false
false && touch ~/new
true || touch ~/new
exit 3; touch ~/new
cat ~/file
cat ~/missing
cat < ~/missing > ~/new
ls ~/missing; echo hi > here
echo ";" touch ~/new
echo 'a > b' ~/new
mkdir sub
mkdir ~/folder
mkdir ~/missing/a
rm ~/folder
cp missing ~/new
cp sub ~/new
cp ~/file here
mv missing ~/new
ln -s in ~/file
chmod bad ~/file
chmod 600 ~/missing
dd if=missing of=~/new
sed -i 's/(/' ~/file
git config nokey x
git config user.name
curl --version
bash -c 'exit 1'
grep nothing ~/file
echo hi > /dev/null
echo hi > ~/folder
touch /proc/new
cd ~/missing && touch ~/new
NAME=x touch missing/x
touch in; false
rm -r LONG
cd LONG && touch ~/new
cp in LONG
mv LONG sub
""".replace("LONG", "x" * 300)
    .strip()
    .splitlines()
)
# Refused by a read-only file system, but it would fail, or do nothing, on any other too.
IN_VAIN = """
rmdir ~/folder
rm ~/missing
rm -f ~/missing
test -w ~/file
""".strip().splitlines()
# Blocked, but nothing that could be known without watching it.
SILENT = """
python3 -c 'open("HOME/new", "w")'
ls missing && touch ~/new || touch ~/other
for n in a b; do touch ~/$n; done
$(echo touch) ~/new
make -C ~ new
""".strip().splitlines()


class Place:
    """A workspace and a home that only the sandbox protects."""

    def __init__(self, folder: Path) -> None:
        self.trace = folder / "trace"
        self.work, self.home = folder / "work", folder / "home"
        for path in (self.work / "sub", self.home / "folder", self.home / "empty", self.work / ".git"):
            path.mkdir(parents=True)
        (self.home / "file").write_text("a")
        (self.home / "folder" / "inner").write_text("a")
        (self.work / "in").write_text("a")
        (self.work / "out-link").symlink_to(self.home / "file")
        os.environ["HOME"] = str(self.home)
        self.containment = Containment(writable=(self.work,), read_only=(self.work / ".git" / "config",))

    async def run(self, text: str) -> Exit:
        """Run it as the sandbox would, and record the system calls that name files."""
        config = str(self.work / ".git" / "config")
        wrap = ["bwrap", "--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc"]
        wrap += ["--bind", str(self.work), str(self.work), "--ro-bind", config, config]
        trace = ["strace", "-f", "-qq", "-e", "trace=%file,fchmodat,utimensat", "-o", str(self.trace)]
        process = await asyncio.create_subprocess_exec(
            *trace,
            *wrap,
            *("bash", "-c", text),
            cwd=self.work,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        return Exit(code=await process.wait())

    @property
    def was_blocked(self) -> bool:
        """Whether the kernel refused a call because of the sandbox."""
        return bool(re.search(r" = -1 (EROFS|EBUSY)", self.trace.read_text().partition('execve("')[2]))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    for program in ("bwrap", "strace", "git"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    made = Place(Path(os.path.realpath(tmp_path)))

    async def main() -> None:
        process = await asyncio.create_subprocess_exec("git", "init", "-q", cwd=made.work)
        await process.wait()

    asyncio.run(main())
    return made


def claims(place: Place, text: str, exited: Exit) -> list[str]:
    found = find_blocked(text, place.work, exited, place.containment)
    return [attempt.subject for attempt in found]


@pytest.mark.parametrize("text", BLOCKED)
def test_a_blocked_write_is_named(place: Place, text: str) -> None:
    subject = BLOCKED[text]
    text = text.replace("HOME", str(place.home))
    exited = asyncio.run(place.run(text))
    assert place.was_blocked
    assert claims(place, text, exited) == [os.path.normpath(place.home / subject)]


@pytest.mark.parametrize("text", NOT_BLOCKED)
def test_nothing_is_claimed_if_nothing_was_blocked(place: Place, text: str) -> None:
    exited = asyncio.run(place.run(text))
    assert not place.was_blocked
    assert claims(place, text, exited) == []


@pytest.mark.parametrize("text", (*IN_VAIN, *SILENT))
def test_nothing_is_claimed_that_is_not_certain(place: Place, text: str) -> None:
    text = text.replace("HOME", str(place.home))
    assert claims(place, text, asyncio.run(place.run(text))) == []


def test_there_are_enough_cases() -> None:
    assert len(BLOCKED) >= 40
    assert len(NOT_BLOCKED) >= 30


def test_a_command_that_was_stopped_is_not_judged(place: Place) -> None:
    for exited in (Exit(code=None, signal=9), Exit(code=None, timed_out=True)):
        assert claims(place, "touch ~/new", exited) == []


def test_blocked_connections_are_those_of_the_log(place: Place) -> None:
    log = DecisionLog()
    log.add("good.example", 443, "allowed")
    log.add("evil.example", 443, "blocked", "evil.example is not an allowed host")
    log.add("evil.example", 443, "blocked", "evil.example is not an allowed host")
    log.add("good.example", 22, "blocked", "port 22 is not 80 or 443")
    log.add("down.example", 443, "failed", "it did not answer")
    log.add("", 0, "blocked", "the host is empty")
    found = find_blocked("curl x", place.work, Exit(code=0), place.containment, log.since(0))
    assert [attempt.note for attempt in found] == [
        "Sandbox: blocked connection to evil.example:443",
        "Sandbox: blocked connection to good.example:22 (port 22 is not 80 or 443)",
        "Sandbox: blocked connection to an address it cannot read (the host is empty)",
    ]


def test_a_socket_is_named_if_it_exists_and_is_hidden(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    run = place.home / "run"
    run.mkdir()
    listener = socket.socket(socket.AF_UNIX)
    os.chdir(run)  # the path of a socket may be short only
    listener.bind("agent")
    monkeypatch.setenv("SSH_AUTH_SOCK", str(run / "agent"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{run / 'agent'}")
    hiding = Containment(writable=(place.work,), hidden=(run,))
    granted = Containment(writable=(place.work,), hidden=(run,), sockets=(run / "agent",))

    def subjects(text: str, code: int, containment: Containment) -> list[str]:
        found = find_blocked(text, place.work, Exit(code=code), containment)
        return [attempt.subject for attempt in found]

    agent = str(run / "agent")
    assert subjects("ssh-add -l", 2, hiding) == [agent]
    assert subjects("docker ps", 1, hiding) == [agent]
    assert subjects("ssh-add -l", 1, hiding) == []  # the agent has no keys
    assert subjects("docker --version", 0, hiding) == []
    assert subjects("ssh-add -l", 2, granted) == []
    listener.close()
    (run / "agent").unlink()
    assert subjects("ssh-add -l", 2, hiding) == []


# Commands, their exit codes and what is claimed, where ~/keys and ~/token are hidden.
READS: list[tuple[str, int, str]] = [
    ("cat ~/keys/id", 1, "keys/id"),
    ("cat -n ~/keys/id", 1, "keys/id"),
    ("cat ~/keys/id in", 1, "keys/id"),
    ("head -5 ~/keys/id", 1, "keys/id"),
    ("cat ~/keys/id | head", 0, "keys/id"),
    ("cat ~/keys/id || echo no", 0, "keys/id"),
    ("cat key-link/id", 1, "keys/id"),
    ("ls -la ~/keys", 0, "keys"),
    ("ls ~/keys/id", 2, "keys/id"),
    ("cat ~/token", 0, "token"),
    ("cat ~/keys/missing", 1, ""),
    ("cat ~/keys/id", 0, ""),
    ("cat --no-such-option ~/keys/id", 1, ""),
    ("cat ~/file", 1, ""),
    ("ls ~/token", 0, ""),
    ("false && cat ~/keys/id", 1, ""),
    ("echo ~/keys/id", 0, ""),
]


@pytest.mark.parametrize(("text", "code", "subject"), READS)
def test_a_read_of_a_hidden_file_is_named(place: Place, text: str, code: int, subject: str) -> None:
    keys, token = place.home / "keys", place.home / "token"
    keys.mkdir()
    (keys / "id").write_text("x")
    token.write_text("x")
    (place.work / "key-link").symlink_to(keys)
    hiding = Containment(writable=(place.work,), hidden=(keys, token))
    notes = [attempt.note for attempt in find_blocked(text, place.work, Exit(code=code), hiding)]
    wanted = f"Sandbox: blocked read of {place.home / subject} (it is hidden)"
    assert notes == ([wanted] if subject else [])


@pytest.mark.parametrize(
    ("text", "code", "subject"),
    [
        ("curl -sS https://example.com/x", 6, "example.com:443"),
        ("curl http://127.0.0.1:8000/", 7, "127.0.0.1:8000"),
        ("wget -q http://example.com/", 4, "example.com:80"),
        ("curl --no-such-option https://example.com/", 2, ""),
        ("curl https://example.com/", 0, ""),
        ("curl https://a.example/ https://b.example/", 6, ""),
    ],
)
def test_without_any_network_a_failed_connection_is_named(
    place: Place, text: str, code: int, subject: str
) -> None:
    cut_off = Containment(writable=(place.work,), has_hosts=False, has_localhost=False)
    found = find_blocked(text, place.work, Exit(code=code), cut_off)
    assert [attempt.subject for attempt in found] == ([subject] if subject else [])
    with_localhost = replace(cut_off, has_localhost=True)
    found = find_blocked(text, place.work, Exit(code=code), with_localhost)
    assert [attempt.subject for attempt in found] == (
        [subject] if subject and not subject.startswith("127") else []
    )
    assert find_blocked(text, place.work, Exit(code=code), place.containment) == []
