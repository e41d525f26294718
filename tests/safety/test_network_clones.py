"""`git clone` works like a fetch: after one question per host, with the user's keys, running nothing."""

import asyncio
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tau.coding.shell.git_clone_commands import clone_argv, read_clone
from tau.config.paths import user_paths
from tests.safety.contained_rig import ScriptedUi, contained_shell
from tests.safety.sandbox_rig import ENGINES, GIT_ENV, require
from tests.safety.test_network_clients import QuietFiles
from tests.support.free_ports import free_port
from tests.support.idle import until
from tests.support.limits import HANG_S
from tests.support.soak import part

OUTSIDE = {
    "git clone https://good.example/a/x.git": "x",
    "git clone git@good.example:a/x.git": "x",
    "git clone ssh://git@good.example:22/a/x": "x",
    "git clone --depth 1 -b main https://good.example/x new": "new",
    "git clone --branch=v1.0 --single-branch https://good.example/x.git/": "x",
    "cd sub && git clone -q https://good.example/x": "sub/x",
}
INSIDE = """
git clone ../x
git clone /srv/x
git clone file:///srv/x
git clone ext::sh
git clone -c core.fsmonitor=x https://good.example/x
git clone --config=core.fsmonitor=x https://good.example/x
git clone -u x https://good.example/x
git clone --upload-pack=x https://good.example/x
git clone --template=x https://good.example/x
git clone --recurse-submodules https://good.example/x
git clone --reference=x https://good.example/x
git clone --separate-git-dir=x https://good.example/x
git clone --depth=-x https://good.example/x
git clone -b --upload-pack=x https://good.example/x
git clone ssh://-oProxyCommand=x/y
git clone https://good.example/x && make
git clone https://good.example/x > log
git clone https://good.example/..
GIT_SSH_COMMAND=x git clone https://good.example/x
git -c a=b clone https://good.example/x
git clone $URL
git clone 'https://evil.example?@good.example/x'
git clone 'https://evil.example:443?@good.example/x'
git clone 'https://evil.example#@good.example/x'
git clone 'https://evil.example\\@good.example/x'
git clone https://evil.example@evil.example@good.example/x
git clone ssh://a@-oProxyCommand=x/y
git clone https://good.example/x a b
""".strip().splitlines()


@pytest.mark.parametrize("text", OUTSIDE)
def test_plain_clones_are_recognized(text: str, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    clone = read_clone(text, tmp_path)
    assert clone is not None
    assert clone.folder == tmp_path / OUTSIDE[text]
    assert clone.host == "good.example"
    argv = clone_argv(clone, "git", tmp_path / "private")
    assert {"core.hooksPath=/dev/null", "--no-checkout", "--template="} <= set(argv)


@pytest.mark.parametrize("text", INSIDE)
def test_other_clones_stay_inside(text: str, tmp_path: Path) -> None:
    assert read_clone(text, tmp_path) is None


def run(*words: str, cwd: Path) -> None:
    done = subprocess.run(words, cwd=cwd, env={**os.environ, **GIT_ENV}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def served(tmp_path: Path) -> Path:
    """A repository whose checkout would run a program, if anything in it could say so."""
    source, served = tmp_path / "source", tmp_path / "served"
    source.mkdir()
    run("git", "init", "-q", "-b", "main", cwd=source)
    (source / "a.txt").write_text("one\n")
    (source / ".gitattributes").write_text("* filter=evil\n")
    run("git", "add", ".", cwd=source)
    run("git", "commit", "-qm", "first", cwd=source)
    served.mkdir()
    run("git", "clone", "-q", "--bare", str(source), str(served / "x.git"), cwd=tmp_path)
    run("git", "update-server-info", cwd=served / "x.git")
    (tmp_path / "work").mkdir()
    return tmp_path


@pytest.fixture
def https(served: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    key, certificate = served / "key.pem", served / "certificate.pem"
    words = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext"
    run(
        *words.split(),
        *("subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)),
        cwd=served,
    )
    handler: partial[SimpleHTTPRequestHandler] = partial(QuietFiles, directory=str(served / "served"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setenv("GIT_SSL_CAINFO", str(certificate))
    yield f"https://127.0.0.1:{server.server_port}/x.git"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def ssh(served: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    if sshd is None or shutil.which("ssh") is None:
        pytest.skip("sshd is not installed")
    keys = Path(os.environ["HOME"]) / ".ssh"
    keys.mkdir(mode=0o700)
    for name in ("host", "id"):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(keys / name), cwd=served)
    (keys / "authorized_keys").write_text((keys / "id.pub").read_text())
    port = free_port()
    settings = [f"HostKey={keys / 'host'}", f"AuthorizedKeysFile={keys / 'authorized_keys'}"]
    settings += ["StrictModes=no", "UsePAM=no", "PidFile=none", f"ListenAddress=127.0.0.1:{port}"]
    words = [sshd, "-D", "-e", "-f", "/dev/null", *(word for one in settings for word in ("-o", one))]
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    (keys / "known_hosts").write_text(f"[127.0.0.1]:{port} {(keys / 'host.pub').read_text()}")
    daemon = subprocess.Popen(words, stderr=subprocess.DEVNULL)

    def answers() -> bool:
        assert daemon.poll() is None
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    options = f"-F /dev/null -i {keys / 'id'} -o UserKnownHostsFile={keys / 'known_hosts'}"
    monkeypatch.setenv("GIT_SSH_COMMAND", f"ssh {options}")
    try:
        asyncio.run(until(answers, HANG_S, lambda: "sshd does not listen"))
        yield f"ssh://127.0.0.1:{port}{served / 'served' / 'x.git'}"
    finally:
        daemon.terminate()
        daemon.wait()


def clone_and_look(place: Path, url: str, ui: ScriptedUi, engine: str = "auto") -> str:
    async def main() -> str:
        async with contained_shell(place / "work", ui, engine=engine) as rig:
            for name in ("one", "two"):
                output = await rig.output(f"git clone {url} {name}")
                assert not output.is_error, output
            return await rig.run("cat two/a.txt; cd two; git log --format=%s; git remote get-url origin")

    return asyncio.run(main())


@pytest.mark.parametrize("engine", part(ENGINES, 0, 3))
def test_clone_over_https_works_after_one_question(served: Path, https: str, engine: str) -> None:
    require(engine)
    ui = ScriptedUi(1)
    assert clone_and_look(served, https, ui, engine) == f"one\nfirst\n{https}\n"
    assert [title for title, _ in ui.asked] == [f"git clone needs the network and your keys: {https}"]
    assert ui.asked[0][1][0] == "No"


@pytest.mark.parametrize("engine", part(ENGINES, 1, 3))
def test_clone_over_ssh_works_with_keys_that_commands_cannot_read(
    served: Path, ssh: str, engine: str
) -> None:
    require(engine)
    ui = ScriptedUi(1)
    assert clone_and_look(served, ssh, ui, engine) == f"one\nfirst\n{ssh}\n"
    assert len(ui.asked) == 1


def test_clone_of_a_local_repository_needs_no_question(served: Path) -> None:
    ui = ScriptedUi()
    source = served / "work" / "source"
    shutil.copytree(served / "source", source)
    assert clone_and_look(served, str(source), ui) == f"one\nfirst\n{source}\n"
    assert ui.asked == []


def test_clone_runs_no_filter_and_no_hook_outside(
    served: Path, https: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran, home = served / "ran", Path(os.environ["HOME"])
    template = home / "template/hooks"
    template.mkdir(parents=True)
    for name in ("post-checkout", "reference-transaction"):
        (template / name).write_text(f"#!/bin/sh\necho {name} >> {ran}\n")
        (template / name).chmod(0o755)
    (home / ".gitconfig").write_text(
        f'[init]\n\ttemplateDir = {template.parent}\n[filter "evil"]\n\tsmudge = "touch {ran}; cat"\n'
    )
    assert clone_and_look(served, https, ScriptedUi(1)).startswith("one\n")
    assert not ran.exists()  # inside, the user's filter ran but could not write there


def test_refused_clone_stays_inside(served: Path, https: str) -> None:
    async def main() -> str:
        async with contained_shell(served / "work", ScriptedUi(0, 0)) as rig:
            return await rig.run(f"git clone {https} one")

    text = asyncio.run(main())
    assert "this clone stayed inside, because 127.0.0.1 was not allowed" in text
    assert not (served / "work/one/.git").exists()


def test_clone_into_a_folder_with_files_says_what_git_says(served: Path, https: str) -> None:
    (served / "work/full").mkdir()
    (served / "work/full/file").touch()
    ui = ScriptedUi()

    async def main() -> str:
        async with contained_shell(served / "work", ui) as rig:
            return await rig.run(f"git clone {https} full")

    assert "already exists and is not an empty directory" in asyncio.run(main())
    assert ui.asked == []


@pytest.mark.parametrize("engine", part(ENGINES, 2, 3))
def test_no_command_redirects_what_a_clone_brings(served: Path, https: str, engine: str) -> None:
    """The name of the folder can be seen while the clone runs."""
    require(engine)
    outside = served / "outside"
    outside.mkdir()
    caches = user_paths().cache / "sandbox"
    plant = f"for d in {caches}/*/clone-*; do ln -sn {outside} $TMPDIR/${{d##*/}}; done"

    async def main() -> None:
        async with contained_shell(served / "work", ScriptedUi(1), engine=engine) as rig:
            await rig.run(f"(while :; do {plant}; done) >/dev/null 2>&1 &")
            await rig.run(f"git clone {https} one")

    asyncio.run(main())
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("engine", part(ENGINES, 0, 3))
def test_no_command_redirects_a_clone_that_is_copied(
    served: Path, https: str, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    require(engine)
    outside, memory = served / "outside", Path("/dev/shm")
    outside.mkdir()
    if not memory.is_dir() or memory.stat().st_dev == served.stat().st_dev:
        pytest.skip("there is no other file system for temporary files")
    plant = f"for d in $TMPDIR/clone-*/; do mv $d/.git $d/old && ln -s {outside} $d/.git; done"

    async def main() -> str:
        async with contained_shell(served / "work", ScriptedUi(1), engine=engine) as rig:
            await rig.run(f"git clone {https} one")
            await rig.run(f"(while :; do {plant}; done) >/dev/null 2>&1 &")
            await rig.run(f"git clone {https} two")
            return await rig.run("cat one/a.txt")

    with tempfile.TemporaryDirectory(dir=memory) as temporary:
        monkeypatch.setenv("TMPDIR", temporary)
        monkeypatch.setattr(tempfile, "tempdir", None)
        assert asyncio.run(main()) == "one\n"
        assert list(Path(temporary).iterdir()) == []
    assert list(outside.iterdir()) == []
