"""Prepares a command and its folder for the remote shell.

A Unix host gets a script on standard input, and the command line is only `exec sh`, so no login shell has to
parse our quotes. The script runs the command in the user's shell with stderr merged into stdout, and prints a
mark when it ends, so background processes do not block us. Standard input stays open while we wait for the
command. When it closes, because of an abort, a time limit or a lost connection, a remote watcher ends the
command's whole process group.

Windows shells get the command as text; there is no watcher, and ssh's own exit code counts.
"""

import re
from collections.abc import Mapping

from msgspec import Struct

from tau.backends.ssh.hosts import SshHost
from tau.backends.ssh.info import HostInfo
from tau.base.errors import ToolError
from tau.base.run import QUIET

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


class Form(Struct, frozen=True, kw_only=True):
    """`remote` is the command line, `script` its input. With `holds`, the input stays open."""

    remote: str
    script: bytes | None = None
    mark: bytes = b""  # precedes the exit code in the output, if the script reports it
    holds: bool = False


def build_form(
    info: HostInfo, host: SshHost, command: str, cwd: str | None, nonce: str, env: Mapping[str, str] = QUIET
) -> Form:
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
        return Form(remote=remote, script=script.encode(), mark=f"\x1e{nonce}:".encode(), holds=holds)
    if cwd is None:
        return Form(remote=command)
    return Form(remote=_in_folder(info, command, cwd))


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
