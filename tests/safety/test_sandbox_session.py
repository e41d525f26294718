"""A session's sandbox: entered once, shared by all commands, gone with tau; debuggers and servers work."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from tau.backends.sandbox import engines
from tau.backends.sandbox.session import SessionSandbox
from tau.backends.shell.session import ShellSession
from tau.base.errors import ToolError
from tau.base.run import LocalRunner, Pty, capture
from tests.safety.sandbox_rig import ENGINES, SECRET, Inside, Place, in_sandbox, require
from tests.support.limits import HANG_S

MOUNTING = tuple(engine.name for engine in engines.ENGINES if "localhost" in engine.promises)
SERVE = "python3 -m http.server 8765 --bind 127.0.0.1 >/dev/null 2>&1 & echo started"
FETCH = (
    'for i in $(seq 100); do python3 -c "import urllib.request as u; '
    "print(u.urlopen('http://127.0.0.1:8765/a.txt').read())\" 2>/dev/null && break; sleep 0.1; done"
)


@pytest.mark.parametrize("engine", MOUNTING)
def test_server_of_one_command_answers_the_next_and_us(tmp_path: Path, engine: str) -> None:
    place = Place(tmp_path)
    (place.project / "a.txt").write_text("hello")

    async def work(inside: Inside) -> tuple[str, bytes]:
        async with ShellSession(inside.runner, cwd=place.project) as shell:
            for command in (SERVE, FETCH):
                started = await shell.start(command)
                async with started.process as process:
                    text = (await capture(process)).output.decode()
            [sock] = await inside.sandbox.make_sockets()
            with sock:
                loop = asyncio.get_running_loop()
                await loop.sock_connect(sock, ("127.0.0.1", 8765))
                await loop.sock_sendall(sock, b"GET /a.txt HTTP/1.0\r\n\r\n")
                answer = b""
                while part := await loop.sock_recv(sock, 4096):
                    answer += part
            return text, answer

    text, answer = in_sandbox(place, work, engine)
    assert "hello" in text
    assert answer.endswith(b"hello")


@pytest.mark.parametrize("engine", MOUNTING)
def test_we_serve_a_socket_that_is_inside(tmp_path: Path, engine: str) -> None:
    async def work(inside: Inside) -> str:
        server = await inside.sandbox.listen()
        port = server.getsockname()[1]

        async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"from outside")
            writer.close()

        async with await asyncio.start_server(answer, sock=server):
            code = f"import socket; print(socket.create_connection(('127.0.0.1', {port})).recv(99))"
            text = await inside.text([sys.executable, "-c", code])
            with closing(socket.socket()) as outside, pytest.raises(OSError, match="refused"):
                outside.connect(("127.0.0.1", port))
            return text

    assert "from outside" in in_sandbox(Place(tmp_path), work, engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_program_in_a_terminal(tmp_path: Path, engine: str) -> None:
    async def work(inside: Inside) -> str:
        code = (
            "import os; print(os.isatty(0), os.ttyname(0), os.get_terminal_size().columns); open('/dev/tty')"
        )
        process = await inside.runner.start(
            [sys.executable, "-c", code], cwd=inside.place.project, terminal=Pty(columns=91)
        )
        async with process:
            return (await capture(process)).output.decode()

    text = in_sandbox(Place(tmp_path), work, engine)
    assert text.startswith("True /dev/pts/") and " 91" in text and "Error" not in text


@pytest.mark.parametrize("engine", ENGINES)
def test_exit_codes_signals_and_missing_programs(tmp_path: Path, engine: str) -> None:
    place = Place(tmp_path)

    async def work(inside: Inside) -> None:
        assert (await inside.run("exit 7")).exit.code == 7
        assert (await inside.run("kill -9 $$")).exit.signal == 9
        with pytest.raises(FileNotFoundError) as missing:
            await inside.run(["no-such-program"])
        assert missing.value.filename == "no-such-program"
        with pytest.raises(FileNotFoundError) as nowhere:
            await inside.run(["true"], cwd=place.project / "nowhere")
        assert nowhere.value.filename == str(place.project / "nowhere")
        assert (
            await inside.text(
                "cat",
            )
        ) == ""
        async with await inside.runner.start(["cat"], cwd=place.project, stdin=b"data") as process:
            assert (await capture(process)).output == b"data"

    in_sandbox(place, work, engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_stopped_command_ends_with_its_children(tmp_path: Path, engine: str) -> None:
    async def work(inside: Inside) -> set[str]:
        process = await inside.runner.start(
            "trap '' TERM; sleep 1000 & setsid sleep 1000 & echo up; sleep 1000", cwd=inside.place.project
        )
        async with process:
            async for chunk in process.output():
                assert chunk == b"up\n"
                break
            await process.kill(grace=0.1)
        return await sleepers(inside)

    assert in_sandbox(Place(tmp_path), work, engine) == set()


async def sleepers(inside: Inside) -> set[str]:
    """Processes of this test's home that sleep, seen from outside."""
    mark = f"HOME={inside.place.home}".encode()
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if words[0] == b"sleep" and mark in (folder / "environ").read_bytes().split(b"\0"):
                found.add(folder.name)
        except OSError:
            continue
    return found


@pytest.mark.parametrize("engine", MOUNTING)
def test_first_process_cannot_be_killed_from_inside(tmp_path: Path, engine: str) -> None:
    async def work(inside: Inside) -> str:
        await inside.run("kill -9 1; kill -STOP 1; kill -TERM 1; kill -INT 1; kill -9 -1")
        return await inside.text("echo still here")

    assert in_sandbox(Place(tmp_path), work, engine) == "still here\n"


@pytest.mark.parametrize("engine", MOUNTING)
@pytest.mark.parametrize("tool", ["strace", "gdb"])
def test_debuggers_work(tmp_path: Path, engine: str, tool: str) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    commands = {
        "strace": "strace -f -e trace=openat cat a.txt 2>&1 | grep -c a.txt",
        "gdb": "gdb -q -batch -ex run $(which true) 2>&1 | grep -c 'exited normally'",
    }
    place = Place(tmp_path)
    (place.project / "a.txt").write_text("x")

    async def work(inside: Inside) -> str:
        return await inside.text(commands[tool])

    assert int(in_sandbox(place, work, engine).splitlines()[-1]) >= 1


KILLED = """
import asyncio, sys
from pathlib import Path
from tau.backends.sandbox.session import SandboxOptions, SessionSandbox
from tau.base.run import LocalRunner
async def main():
    project = Path(sys.argv[2])
    caches = project.parent / "caches"
    options = SandboxOptions(roots=(project,), caches=caches, engine=sys.argv[1], mode="required")
    async with SessionSandbox(options, LocalRunner()) as sandbox:
        runner = LocalRunner(sandbox=sandbox)
        async with await runner.start("setsid sleep 1000 & sleep 1000", cwd=project) as process:
            print(sandbox.temporary_folder(), flush=True)
            await process.wait()
asyncio.run(main())
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_sandbox_ends_when_tau_is_killed(tmp_path: Path, engine: str) -> None:
    require(engine)
    place = Place(tmp_path)
    env = {**os.environ, "HOME": str(place.home)}
    command = [sys.executable, "-c", KILLED, engine, str(place.project)]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as tau:
        assert tau.stdout is not None
        temporary = Path(tau.stdout.readline().strip())
        tau.send_signal(signal.SIGKILL)
    inside = Inside(place, None, None)  # type: ignore[arg-type]
    end = time.monotonic() + HANG_S
    while asyncio.run(sleepers(inside)) or temporary.exists():
        assert time.monotonic() < end, "processes or files are left"
        time.sleep(0.05)


def test_session_that_runs_nothing_starts_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path)

    async def main() -> None:
        async with SessionSandbox(place.options(), LocalRunner()) as sandbox:
            assert not sandbox.contained

    temporary = tmp_path / "temporary"
    temporary.mkdir()
    os.environ["TMPDIR"] = str(temporary)  # others use /tmp meanwhile
    asyncio.run(main())
    assert not place.caches.exists()
    assert list(temporary.iterdir()) == []


def test_without_an_engine_commands_run_with_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "ENGINES", ())
    place, told = Place(tmp_path), list[str]()

    async def main(mode: str) -> bytes:
        options = place.options()
        outside = LocalRunner()
        changed = type(options)(roots=options.roots, caches=options.caches, mode=mode)  # type: ignore[arg-type]
        async with SessionSandbox(changed, outside, warn=told.append) as sandbox:
            runner = LocalRunner(sandbox=sandbox)
            for _ in range(2):
                async with await runner.start("echo ran", cwd=place.project) as process:
                    output = (await capture(process)).output
            assert not runner.contained
            return output

    assert asyncio.run(main("auto")) == b"ran\n"
    assert len(told) == 1 and "not contained" in told[0]
    with pytest.raises(ToolError, match="No command can run"):
        asyncio.run(main("required"))


def test_sandbox_that_ended_is_started_again(tmp_path: Path) -> None:
    async def work(inside: Inside) -> str:
        assert inside.sandbox._process is not None
        os.killpg(inside.sandbox._process.pid, signal.SIGKILL)
        await inside.sandbox._process.wait()
        return await inside.text("echo again; touch /outside 2>&1")

    text = in_sandbox(Place(tmp_path), work)
    assert text.startswith("again\n") and "touch" in text


@pytest.mark.parametrize("engine", MOUNTING)
def test_caches_are_the_workspaces_own(tmp_path: Path, engine: str) -> None:
    place = Place(tmp_path)
    (place.home / ".cache/shared").write_text("of the user")

    async def work(inside: Inside) -> str:
        return await inside.text("ls ~/.cache; echo mine > ~/.cache/own; ls ~/.cache")

    assert in_sandbox(place, work, engine) == "own\n"
    assert in_sandbox(place, work, engine) == "own\nown\n"
    assert [path.name for path in (place.home / ".cache").iterdir()] == ["shared"]


@pytest.mark.parametrize("engine", MOUNTING)
def test_rules_of_the_user_count(tmp_path: Path, engine: str) -> None:
    place = Place(tmp_path)
    (place.home / "private").mkdir()
    (place.home / "private/x").write_text("x")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place.home / "allowed.sock"))
        server.listen()

        async def work(inside: Inside) -> str:
            code = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1]); print('in')"
            text = await inside.text(f"touch {place.outside}/new && echo wrote; ls {place.home}/private")
            return text + await inside.text([sys.executable, "-c", code, str(place.home / "allowed.sock")])

        rules = {
            "write": (str(place.outside),),
            "hide": ("~/private",),
            "sockets": (str(place.home / "allowed.sock"),),
        }
        assert in_sandbox(place, work, engine, **rules) == "wrote\nin\n"


@pytest.mark.parametrize("engine", ENGINES)
def test_home_as_workspace_keeps_what_runs_at_login(tmp_path: Path, engine: str) -> None:
    """Neither startup files nor tau's settings can be changed; keys stay hidden."""
    place = Place(tmp_path)
    settings = place.home / ".tau/settings.json"
    settings.write_text("{}")
    place.project = place.home

    async def work(inside: Inside) -> str:
        return await inside.text(
            "for f in ~/.bashrc ~/.tau/settings.json; do echo evil >> $f; done; cat ~/.ssh/*; "
            "echo fine > outside/ordinary && cat outside/ordinary"
        )

    assert in_sandbox(place, work, engine).endswith("fine\n")
    assert settings.read_text() == "{}"
    assert (place.home / ".bashrc").read_text() == "# mine\n"


@pytest.mark.parametrize("engine", ENGINES)
def test_home_in_the_workspace_does_not_stop_an_engine(tmp_path: Path, engine: str) -> None:
    place = Place(tmp_path)
    place.project = tmp_path

    async def work(inside: Inside) -> str:
        return await inside.text("cat ~/.ssh/id_ed25519; echo evil >> ~/.bashrc; echo ran")

    text = in_sandbox(place, work, engine)
    assert SECRET not in text and "ran" in text
    assert (place.home / ".bashrc").read_text() == "# mine\n"


@pytest.mark.parametrize("engine", ENGINES)
def test_new_startup_file_is_disabled(tmp_path: Path, engine: str) -> None:
    """Where the home folder is the workspace, a command could create what the user does not have yet."""
    place = Place(tmp_path)
    place.project = place.home
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "fish").mkdir(parents=True)
    (place.home / ".zshrc.disabled").write_text("older")

    async def work(inside: Inside) -> list[str]:
        await inside.run(f"echo evil > ~/.zshrc; ln -s {elsewhere} ~/.config; echo fine > ~/ordinary")
        return inside.sandbox.check_repositories() + inside.sandbox.check_repositories()

    notes = in_sandbox(place, work, engine)
    if engine == "landlock":  # where nothing can be created next to a hidden folder
        assert notes == [] and not (place.home / ".zshrc").exists()
        return
    [link, note] = notes
    assert link.startswith(f"New startup file: {place.home}/.config. It is disabled")
    assert (place.home / ".config.disabled").is_symlink()
    assert note.startswith(
        f"New startup file: {place.home}/.zshrc. It is disabled; to keep it, rename .zshrc-"
    )
    assert not (place.home / ".zshrc").exists() and (place.home / "ordinary").exists()
    assert (place.home / ".zshrc.disabled").read_text() == "older" and (elsewhere / "fish").exists()


def test_a_sandbox_that_worked_and_cannot_start_again_lets_no_command_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(inside: Inside) -> str:
        inside.sandbox.options = replace(inside.sandbox.options, mode="auto")
        assert await inside.text("echo contained") == "contained\n"
        assert inside.sandbox._process is not None
        os.killpg(inside.sandbox._process.pid, signal.SIGKILL)
        await inside.sandbox._process.wait()
        monkeypatch.setattr(engines, "ENGINES", ())
        with pytest.raises(ToolError, match="No command can run"):
            await inside.text("touch /var/tmp/outside")
        return "refused"

    place = Place(tmp_path)
    assert in_sandbox(place, work) == "refused"
