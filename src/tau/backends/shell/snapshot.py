"""Snapshots of the user's rc file, so that commands need not run it.

A snapshot has functions, aliases, options and search paths (PATH and the like). An rc file that fails, waits
for input or takes too long never blocks a command: it is skipped with one note.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shlex import quote

from msgspec import Struct

from tau.backends.shell.kinds import ShellKind, find_shell_kind
from tau.base.files import make_private, write_atomic
from tau.base.run import QUIET, CapturedOutput, Limits, Runner, capture
from tau.base.sizes import MIB

TIME_LIMIT_S = 5.0
MAX_BYTES = 4 * MIB
VERSION = 1
_MARK = b"\0tau snapshot\0"
_LEFT_OUT = "# Left out: "
_PLACES = r"[A-Za-z_]\w*(PATH|_HOME|_ROOT|_DIR)|PATH"
_NOT_OURS = r"XDG_\w+|TAU_\w+|OLDPWD|PWD|CDPATH|MAILPATH"
# Options for interactive use, or that would end a shell at the first failure.
_OPTIONS = (
    r"(set|shopt) [-+]\w (no)?"
    r"(emacs|vi|hist\w*|monitor|notify|ignoreeof|errexit|nounset|xtrace|verbose|noexec|exec|unset|login\w*"
    r"|interactive|shinstdin|zle|privileged|restricted\w*|singlecommand|rcs|globalrcs|posix|onecmd)\b"
)
# With nobody to answer, `rm -i` removes nothing and still reports success.
_ASKING = r"alias (-- )?(rm|cp|mv|ln)=.*\s-\w*i"


class ShellSnapshot(Struct, frozen=True):
    """`file` is None if there is nothing to load; `note` says why, if that is unexpected."""

    file: Path | None = None
    note: str = ""


NONE = ShellSnapshot()


async def load_snapshot(runner: Runner, kind: ShellKind, cache: Path, home: Path) -> ShellSnapshot:
    """Return the snapshot of the user's current rc file, creating it in `cache` if needed."""
    program, source = _rc_shell(runner.shell, kind)
    rc = next((home / name for name in source.rc_files if (home / name).is_file()), None)
    if rc is None:
        return NONE
    stat = rc.stat()
    made_of = f"{VERSION} {program} {rc} {stat.st_mtime_ns} {stat.st_size}"
    file = cache / f"{kind.name}-{hashlib.sha256(made_of.encode()).hexdigest()[:16]}.sh"
    try:
        with file.open(encoding="utf-8", errors="surrogateescape") as opened:
            known = opened.read(len(_LEFT_OUT))
    except OSError:
        definitions = source.definitions if source is kind else ":"
        return await _create(runner, [program, *source.bare, "-i", "-c"], definitions, rc, kind, file)
    return NONE if known == _LEFT_OUT else ShellSnapshot(file)


def _rc_shell(shell: str, kind: ShellKind) -> tuple[str, ShellKind]:
    """Return the shell whose rc file counts: of zsh users, bash takes the variables in .zshrc."""
    login_shell = os.environ.get("SHELL", "")
    theirs = find_shell_kind(login_shell)
    if kind.name == "bash" and theirs not in (None, kind) and os.access(login_shell, os.X_OK):
        return login_shell, theirs
    return shell, kind


async def _create(
    runner: Runner, argv: Sequence[str], definitions: str, rc: Path, kind: ShellKind, file: Path
) -> ShellSnapshot:
    script = (
        f". {quote(str(rc))} </dev/null >/dev/null 2>&1; "
        f"builtin printf '\\0tau snapshot\\0'; {{ {definitions}; }} 2>/dev/null; "
        "builtin printf '\\0tau snapshot\\0'; command env -0"
    )
    limits = Limits(timeout=TIME_LIMIT_S, grace=0.2)
    try:
        async with await runner.start([*argv, script], cwd=rc.parent, env=QUIET, limits=limits) as process:
            done = await capture(process, max_bytes=MAX_BYTES)
            await process.kill()  # background processes it may have left
    except OSError as error:
        return ShellSnapshot(note=f"{rc} was skipped: {error.strerror}.")
    reason = _failure(done)
    text = f"{_LEFT_OUT}{reason}\n" if reason else _text(done.output, kind)
    try:
        make_private(file.parent)
        write_atomic(file, text.encode(errors="surrogateescape"), mode=0o600)
        _remove_others(file, kind)
    except OSError as error:
        return ShellSnapshot(note=f"{rc} was skipped: {file} cannot be written ({error.strerror}).")
    if reason:
        return ShellSnapshot(note=f"{rc} was skipped: {reason}. Edit it to try again.")
    return ShellSnapshot(file)


def _failure(done: CapturedOutput) -> str:
    if done.exit.timed_out:
        return f"it took longer than {TIME_LIMIT_S:g} s"
    if done.dropped_bytes:
        return f"it defines more than {MAX_BYTES // MIB} MiB"
    if done.output.count(_MARK) != 2:
        return "it ended the shell"
    return ""


def _text(output: bytes, kind: ShellKind) -> str:
    _, definitions, environment = output.split(_MARK)
    lines = definitions.decode(errors="surrogateescape").splitlines()
    kept = [line for line in lines if not re.match(_OPTIONS, line) and not re.match(_ASKING, line)]
    pairs = (pair.partition("=") for pair in environment.decode(errors="surrogateescape").split("\0"))
    environ = {name: value for name, _, value in pairs}
    more = ["shopt -s expand_aliases"] if kind.name == "bash" else []
    return "\n".join([*kept, *more, *_variables(environ, os.environ)]) + "\n"


def _variables(variables: Mapping[str, str], ours: Mapping[str, str]) -> Iterable[str]:
    """Yield assignments that extend a later shell's variables without removing anything."""
    for name, value in variables.items():
        if not re.fullmatch(_PLACES, name) or re.fullmatch(_NOT_OURS, name) or value == ours.get(name, ""):
            continue
        if not name.endswith("PATH"):
            yield f"export {name}=${{{name}:-{quote(value)}}}"
            continue
        known = ours.get(name, "").split(":")
        added = [entry for entry in value.split(":") if entry and entry not in known]
        for entry in reversed(added):
            yield (
                f'case ":${name}:" in *:{quote(entry)}:*) ;; '
                f'*) export {name}={quote(entry)}"${{{name}:+:${name}}}" ;; esac'
            )


def _remove_others(file: Path, kind: ShellKind) -> None:
    """Remove snapshots of older rc files: one per shell is enough."""
    for other in file.parent.glob(f"{kind.name}-*.sh"):
        if other != file:
            with suppress(OSError):
                other.unlink()
