"""The shell of a session: folder, variables, functions and options persist between commands.

It runs one command at a time. Others run in fresh shells that start with the same state but do not write it
back. If a command ends the shell (`exit`, `exec`, `set -e`, a signal, the time limit, an abort), its changes
to the shell's state are discarded: the next command starts with the state from before it.
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
    """A started command. Use `process` as `async with`; read `notes` afterwards."""

    process: Process
    cwd: Path
    shell: "LiveShell | None" = None  # the session's shell, if it runs there
    remarks: Sequence[str] = ()

    def notes(self) -> list[str]:
        ended = self.shell is not None and not self.shell.alive and not self.shell.retired
        lost = "The shell ended with this command; the next one has the state from before it."
        return [*self.remarks, lost] if ended else [*self.remarks]


class ShellSession:
    """Use as `async with`: leaving it ends the shell and all background processes.

    The first command starts the shell.
    """

    def __init__(self, runner: Runner, *, cwd: Path, cache: Path | None = None) -> None:
        self._runner = runner
        self._home = cwd
        self._cwd = cwd
        self._cache = cache  # for rc file snapshots; if None, the rc file is skipped
        self._family: ProcessTree | None = None
        self._group: asyncio.TaskGroup | None = None
        self._folder: Path | None = None
        self._shell: LiveShell | None = None
        self._retired: list[LiveShell] = []
        self._opening = False
        self._snapshot: ShellSnapshot | None = None  # None: not looked up yet
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
        """Where the next command runs."""
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

        `fresh` uses a new shell without the session's state, `beside` a separate shell that copies the state,
        `terminal` the same attached to a terminal. `env` applies to this command only. Raises OSError if it
        cannot be started.
        """
        if self._group is None:
            raise RuntimeError("Use a shell session inside its `async with` block")
        remarks: list[str] = []
        if self._is_lost(remarks) and cwd is None:
            cwd, stay = self._cwd, True
        kind = kinds.find_shell_kind(self._runner.shell)
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

    def detach(self, running: RunningShellCommand) -> None:
        """Detach a running command: it keeps its shell, and later commands get a new one."""
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
        """Return the argv of a shell for one command, with the session's state if there is any."""
        if kind is None:
            return [self._runner.shell, "-c", command]
        file = state or (await self._rc(kind, remarks)).file
        if file is None:
            return [self._runner.shell, *kind.bare, "-c", command]
        # The loaded state must not override the requested variables or the run id.
        kept = dict(env) if terminal is None else {"TERM": IN_TERMINAL["TERM"], **env}
        begin = f"__tau_run=${RUN_ID}; {self._before(file, quiet=state is None)}; export {RUN_ID}=$__tau_run"
        return [
            self._runner.shell,
            *kind.bare,
            "-c",
            f"{begin}; {kinds.export_code(kept) or ':'}; eval {shlex.quote(command)}",
        ]

    def _request(
        self, command: str, cwd: Path | None, stay: bool, env: Mapping[str, str], limits: Limits
    ) -> "ShellRequest":
        self._saves += 1
        return live.ShellRequest(
            command=command,
            save_to=self._made_folder() / f"state.{self._saves}",
            env=env,
            folder=cwd,
            back=None if cwd is None or stay else self._cwd,
            limits=limits,
        )

    def _is_busy(self) -> bool:
        return self._opening or (self._shell is not None and self._shell.busy)

    async def _open_shell(self, kind: "ShellKind", remarks: list[str]) -> "LiveShell | None":
        """Return the session's shell, started if needed; None, with a remark, if that fails."""
        self._retired = [shell for shell in self._retired if shell.alive]
        if self._shell is not None:
            await self._shell.settled()  # the state to fall back to
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
            shell = live.LiveShell(around)
            if await shell.open(self._cwd, QUIET, self._before(file, quiet=file != self._state)):
                self._shell = shell
                return shell
            remarks.append(f"The shell could not load {file or 'its defaults'}; skipped.")
            self._snapshot, self._state = snapshots.NONE, None
        return None

    def _known_state(self) -> Path | None:
        return self._state if self._state is not None and self._state.exists() else None

    async def _own_state(self) -> Path | None:
        """Link the session's state under a unique name: the next command may replace it before a shell that
        starts now has read it."""
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
        """Return what a new shell runs first. Our quiet settings override the rc file's."""
        if file is None:
            return ""
        reading = kinds.load_state_code(str(file))
        return f"{reading}; {kinds.export_code(QUIET)}" if quiet else reading

    async def _rc(self, kind: "ShellKind", remarks: list[str]) -> "ShellSnapshot":
        if self._snapshot is None:
            found = snapshots.NONE
            self._snapshot = found  # a second command does not wait for the snapshot
            if self._cache is not None:
                found = await snapshots.load_snapshot(
                    self._runner, kind, self._cache, _home_folder(self._home)
                )
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
        """Whether the shell's folder is gone; if so, fall back to the session's start folder."""
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
