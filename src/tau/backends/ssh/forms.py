"""A command in the form that a remote shell takes, with its folder.

A Unix host is sent a script on standard input, and the command line is only `exec sh`: no login shell has to
understand our quotes. The script runs the command in the user's shell, with both channels as one, and says in
the output when it has ended: what it left in the background does not hold us. Standard input stays open
as long as somebody waits for the command. When it ends, because of an abort, a time limit or a lost
connection, a watcher on the far side ends the command's whole process group.

Windows shells are given the command as text; there is no watcher, and ssh's own exit code counts.
"""

import re
from collections.abc import Mapping

from msgspec import Struct

from tau.backends.ssh.hosts import SshHost
from tau.backends.ssh.info import HostInfo
from tau.base.errors import ToolError
from tau.base.run import QUIET

NO_FOLDER = b"cd"  # what stands in the place of the exit code when the folder is not there

# sshd gives each command a process group of its own. Where a server does not, only the script itself is
# ended: the group would be the server's.
WATCHER = """\
end_all() { kill -s "$1" -- -$$ || kill -s "$1" $$; }
( trap '' HUP INT TERM; while read -r _; do :; done; end_all TERM; sleep 1; end_all KILL
) <&3 >/dev/null 3<&- &
watcher=$!
"""
# The login shell has read its files already: a second bash with a number above 1 does not do it again.
# Without the parentheses some shells write into the output that a signal ended the command.
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
    """`remote` is the command line, `script` what is sent to it. With `holds` its input stays open."""

    remote: str
    script: bytes | None = None
    mark: bytes = b""  # in the output before the exit code, if the script says it
    holds: bool = False


def form_of(
    info: HostInfo, host: SshHost, command: str, cwd: str | None, nonce: str, env: Mapping[str, str] = QUIET
) -> Form:
    compat = info.compat(host)
    if info.kind == "posix" or compat is not None:
        shell = compat or '"${SHELL:-sh}"'
        holds = info.os != "windows"
        exports = "\n".join(f"export {name}={quoted(value)}" for name, value in env.items())
        folder = "" if cwd is None else f"CDPATH= cd -- {_home(cwd)} || finish {NO_FOLDER.decode()}"
        script = SCRIPT.format(
            exports=exports,
            nonce=nonce,
            folder=folder,
            watcher=WATCHER if holds else "",
            shell=shell,
            command=quoted(command),
        )
        remote = "exec sh" if compat is None else f"{compat} -s"
        return Form(remote=remote, script=script.encode(), mark=f"\x1e{nonce}:".encode(), holds=holds)
    if cwd is None:
        return Form(remote=command)
    return Form(remote=_in_folder(info, command, cwd))


def _in_folder(info: HostInfo, command: str, cwd: str) -> str:
    """In no shell does anything of the command run if the folder is not there."""
    if info.kind == "powershell":
        there = re.sub("(['\u2018-\u201b])", r"\1\1", cwd)  # all of these are single quotes there
        return f"Set-Location -LiteralPath '{there}' -ErrorAction Stop; {command}"
    if info.kind == "cmd":
        if re.search(r'["%\r\n]', cwd):
            raise ToolError(
                "`cwd` has characters that the remote shell would replace; go there in the command."
            )
        return f'(cd /d "{cwd}" || exit 1) & {command}'
    return f"cd -- {quoted(cwd)} && {command}"


def quoted(text: str) -> str:
    """One word for a Unix shell."""
    return "'" + text.replace("'", "'\\''") + "'"


def _home(cwd: str) -> str:
    """The folder as a word; `~` at its beginning is the home of the remote user."""
    if cwd == "~" or cwd.startswith("~/"):
        return f'"$HOME"{quoted(cwd[1:])}'
    return quoted(cwd)
