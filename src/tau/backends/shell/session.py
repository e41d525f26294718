"""The shell of a session: folder, variables, functions and options live on from command to command.

One command at a time runs in it. Others run beside it in fresh shells that begin with the same state but keep
theirs to themselves. A command that ends the shell (`exit`, `exec`, `set -e`, a signal, the time limit, an
abort) is undone as far as the shell's state goes: the next one begins as that command did.
"""

import asyncio
import errno
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from tau.base import log
from tau.base.files import temporary_folder
from tau.base.late import late
from tau.base.run import IN_TERMINAL, QUIET, RUN_ID, Limits, Process, ProcessTree, Pty, Runner
from tau.base.tasks import shielded, spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tau.backends.shell.kinds import ShellKind
    from tau.backends.shell.live import LiveShell, ShellRequest
    from tau.backends.shell.snapshot import ShellSnapshot

kinds = late("tau.backends.shell.kinds")
live = late("tau.backends.shell.live")
shlex = late("shlex")
snapshots = late("tau.backends.shell.snapshot")


class RunningShellCommand(Struct, frozen=True, kw_only=True):
    """A command that was started. Use `process` as `async with`; `notes` is what there is to say then."""

    process: Process
    cwd: Path
    shell: "LiveShell | None" = None  # the session's own, if it runs there
    remarks: Sequence[str] = ()

    def notes(self) -> list[str]:
        ended = self.shell is not None and not self.shell.alive and not self.shell.retired
        lost = "The shell ended with this command; the next one has the state from before it."
        return [*self.remarks, lost] if ended else [*self.remarks]


class ShellSession:
    """Use as `async with`: leaving it ends the shell and all that its commands left in the background.

    Nothing is started before the first command.
    """

    def __init__(self, runner: Runner, *, cwd: Path, cache: Path | None = None) -> None:
        self._runner = runner
        self._home = cwd
        self._cwd = cwd
        self._cache = cache  # for snapshots of the rc file; without it, that file is not read
        self._family: ProcessTree | None = None
        self._group: asyncio.TaskGroup | None = None
        self._folder: Path | None = None
        self._shell: LiveShell | None = None
        self._retired: list[LiveShell] = []
        self._opening = False
        self._snapshot: ShellSnapshot | None = None  # None: not looked for yet
        self._state: Path | None = None
        self._saves = 0

    async def __aenter__(self) -> "ShellSession":
        self._group = asyncio.TaskGroup()
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await shielded(self._end())
        assert self._group is not None
        group, self._group = self._group, None
        await group.__aexit__(None, None, None)

    async def _end(self) -> None:
        try:
            for shell in (*self._retired, *((self._shell,) if self._shell else ())):
                await shell.close()
            if self._family is not None:
                await self._family.end()
        finally:
            if self._folder is not None:
                _remove(self._folder)
                self._runner.tidied(self._folder)
            self._shell = self._family = self._folder = self._state = None

    @property
    def cwd(self) -> Path:
        """Where the next command begins."""
        return self._cwd

    async def start(
        self,
        command: str,
        *,
        cwd: Path | None = None,
        stay: bool = False,
        env: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        fresh: bool = False,
        beside: bool = False,
        terminal: Pty | None = None,
    ) -> RunningShellCommand:
        """Start a command in `cwd`, or where the last one ended; with `stay` the shell stays in `cwd`.

        `fresh` asks for a shell that knows nothing of earlier commands, `beside` for one that begins like the
        session's and leaves that alone, `terminal` for the same with a terminal to read from and write to.
        `env` holds for this command. Raises OSError if it cannot be started.
        """
        if self._group is None:
            raise RuntimeError("A shell session is used inside its `async with` block")
        remarks: list[str] = []
        if self._is_lost(remarks) and cwd is None:
            cwd, stay = self._cwd, True
        kind = kinds.kind_of(self._runner.shell)
        wanted = limits or Limits()
        begin = cwd or self._cwd
        apart = fresh or beside or terminal is not None or self._is_busy()
        if kind is not None and not apart:
            self._opening = True
            try:
                shell = await self._open_shell(kind, remarks)
                if shell is not None:
                    call = await shell.run(self._request(command, cwd, stay, env or {}, wanted))
                    return RunningShellCommand(process=call, cwd=begin, shell=shell, remarks=remarks)
            finally:
                self._opening = False
        state = None
        if kind is not None and not fresh:
            state = await self._own_state()
        try:
            process = await self._runner.start(
                await self._fresh(kind, command, state, remarks, env or {}, terminal),
                cwd=begin,
                env={**(QUIET if terminal is None else IN_TERMINAL), **(env or {})},
                limits=wanted,
                terminal=terminal,
                family=self._kin(),
            )
        except BaseException:
            _unlink(state)
            raise
        process.when_gone(lambda _: _unlink(state))
        return RunningShellCommand(process=process, cwd=begin, remarks=remarks)

    def let_go(self, running: RunningShellCommand) -> None:
        """The command goes on by itself: its shell is its own from now on, and later commands get another."""
        if self._shell is not None and running.shell is self._shell:
            self._shell.retired = True
            self._retired.append(self._shell)
            self._shell = None

    async def _fresh(
        self,
        kind: "ShellKind | None",
        command: str,
        state: Path | None,
        remarks: list[str],
        env: Mapping[str, str],
        terminal: Pty | None,
    ) -> list[str]:
        """What starts a shell for one command, with the state of the session if there is one."""
        if kind is None:
            return [self._runner.shell, "-c", command]
        file = state or (await self._rc(kind, remarks)).file
        if file is None:
            return [self._runner.shell, *kind.bare, "-c", command]
        # What it takes over must not undo what was asked for, nor make it look like the session's own shell.
        kept = dict(env) if terminal is None else {"TERM": IN_TERMINAL["TERM"], **env}
        begin = f"__tau_run=${RUN_ID}; {self._before(file, quiet=state is None)}; export {RUN_ID}=$__tau_run"
        return [
            self._runner.shell,
            *kind.bare,
            "-c",
            f"{begin}; {kinds.exports(kept) or ':'}; eval {shlex.quote(command)}",
        ]

    def _request(
        self, command: str, cwd: Path | None, stay: bool, env: Mapping[str, str], limits: Limits
    ) -> "ShellRequest":
        self._saves += 1
        request: ShellRequest = live.ShellRequest(
            command=command,
            save_to=self._made_folder() / f"state.{self._saves}",
            env=env,
            folder=cwd,
            back=None if cwd is None or stay else self._cwd,
            limits=limits,
        )
        return request

    def _is_busy(self) -> bool:
        return self._opening or (self._shell is not None and self._shell.busy)

    async def _open_shell(self, kind: "ShellKind", remarks: list[str]) -> "LiveShell | None":
        """The session's shell, started if need be; None if it cannot be, which is then said."""
        self._retired = [shell for shell in self._retired if shell.alive]
        if self._shell is not None:
            await self._shell.settled()  # so that there is something to go back to
            if self._shell.alive:
                return self._shell
            await self._shell.close()
        known = self._known_state()
        if known is None:
            known = (await self._rc(kind, remarks)).file
        group = self._group
        assert group is not None
        around = live.ShellEnvironment(
            runner=self._runner,
            kind=kind,
            folder=self._made_folder(),
            family=self._kin(),
            start=lambda work: spawn(group, work),
            moved=self._moved,
            saved=self._saved,
        )
        for file in dict.fromkeys((known, None)):
            shell: LiveShell = live.LiveShell(around)
            if await shell.open(self._cwd, QUIET, self._before(file, quiet=file != self._state)):
                self._shell = shell
                return shell
            remarks.append(f"The shell could not begin with {file or 'its defaults'}; that is left out.")
            self._snapshot, self._state = snapshots.NONE, None
        return None

    def _known_state(self) -> Path | None:
        return self._state if self._state is not None and self._state.exists() else None

    async def _own_state(self) -> Path | None:
        """The session's state under a name of its own: the next command's state takes the place of this one
        before a shell that starts now has read it."""
        if self._shell is not None:
            await self._shell.settled()
        known = self._known_state()
        if known is None:
            return None
        self._saves += 1
        own = known.with_name(f"beside.{self._saves}")
        own.hardlink_to(known)
        return own

    def _before(self, file: Path | None, *, quiet: bool) -> str:
        """What a new shell reads first. Nothing that an rc file says makes commands wait for somebody."""
        if file is None:
            return ""
        reading: str = kinds.read_in(str(file))
        return f"{reading}; {kinds.exports(QUIET)}" if quiet else reading

    async def _rc(self, kind: "ShellKind", remarks: list[str]) -> "ShellSnapshot":
        if self._snapshot is None:
            found: ShellSnapshot = snapshots.NONE
            self._snapshot = found  # a second command does not wait for it
            if self._cache is not None:
                found = await snapshots.snapshot(self._runner, kind, self._cache, _home_folder(self._home))
                self._snapshot = found
            if found.note:
                remarks.append(found.note)
                log.warning(found.note)
            return found
        return self._snapshot

    def _moved(self, shell: "LiveShell", cwd: Path) -> None:
        if shell is self._shell:
            self._cwd = cwd

    def _saved(self, shell: "LiveShell", file: Path) -> None:
        if shell is not self._shell:
            return
        old, self._state = self._state, file
        _unlink(old)

    def _is_lost(self, remarks: list[str]) -> bool:
        """Whether the shell's folder is gone, so that the next command begins where the session did."""
        if self._cwd.is_dir():
            return False
        if not self._home.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self._home))
        remarks.append(f"{self._cwd} is gone; the shell is back in {self._home}.")
        self._cwd = self._home
        return True

    def _kin(self) -> ProcessTree:
        if self._family is None:
            self._family = self._runner.family()
        return self._family

    def _made_folder(self) -> Path:
        if self._folder is None:
            folder = temporary_folder() / f"tau-shell-{os.urandom(8).hex()}"
            folder.mkdir(mode=0o700, parents=True)
            self._folder = folder
            self._runner.keep_tidy(folder)
        return self._folder


def _home_folder(default: Path) -> Path:
    return Path(os.environ.get("HOME") or default)


def _unlink(file: Path | None) -> None:
    if file is not None:
        with suppress(OSError):
            file.unlink()


def _remove(folder: Path) -> None:
    with suppress(OSError):
        for entry in folder.iterdir():
            with suppress(OSError):
                entry.unlink()
        folder.rmdir()
