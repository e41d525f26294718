"""The form of a command for each remote shell, and parsing the answers of a host."""

import asyncio
import shutil
from pathlib import Path

import pytest

from tau.backends.ssh.arguments import command_argv, master_argv
from tau.backends.ssh.command import RemoteCommand, RemoteForm, build_form
from tau.backends.ssh.hosts import SshHost
from tau.backends.ssh.info import ASK_UNIX, ASK_WINDOWS, HostInfo, InfoCache, probe
from tau.base.errors import ToolError
from tau.base.run import LocalRunner

HOST = SshHost(name="box", address="h")
CMD = HostInfo(target="h", os="windows", shell="cmd")
POWERSHELL = HostInfo(target="h", os="windows", shell="powershell")
WITH_BASH = HostInfo(target="h", os="windows", shell="cmd", compat_shell="bash")
UNKNOWN = HostInfo(target="h")


def remote(info: HostInfo, command: str, cwd: str | None = None, host: SshHost = HOST) -> str:
    form = build_form(info, host, command, cwd, "n")
    assert form.script is None and not form.holds
    return form.remote


def test_windows_shells_get_the_command_as_text() -> None:
    for info in (CMD, POWERSHELL, UNKNOWN):
        assert remote(info, "dir & ver") == "dir & ver"
    assert remote(CMD, "dir", r"C:\a b") == r'(cd /d "C:\a b" || exit 1) & dir'
    assert remote(POWERSHELL, "dir", "C:\\it's \u2019") == (
        "Set-Location -LiteralPath 'C:\\it''s \u2019\u2019' -ErrorAction Stop; dir"
    )
    assert remote(UNKNOWN, "ls", "it's") == r"cd -- 'it'\''s' && ls"


@pytest.mark.parametrize("cwd", ['a" & del x & "', "%PATH%", "a\nb"])
def test_folder_that_cmd_would_misread_is_refused(cwd: str) -> None:
    with pytest.raises(ToolError, match="use cd in the command"):
        build_form(CMD, HOST, "dir", cwd, "n")


def test_bash_on_windows_is_used_unless_disabled() -> None:
    form = build_form(WITH_BASH, HOST, "ls", "/c/x", "n")
    assert form.remote == "bash -s" and form.script is not None and not form.holds
    assert b"bash -c 'ls'" in form.script and b"watcher=$!" not in form.script
    assert remote(WITH_BASH, "dir", None, SshHost(name="box", address="h", compat=False)) == "dir"


def test_every_ssh_option_is_explicit() -> None:
    host = SshHost(name="box", address="::1", user="me", port=2222, key=Path("/k/100%"))
    words = command_argv(host, "/s", "ls")
    assert words[-3:] == ["--", "::1", "ls"]
    text = " ".join(words)
    for option in ("BatchMode=yes", "StrictHostKeyChecking=accept-new", "RequestTTY=no", "-i /k/100%%"):
        assert option in text
    assert "-l me -p 2222" in text and "IdentitiesOnly=yes" in text
    assert "ForwardAgent" not in text
    assert "-N -M -S /s" in " ".join(master_argv(host, "/s"))
    assert "-S none" in " ".join(command_argv(host, None, "ls"))
    stranger = SshHost(name="box", address="h", own=False)
    assert "ForwardAgent=no" in command_argv(stranger, "/s", "ls")


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["Linux\n/bin/bash\n"], ("linux", "bash", None)),
        (["Welcome!\r\nDarwin\r\n/bin/zsh\r\n"], ("macos", "zsh", None)),
        (["FreeBSD\n/bin/tcsh\n"], ("unix", "tcsh", None)),
        (["MINGW64_NT-10.0\n/usr/bin/bash\n"], ("windows", "bash", None)),
        (
            ["'uname' is not recognized", '"os=Windows_NT,$env:OS."', "tau-compat\n"],
            ("windows", "cmd", "bash"),
        ),
        (["uname : ...", "os=%OS%,Windows_NT.", "no", "tau-compat"], ("windows", "powershell", "sh")),
        (["uname : ...", "os=%OS%,Windows_NT.", "no", "no"], ("windows", "powershell", None)),
        (["% Invalid input", "% Invalid input"], ("unknown", "", None)),
    ],
)
def test_host_is_identified_by_its_answers(answers: list[str], expected: tuple[str, str, str | None]) -> None:
    asked: list[str] = []

    async def ask(command: str) -> str:
        asked.append(command)
        return answers[len(asked) - 1]

    info = asyncio.run(probe(HOST, ask))
    assert (info.os, info.shell, info.compat_shell) == expected
    assert len(asked) == len(answers)
    assert asked[:2] == [ASK_UNIX, ASK_WINDOWS][: len(asked)]


def test_host_facts_are_cached_until_the_host_changes(tmp_path: Path) -> None:
    info = HostInfo(target="h", os="linux", shell="bash")
    InfoCache(tmp_path / "cache").put(HOST, info)
    cache = InfoCache(tmp_path / "cache")
    assert cache.get(HOST) == info and str(info) == "linux, bash"
    assert cache.get(SshHost(name="box", address="other")) is None
    file = tmp_path / "cache" / "box.json"
    assert file.stat().st_mode & 0o077 == 0
    for content in (b"{", file.read_bytes().replace(b'"version":2', b'"version":1'), b"\xff"):
        file.write_bytes(content)
        assert InfoCache(tmp_path / "cache").get(HOST) is None
    cache.put(HOST, HostInfo(target="h"))
    assert InfoCache(tmp_path / "cache").get(HOST) is None
    cache.forget(HOST)
    assert cache.get(HOST) is None and not file.exists()


def read_local(command: str, form: RemoteForm, *, chunks: bool = False) -> tuple[bytes, int | None, bool]:
    """The output of a local process, treated as if it came from a host."""

    async def main() -> tuple[bytes, int | None, bool]:
        runner = LocalRunner(shell="/bin/sh")
        process = await runner.start(command, cwd=Path("/"), stdin="open" if form.script else None)
        async with RemoteCommand(process, form) as running:
            await running.send_script()
            output = b""
            while chunk := await running.read():
                output += chunk
            exited = await running.wait()
            return output, exited.code, running.lost

    return asyncio.run(main())


def test_end_mark_is_found_in_chunks_and_hidden() -> None:
    form = RemoteForm(remote="", mark=b"\x1eabc:")
    pieces = ("one\\036ab", "x\\036ab", "c:", "7\\036")
    slow = "; sleep 0.1; ".join(f"printf '{piece}'" for piece in pieces)
    assert read_local(slow, form) == (b"one\x1eabx", 7, False)
    assert read_local("printf 'one\\036ab'; exit 3", form) == (b"one\x1eab", 3, True)
    assert read_local("printf 'one\\036abc:'; exit 3", form)[1:] == (3, True)
    assert read_local("echo hi; exit 4", RemoteForm(remote="")) == (b"hi\n", 4, False)


@pytest.mark.parametrize("shell", ["sh", "bash", "zsh", "mksh", "busybox sh"])
def test_script_runs_in_every_unix_shell(shell: str) -> None:
    if shutil.which(shell.split()[0]) is None:
        pytest.skip(f"{shell} is not installed")
    linux = HostInfo(target="h", os="linux", shell="bash")
    form = build_form(linux, HOST, "printf 'it''s %s\\n' \"$PWD\" >&2; exit 5", "/usr", "abc")
    assert read_local(shell, form) == (b"its /usr\n", 5, False)
    missing = build_form(linux, HOST, "echo no", "/usr/nowhere", "abc")
    assert read_local(shell, missing) == (b"", 1, False)
