"""The shell of a session: folder, variables, functions and options persist between commands.

It runs one command at a time. Others run in fresh shells that start with the same state but do not write it
back. If a command ends the shell (`exit`, `exec`, `set -e`, a signal, the time limit, an abort), its changes
to the shell's state are discarded: the next command starts with the state from before it.
"""

import asyncio
import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from tau.base import log
from tau.base.files import anonymous_file
from tau.base.late import late
from tau.base.run import IN_TERMINAL, QUIET, RUN_ID, Limits, Process, ProcessTree, Pty, Runner, Sandbox
from tau.base.tasks import shielded, spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tau.backends.shell.kinds import ShellKind
    from tau.backends.shell.shell_process import LiveShell, ShellCall, ShellRequest
    from tau.backends.shell.snapshot import ShellSnapshot

kinds = late("tau.backends.shell.kinds")
live = late("tau.backends.shell.shell_process")
shlex = late("shlex")
snapshots = late("tau.backends.shell.snapshot")


class RunningShellCommand(Struct, frozen=True, kw_only=True):
    """A started command. Use `process` as `async with`; read `notes` afterwards."""

    process: Process
    cwd: Path
    shell: "LiveShell | None" = None  # the session's shell, if it runs there
    call: "ShellCall | None" = None
    remarks: Sequence[str] = ()

    def notes(self) -> list[str]:
        notes = [*self.remarks]
        if self.call is not None and self.call.skipped:
            notes.append("The shell ran nothing after set -n.")
        if self.call is not None and self.call.ended_shell and self.shell and not self.shell.retired:
            notes.append("The shell ended with this command; the next one has the state from before it.")
        return notes


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
        self._state: bytes | None = None  # what the last command left; never in a file: it has all variables
        self._remarks: list[str] = []  # of the command in the session's shell
        self._is_astray = False  # the shell is in a folder that no longer exists

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
                self._runner.forget_folder(self._folder)
            self._shell = self._family = self._folder = self._state = None

    @property
    def program(self) -> str:
        """The shell that runs commands."""
        return self._runner.shell

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
        sandbox: Sandbox | None = None,
    ) -> RunningShellCommand:
        """Start a command in `cwd`, or where the last one ended; with `stay` the shell stays in `cwd`.

        `fresh` uses a new shell without the session's state, `beside` a separate shell that copies the state,
        `terminal` the same attached to a terminal, `sandbox` the same in another sandbox than the shell's.
        `env` applies to this command only. Raises OSError if it
        cannot be started.
        """
        if self._group is None:
            raise RuntimeError("Use a shell session inside its `async with` block")
        remarks: list[str] = []
        if (self._is_folder_gone(remarks) or self._is_astray) and cwd is None:
            cwd, stay = self._cwd, True
        kind = kinds.find_shell_kind(self._runner.shell)
        limits = limits or Limits()
        start_folder = cwd or self._cwd
        separate = fresh or beside or terminal is not None or sandbox is not None or self._is_busy()
        if kind is not None and not separate:
            self._opening = True
            try:
                shell = await self._open_shell(kind, remarks)
                if shell is not None:
                    self._remarks = remarks
                    call = await shell.run(self._request(command, cwd, stay, env or {}, limits))
                    return RunningShellCommand(
                        process=call, cwd=start_folder, shell=shell, call=call, remarks=remarks
                    )
            finally:
                self._opening = False
        process = await self._start_separate(
            kind, command, start_folder, env or {}, limits, terminal, remarks, fresh=fresh, sandbox=sandbox
        )
        return RunningShellCommand(process=process, cwd=start_folder, remarks=remarks)

    async def _start_separate(
        self,
        kind: "ShellKind | None",
        command: str,
        cwd: Path,
        env: Mapping[str, str],
        limits: Limits,
        terminal: Pty | None,
        remarks: list[str],
        *,
        fresh: bool,
        sandbox: Sandbox | None = None,
    ) -> Process:
        """Start a shell for one command, with the session's state unless it is `fresh`."""
        argv = [self._runner.shell, *(kind.bare if kind is not None else ()), "-c", command]
        settings = {**(QUIET if terminal is None else IN_TERMINAL), **env}
        before = b""
        if kind is not None:
            # What it loads must not override the requested variables or the run id.
            kept = env if terminal is None else {"TERM": IN_TERMINAL["TERM"], **env}
            before = await self._before(kind, remarks, fresh=fresh, more=kinds.export_code(kept))
        with _open_file(before) as fd:
            if kind is not None and before:
                begin = f"__tau_id=${RUN_ID}; {kind.load_code(f'/dev/fd/{fd}', fd)}"
                command = f"\\builtin eval {shlex.quote(command)}"
                argv[-1] = f"{begin}; \\builtin export {RUN_ID}=$__tau_id; {command}"
            return await self._runner.start(
                argv,
                cwd=cwd,
                env=settings,
                limits=limits,
                fds=() if fd < 0 else (fd,),
                terminal=terminal,
                family=self._process_tree(),
                sandbox=sandbox,
            )

    def detach(self, running: RunningShellCommand) -> None:
        """Detach a running command: it keeps its shell, and later commands get a new one."""
        if self._shell is not None and running.shell is self._shell:
            self._shell.retired = True
            self._retired.append(self._shell)
            self._shell = None

    def _request(
        self, command: str, cwd: Path | None, stay: bool, env: Mapping[str, str], limits: Limits
    ) -> "ShellRequest":
        return live.ShellRequest(
            command=command,
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
            await self._shell.settle()
            if self._shell.alive:
                return self._shell
            await self._shell.close()
        group = self._group
        assert group is not None
        environment = live.ShellEnvironment(
            runner=self._runner,
            kind=kind,
            folder=self._create_folder(),
            family=self._process_tree(),
            start=lambda work: spawn(group, work),
            moved=self._on_moved,
            saved=self._on_saved,
        )
        before = await self._before(kind, remarks)
        for text in dict.fromkeys((before, b"")):
            shell = live.LiveShell(environment)
            with _open_file(text) as fd:
                code = kind.load_code(f"/dev/fd/{fd}", fd) if text else ""
                if await shell.open(self._cwd, QUIET, code, () if fd < 0 else (fd,)):
                    self._shell = shell
                    return shell
            remarks.append(f"The shell could not load its {'last state' if text else 'defaults'}; skipped.")
            self._snapshot, self._state = snapshots.NONE, None
        return None

    async def _before(
        self, kind: "ShellKind", remarks: list[str], *, fresh: bool = False, more: str = ""
    ) -> bytes:
        """Return code that a new shell loads: the session's state, or the rc file with our quiet settings."""
        if not fresh:
            if self._shell is not None:
                await self._shell.settle()
            if self._state is not None:
                return self._state + b"\n" + kinds.shell_bytes(more)
        file = (await self._rc(kind, remarks)).file
        if file is None:
            return b""
        load = f". {shlex.quote(str(file))}; {kinds.export_code(QUIET)}; {more or ':'}"
        return kinds.shell_bytes(load)

    async def _rc(self, kind: "ShellKind", remarks: list[str]) -> "ShellSnapshot":
        if self._snapshot is None:
            snapshot = snapshots.NONE
            self._snapshot = snapshot  # a second command does not wait for the snapshot
            if self._cache is not None:
                snapshot = await snapshots.load_snapshot(
                    self._runner, kind, self._cache, Path(os.environ.get("HOME") or self._home)
                )
                self._snapshot = snapshot
            if snapshot.note:
                remarks.append(snapshot.note)
                log.warning(snapshot.note)
            return snapshot
        return self._snapshot

    def _on_moved(self, shell: "LiveShell", cwd: Path) -> None:
        if shell is not self._shell:
            return
        self._is_astray = not cwd.is_dir() or not cwd.is_absolute()
        if not self._is_astray:
            self._cwd = cwd
        elif self._home.is_dir():
            self._cwd = self._home
            gone = cwd if cwd.is_absolute() else "The shell's folder"
            self._remarks.append(f"{gone} is gone; the next command runs in {self._home}.")

    def _on_saved(self, shell: "LiveShell", state: bytes) -> None:
        if shell is self._shell:
            self._state = state

    def _is_folder_gone(self, remarks: list[str]) -> bool:
        """Whether the shell's folder is gone; if so, fall back to the session's start folder."""
        if self._cwd.is_dir():
            return False
        if not self._home.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self._home))
        remarks.append(f"{self._cwd} is gone; the shell is back in {self._home}.")
        self._cwd = self._home
        return True

    def _process_tree(self) -> ProcessTree:
        if self._family is None:
            self._family = self._runner.family()
        return self._family

    def _create_folder(self) -> Path:
        if self._folder is None:
            folder = self._runner.temporary_folder() / f"tau-shell-{os.urandom(8).hex()}"
            self._runner.remove_at_exit(folder)  # first: we may be killed at any moment
            folder.mkdir(mode=0o700, parents=True)
            self._folder = folder
        return self._folder


@contextmanager
def _open_file(data: bytes) -> Iterator[int]:
    """Yield a descriptor of a file without a name that has this content; -1 without content."""
    fd = anonymous_file(data) if data else -1
    try:
        yield fd
    finally:
        if fd >= 0:
            os.close(fd)


def _remove(folder: Path) -> None:
    with suppress(OSError):
        for entry in folder.iterdir():
            with suppress(OSError):
                entry.unlink()
        folder.rmdir()
