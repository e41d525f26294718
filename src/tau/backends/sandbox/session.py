"""The sandbox of a session: started by the first command, entered once, ended with the session."""

import asyncio
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct

from tau.backends.sandbox import engines
from tau.backends.sandbox.closed_paths import ClosedPaths
from tau.backends.sandbox.engines import Engine, SandboxSpec
from tau.backends.sandbox.git_guard import GitGuard, judge_leftovers
from tau.backends.sandbox.guard_records import GuardRecords
from tau.backends.sandbox.holder_connection import HolderConnection, SandboxEnded
from tau.backends.sandbox.mode_guard import ModeGuard
from tau.backends.sandbox.mounts import Mount, find_mount, make_places, plan_mounts
from tau.backends.sandbox.policy import (
    SandboxPolicy,
    SandboxRules,
    cache_variables,
    make_policy,
    real_folder,
    startup_files,
)
from tau.backends.sandbox.startup_guard import StartupGuard
from tau.base import log
from tau.base.errors import ToolError
from tau.base.files import temporary_folder
from tau.base.late import late
from tau.base.run import OUTSIDE, Child, ChildFiles, Command, LocalRunner, Process
from tau.base.tasks import shielded
from tau.base.text import clean_line, shortened

shutil = late("shutil")

SandboxMode = Literal["auto", "required", "off"]
START_S = 10.0
END_S = 2.0
MAX_REASON_CHARS = 200
MAX_PLACES = 50  # folders to remove at once


class SandboxOptions(Struct, frozen=True, kw_only=True):
    """The workspace, the user's rules, and the folders of tau that a sandbox needs."""

    roots: tuple[Path, ...]
    caches: Path  # where each workspace has its own caches
    records: Path | None = None  # where the guards leave word for the next session
    private: tuple[Path, ...] = ()  # files of tau that commands must not read
    protected: tuple[Path, ...] = ()  # and those that they must not write, wherever they are
    mode: SandboxMode = "auto"
    engine: str = "auto"
    rules: SandboxRules = SandboxRules()


class SandboxPart(Protocol):
    """Something that lives as long as the sandbox and gives its commands variables, such as a proxy."""

    async def open(self, sandbox: "SessionSandbox") -> Mapping[str, str]:
        """Called after each start of the sandbox; returns variables for its commands."""
        ...

    async def close(self) -> None: ...


MakeSpec: TypeAlias = Callable[[Engine, SandboxOptions, GitGuard, Path, int], SandboxSpec]


class SessionSandbox:
    """Implements `tau.base.run.Sandbox`. Use as `async with`; leaving it ends all its processes.

    `warn` gets one sentence if commands are not contained. `parts` open and close with the sandbox.
    `launched` is called when there is nothing to do but wait for it.
    """

    def __init__(
        self,
        options: SandboxOptions,
        runner: LocalRunner,
        *,
        warn: Callable[[str], None] = log.warning,
        parts: Sequence[SandboxPart] = (),
        make_spec: "MakeSpec | None" = None,
        launched: Callable[[], object] = lambda: None,
    ) -> None:
        self.options = options
        self.warn = warn
        self.parts = list(parts)
        self._runner = runner
        self._make_spec: MakeSpec = make_spec or decide_spec
        self._launched = launched
        self._lock = asyncio.Lock()
        self._folder: Path | None = None
        self._connection: HolderConnection | None = None
        self._process: Process | None = None
        self._engine: Engine | None = None
        self.policy: SandboxPolicy | None = None  # what the running sandbox lets commands do
        self.guard: GitGuard | None = None
        self._env: dict[str, str] = {}
        self.mounts: Sequence[Mount] = ()
        self.problem = ""  # why no engine works here, once that is known
        self.results: dict[
            str, str
        ] = {}  # what the last start was shown to contain: nothing, or what is wrong
        self._worked = False
        self._closed = ClosedPaths()
        self._startup = StartupGuard()
        self._modes = ModeGuard()
        self._records = GuardRecords(options.records)

    async def __aenter__(self) -> "SessionSandbox":
        return self

    async def __aexit__(self, *_: object) -> None:
        await shielded(self._end(last=True))

    @property
    def contained(self) -> bool:
        return self._connection is not None and self._connection.alive

    @property
    def engine(self) -> str:
        """The engine in use, or nothing."""
        return "" if self._engine is None or not self.contained else self._engine.name

    async def change(self, options: SandboxOptions) -> None:
        """End the sandbox with all its processes; the next command starts one with these options."""
        async with self._lock:
            self.options = options
            await shielded(self._end(last=False))

    @property
    def owns_network(self) -> bool:
        """Whether it has its own network namespace, so that our sockets reach inside."""
        return (
            self.contained
            and self.policy is not None
            and self.policy.network != "on"
            and self._has_own("localhost")
        )

    def _has_own(self, promise: str) -> bool:
        return self._engine is not None and promise in self._engine.promises

    def temporary_folder(self) -> Path:
        if self._folder is None:
            folder = real_folder(temporary_folder()) / f"tau-{os.urandom(8).hex()}"
            self._runner.remove_at_exit(folder)  # first: we may be killed at any moment
            folder.mkdir(mode=0o700, parents=True)
            self._folder = folder
        return self._folder

    async def prepare(self) -> bool:
        async with self._lock:
            if self.contained and (path := self._closed.find_uncovered()) is not None:
                self.warn(
                    "The sandbox starts again, which ends its processes:"
                    f" {path} is new and must be closed to commands."
                )
                await shielded(self._end(last=False))
            if not self.contained and (self._worked or not self.problem):
                await self._open()
            return self.contained

    async def open_terminal(self) -> tuple[int, int]:
        if not await self.prepare() or not self._has_own("processes"):
            return await OUTSIDE.open_terminal()
        assert self._connection is not None
        ours, theirs = await self._connection.ask(b"T", None)
        return ours, theirs

    async def spawn(self, command: Command, files: ChildFiles) -> Child:
        try:
            return await self._spawn(command, files)
        except SandboxEnded:
            if self._connection is not None:
                self._connection.close()
            return await self._spawn(command, files)

    async def _spawn(self, command: Command, files: ChildFiles) -> Child:
        if not await self.prepare():
            if self._worked or self.options.mode == "required":
                raise ToolError(f"No command can run: {self.problem or 'the sandbox ended'}.")
            return await OUTSIDE.spawn(command, files)
        assert self._connection is not None
        same = {name for name in self._env if command.env.get(name) == os.environ.get(name)}
        env = {**command.env, **{name: self._env[name] for name in same}}
        return await self._connection.spawn(Command(argv=command.argv, cwd=command.cwd, env=env), files)

    def check_repositories(self) -> list[str]:
        """What commands did since the last check to files that run programs; it is undone."""
        notes = [] if self.guard is None else self.guard.check()
        return [*notes, *self._startup.check(), *self._modes.check()]

    async def listen(self, port: int = 0, *, host: str = "127.0.0.1") -> socket.socket:
        """Make a listening socket inside the sandbox; we accept its connections. Raises OSError."""
        return (await self._sockets(b"L", (_family(host), host, port)))[0]

    async def make_sockets(self, count: int = 1, *, host: str = "127.0.0.1") -> list[socket.socket]:
        """Make sockets that connect inside the sandbox, for example to a server there. Raises OSError."""
        return await self._sockets(b"C", (_family(host), count))

    async def _sockets(self, kind: bytes, value: Any) -> list[socket.socket]:
        if self._connection is None:
            raise OSError("The sandbox is not running")
        made = [socket.socket(fileno=fd) for fd in await self._connection.ask(kind, value)]
        for one in made:
            one.setblocking(False)
        return made

    async def _open(self) -> None:
        """Start the first engine that keeps its promises."""
        await self._end(last=False)
        problems = []
        for engine in engines.select_engines(self.options.engine):
            problem = engine.missing() or await shielded(self._start(engine))
            if not problem:
                self._worked = True
                return
            problems.append(f"{engine.name}: {problem}")
        self.problem = "; ".join(problems) or "there is no engine for this system"
        ending = "refused" if self.options.mode == "required" else "not contained"
        self.warn(f"No sandbox works here, so commands are {ending} ({self.problem}).")

    async def _start(self, engine: Engine) -> str:
        """Start an engine and return what is wrong with it, or nothing."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        fds: Sequence[int] = ()
        try:
            roots = [real_folder(root) for root in self.options.roots]
            if self.guard is None:
                self.guard = GitGuard(roots)
            # Before a new search accepts what the last commands left.
            for note in (*self.guard.check(), *self._modes.check()):
                self.warn(note)
            self.guard.change_roots(roots)
            left = self._records.find_left(roots)
            for _, record in left:
                for note in (*judge_leftovers(record), *StartupGuard(map(Path, record.missing)).check()):
                    self.warn(note)
            spec = self._make_spec(engine, self.options, self.guard, self.temporary_folder(), theirs.fileno())
            self._startup.watch(spec.policy)
            self._modes.watch((*spec.policy.hidden, *startup_files()) if self.guard.restores else ())
            # From now on, commands can create hooks, and we can be killed before we see them.
            self._records.write(self.guard.record(sorted(self._startup.missing)))
            for path, _ in left:
                path.unlink(missing_ok=True)
            closed = ClosedPaths(spec.policy, self.options.private, self.guard)
            launch = engine.launch(spec)
            fds = launch.fds
            process = await self._runner.start(
                launch.argv, cwd=Path("/"), fds=[theirs.fileno(), *fds], sandbox=OUTSIDE
            )
        except OSError as error:
            ours.close()
            return str(error)
        finally:
            theirs.close()
            for fd in fds:
                os.close(fd)
        self._process = process
        connection = HolderConnection(ours, lambda: None)  # once lost, the next command starts another
        self._connection = connection
        self._launched()
        try:
            async with asyncio.timeout(START_S):
                results = await connection.ready
        except TimeoutError:
            results = {"start": f"it was not ready after {START_S:g} s"}
        self.results = results
        problem = next((f"{text}" for name, text in results.items() if text and _counts(name, engine)), "")
        if problem:
            self._process = self._connection = None
            output = await _discard(process, connection)
            return output if "start" in results and output else problem
        self._engine, self.policy, self.mounts = engine, spec.policy, spec.mounts
        self._closed = closed
        self._env = dict(spec.policy.env)
        if not self._has_own("processes"):
            self._env |= cache_variables(spec.policy)
        for part in self.parts:
            self._env |= await part.open(self)
        return ""

    async def _end(self, *, last: bool) -> None:
        process, self._process = self._process, None
        connection, self._connection = self._connection, None
        self._engine = None
        try:
            if process is not None:
                for part in self.parts:
                    await part.close()
                if connection is not None:
                    connection.end()
                with suppress(TimeoutError):
                    async with asyncio.timeout(END_S):
                        await process.wait()
                await process.__aexit__(None, None, None)
        finally:
            if connection is not None:
                connection.close()
            if last:
                for note in self.check_repositories():
                    self.warn(note)
                self._records.close()
            if last and self._folder is not None:
                folder, self._folder = self._folder, None
                if not _remove_if_empty(folder):
                    await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
                self._runner.forget_folder(folder)


def decide_spec(
    engine: Engine, options: SandboxOptions, guard: GitGuard, temporary: Path, control: int
) -> SandboxSpec:
    """Decide what a sandbox shows, as the machine is now."""
    policy = make_policy(
        options.roots,
        options.rules,
        temporary=temporary,
        caches=options.caches,
        private=options.private,
        protected=options.protected,
    )
    guard.restores = "git" not in engine.promises or any(map(_ignores_case, options.roots))
    mounts = plan_mounts(policy, (*guard.find(), guard.agents))
    make_places(mounts, policy.temporary)
    return SandboxSpec(policy=policy, mounts=mounts, checks=_checks(policy, mounts, engine), control=control)


def _ignores_case(folder: Path) -> bool:
    """Whether another spelling of a file's name leads around the mount over it."""
    return any(path.with_name(path.name.swapcase()).exists() for path in (folder, folder / ".git"))


def _remove_if_empty(folder: Path) -> bool:
    """Remove a folder with nothing in it but the places of a few mounts, without a thread and `shutil`."""
    found = [folder]
    try:
        for place in found:  # which grows
            with os.scandir(place) as entries:
                for entry in entries:
                    if len(found) == MAX_PLACES or not entry.is_dir(follow_symlinks=False):
                        return False
                    found.append(Path(entry.path))
        for place in reversed(found):
            place.rmdir()
    except OSError:
        return False
    return True


async def _discard(process: Process, connection: HolderConnection) -> str:
    """End a sandbox that does not work; returns the last line of its output."""
    connection.close()
    output = b""
    async with process:
        with suppress(TimeoutError):
            async with asyncio.timeout(END_S):
                async for chunk in process.output():
                    output = (output + chunk)[-4096:]
    lines = output.decode("utf-8", "replace").strip().splitlines()
    return shortened(clean_line(lines[-1]), MAX_REASON_CHARS) if lines else ""


def _counts(promise: str, engine: Engine) -> bool:
    return promise == "start" or promise in engine.promises


def _family(host: str) -> int:
    return int(socket.AF_INET6 if ":" in host else socket.AF_INET)


def _checks(policy: SandboxPolicy, mounts: Sequence[Mount], engine: Engine) -> dict[str, tuple[Any, ...]]:
    """What to try from inside, with its arguments."""
    home = real_folder(Path(os.environ.get("HOME") or "/"))
    deciding = {path: find_mount(path, mounts) for path in (Path("/"), Path("/usr"), home)}
    read_only = [
        str(path) for path, mount in deciding.items() if mount is None or mount.kind not in ("write", "cover")
    ]
    closed = {folder for path in (*policy.hidden, *policy.protected) for folder in path.parents}
    roots = [
        str(path)
        for path in (*policy.roots, policy.temporary)
        if path.is_dir() and os.access(path, os.W_OK) and ("git" in engine.promises or path not in closed)
    ]
    hidden = [str(mount.target) for mount in mounts if mount.kind in ("hide", "mask")]
    guarded = [
        str(mount.target)
        for mount in mounts
        if mount.kind == "read" and any(root in mount.target.parents for root in policy.roots)
    ]
    checks: dict[str, tuple[Any, ...]] = {
        "files": (read_only, roots),
        "hidden": (hidden, [str(path) for path in policy.visible]),
        "privileges": (),
        "processes": (),
        "git": (guarded,),
    }
    if policy.network != "on":
        checks["network"] = ("localhost" in engine.promises,)
    checks["localhost"] = ()
    return checks
