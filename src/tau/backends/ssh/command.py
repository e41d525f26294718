"""A running remote command: its output without our mark, and its exit status."""

import re
from collections.abc import Mapping
from contextlib import suppress

from msgspec import Struct

from tau.backends.ssh.hosts import SshHost
from tau.backends.ssh.info import HostInfo
from tau.base.errors import ToolError
from tau.base.late import late
from tau.base.run import QUIET, Exit, Process

asyncio = late("asyncio")

NO_FOLDER = b"cd"  # replaces the exit code if the folder is missing

# sshd gives each command its own process group. If a server does not, end only the script itself: the group
# would be the server's.
WATCHER = """\
end_all() { kill -s "$1" -- -$$ || kill -s "$1" $$; }
( trap '' HUP INT TERM; while read -r _; do :; done; end_all TERM; sleep 1; end_all KILL
) <&3 >/dev/null 3<&- &
watcher=$!
"""
# The login shell has already read its startup files: with SHLVL above 1, a second bash does not read them.
# Without the parentheses, some shells report in the output that a signal ended the command.
SCRIPT = """\
{{
{exports}
export SHLVL=2
exec 2>/dev/null 3<&0
finish() {{
    [ -z "$watcher" ] || kill -s KILL "$watcher"
    printf '\\036{nonce}:%s\\036' "$1"
    exit
}}
watcher=
{folder}
{watcher}( exec {shell} -c {command} </dev/null 2>&1 3<&- )
finish $?
}}
"""
LINGER_S = 0.25  # how long ssh may take to exit after the command
STATUS_BYTES = 8


class RemoteForm(Struct, frozen=True, kw_only=True):
    """`remote` is the command line, `script` its input. With `holds`, the input stays open."""

    remote: str
    script: bytes | None = None
    mark: bytes = b""  # precedes the exit code in the output, if the script reports it
    holds: bool = False


def build_form(
    info: HostInfo, host: SshHost, command: str, cwd: str | None, nonce: str, env: Mapping[str, str] = QUIET
) -> RemoteForm:
    """Prepare a command and its folder for the remote shell.

    A Unix host gets a script on standard input, and the command line is only `exec sh`, so no login shell has
    to parse our quotes. The script runs the command in the user's shell with stderr merged into stdout, and
    prints a mark when it ends, so background processes do not block us. Standard input stays open while we
    wait for the command. When it closes, because of an abort, a time limit or a lost connection, a remote
    watcher ends the command's whole process group.

    Windows shells get the command as text; there is no watcher, and ssh's own exit code counts.
    """
    compat = info.compat(host)
    if info.kind == "posix" or compat is not None:
        shell = compat or '"${SHELL:-sh}"'
        holds = info.os != "windows"
        exports = "\n".join(f"export {name}={quote_word(value)}" for name, value in env.items())
        folder = "" if cwd is None else f"CDPATH= cd -- {_home(cwd)} || finish {NO_FOLDER.decode()}"
        script = SCRIPT.format(
            exports=exports,
            nonce=nonce,
            folder=folder,
            watcher=WATCHER if holds else "",
            shell=shell,
            command=quote_word(command),
        )
        remote = "exec sh" if compat is None else f"{compat} -s"
        return RemoteForm(remote=remote, script=script.encode(), mark=f"\x1e{nonce}:".encode(), holds=holds)
    if cwd is None:
        return RemoteForm(remote=command)
    return RemoteForm(remote=_in_folder(info, command, cwd))


def _in_folder(info: HostInfo, command: str, cwd: str) -> str:
    """Prefix the command with a change of folder; nothing runs if the folder is missing."""
    if info.kind == "powershell":
        there = re.sub("(['\u2018-\u201b])", r"\1\1", cwd)  # PowerShell accepts all of these as single quotes
        return f"Set-Location -LiteralPath '{there}' -ErrorAction Stop; {command}"
    if info.kind == "cmd":
        if re.search(r'["%\r\n]', cwd):
            raise ToolError("`cwd` has characters the remote shell would expand; use cd in the command.")
        return f'(cd /d "{cwd}" || exit 1) & {command}'
    return f"cd -- {quote_word(cwd)} && {command}"


def quote_word(text: str) -> str:
    """Quote text as one word for a Unix shell."""
    return "'" + text.replace("'", "'\\''") + "'"


def _home(cwd: str) -> str:
    """Quote a folder; a leading `~` is the remote user's home."""
    if cwd == "~" or cwd.startswith("~/"):
        return f'"$HOME"{quote_word(cwd[1:])}'
    return quote_word(cwd)


class RemoteCommand:
    """A context manager: leaving it early ends the command, also on the remote side where possible."""

    def __init__(self, process: Process, form: RemoteForm) -> None:
        self._process = process
        self._form = form
        self._held = b""
        self._status: bytes | None = None
        self._ended = False

    async def __aenter__(self) -> "RemoteCommand":
        await self._process.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        await self._process.__aexit__(kind, *rest)

    async def send_script(self) -> None:
        if self._form.script is not None:
            with suppress(BrokenPipeError):  # ssh has already exited with an error
                await self._process.write(self._form.script)
                if not self._form.holds:
                    await self._process.end_input()

    async def read(self) -> bytes:
        """Return the next chunk of output, empty at the end."""
        output = self._process.output()
        while not self._ended:
            try:
                chunk = await anext(output)
            except StopAsyncIteration:
                self._ended = True
                rest, self._held = self._held, b""
                return rest
            if text := self._without_mark(chunk):
                return text
        return b""

    async def wait(self) -> Exit:
        """Return the exit status; read the output first. If `lost`, it is that of the local ssh."""
        if self._status is None:
            return await self._process.wait()
        try:
            async with asyncio.timeout(LINGER_S):
                await self._process.wait()
        except TimeoutError:  # a background process keeps the channel open
            await self._process.kill()
        return Exit(code=int(self._status) if self._status.isdigit() else 1)

    @property
    def lost(self) -> bool:
        """Whether the output ended before the command did, as far as that is known."""
        return bool(self._form.mark) and self._ended and self._status is None

    @property
    def folder_missing(self) -> bool:
        """Whether nothing ran because the folder is missing."""
        return self._status == NO_FOLDER

    def _without_mark(self, chunk: bytes) -> bytes:
        """Return output that cannot be part of the mark; stop reading after the mark."""
        mark = self._form.mark
        if not mark:
            return chunk
        data = self._held + chunk
        at = data.find(mark)
        if at >= 0:
            status, closed, _ = data[at + len(mark) :].partition(b"\x1e")
            if closed or len(status) > STATUS_BYTES:
                self._status, self._ended, self._held = status, True, b""
                return data[:at]
        else:
            at = _partial(data, mark)
        self._held = data[at:]
        return data[:at]


def _partial(data: bytes, mark: bytes) -> int:
    """Return where a partial mark may begin at the end of `data`, or its length."""
    for at in range(max(len(data) - len(mark) + 1, 0), len(data)):
        if mark.startswith(data[at:]):
            return at
    return len(data)
