"""The language servers of a session: found when asked for, started once, ended when idle or with it."""

import asyncio
import os
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tau.backends.lsp.client import LanguageServer
from tau.backends.lsp.config import KIND, FoundServers, ServerSpec, find_servers
from tau.backends.lsp.lint_program import lint_file
from tau.backends.lsp.lspmux import Lspmux
from tau.backends.lsp.protocol import SEVERITIES, Diagnostic, LspError
from tau.base import log
from tau.base.errors import TauError
from tau.base.framing import ProcessGone, start_framed
from tau.base.json_rpc import JsonRpcError
from tau.base.programs import safe_path
from tau.base.run import Runner
from tau.base.tasks import shielded, spawn
from tau.config.paths import Paths
from tau.config.program_files import stamps_of

MAX_RESTARTS = 3
RESTART_WINDOW_S = 600.0
BACKOFF_S = 0.25
CHECK_WAIT_S = 3.0


class ServerRow(Struct, frozen=True, rename="camel", kw_only=True):
    """A server as every face shows it."""

    name: str
    state: str  # running, available, missing or failed
    command: str = ""
    pid: int = 0
    memory_bytes: int = 0
    open_files: int = 0
    why: str = ""


class FileReport(Struct, frozen=True, kw_only=True):
    """What the servers say about one file: `silent` gave no answer, `failed` says which could not."""

    path: Path
    diagnostics: list[Diagnostic]
    servers: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class LanguageServers:
    """An async context manager. `runner` starts servers; without `trusted`, nothing of the project runs."""

    def __init__(
        self,
        cwd: Path,
        runner: Runner,
        paths: Paths,
        environ: Mapping[str, str],
        found: FoundServers,
        *,
        trusted: bool,
    ) -> None:
        self.cwd, self._runner, self._paths, self._environ = cwd, runner, paths, environ
        self.found, self.trusted = found, trusted
        self.has_changed: Callable[[], bool] = lambda: False  # what the project says, since it was trusted
        self.lspmux = Lspmux(found.root, runner, environ)
        self._group = asyncio.TaskGroup()
        self._servers: dict[str, LanguageServer] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._crashes: dict[str, list[float]] = {}
        self._errors: dict[str, str] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        self._background: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "LanguageServers":
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        for task in self._background:
            task.cancel()
        await shielded(self.stop_all())
        await self._group.__aexit__(None, None, None)

    async def stop_all(self) -> None:
        servers, self._servers = list(self._servers.values()), {}
        for failure in await asyncio.gather(*(server.stop() for server in servers), return_exceptions=True):
            if isinstance(failure, Exception):
                log.warning("A language server could not be stopped.", failure)

    # Which servers

    def for_file(self, path: Path) -> list[ServerSpec]:
        """The servers for a file, linters last."""
        fitting = [spec for spec in self.found.usable if spec.matches(path)]
        return [s for s in fitting if not s.is_linter] + [s for s in fitting if s.is_linter]

    def primary(self, path: Path) -> ServerSpec:
        """A linter only if there is nothing else. Raises LspError."""
        for spec in self.for_file(path):
            if not spec.prints_json:
                return spec
        known = [f"{spec.name} ({why})" for spec, why in self.found.missing if spec.matches(path)]
        hint = f" Missing: {'; '.join(known[:4])}." if known else ""
        raise LspError(f"no language server is configured for {path.name}.{hint}".rstrip("."))

    def _find(self) -> FoundServers:
        trusted = self.trusted and not self.has_changed()
        return find_servers(self.cwd, self._paths, self._environ, trusted=trusted)

    async def look_again(self, *, force: bool = False) -> None:
        """Read the configuration again if its files changed."""
        if force or stamps_of(KIND.names, self.cwd, self._paths) != self.found.stamps:
            before = self.found
            self.found = await asyncio.to_thread(self._find)
            if before.usable != self.found.usable:
                for name, server in tuple(self._servers.items()):
                    if server.spec not in self.found.usable:
                        del self._servers[name]
                        await server.stop()

    def running(self, spec: ServerSpec) -> LanguageServer | None:
        server = self._servers.get(spec.name)
        return server if server is not None and server.is_alive else None

    async def server(self, spec: ServerSpec) -> LanguageServer:
        """The running server; simultaneous first calls share one start. Raises LspError."""
        if spec.prints_json:
            raise LspError(f"{spec.name} is not a server; it only gives diagnostics")
        async with self._locks.setdefault(spec.name, asyncio.Lock()):
            if self._closed:
                raise LspError("the session is closing")
            if (server := self._servers.get(spec.name)) is not None:
                if server.is_alive:
                    return server
                self._note_crash(server)
            await self._wait_backoff(spec)
            try:
                server = await self._start(spec)
            except (LspError, JsonRpcError) as error:
                self._errors[spec.name] = str(error)
                self._crashes.setdefault(spec.name, []).append(time.monotonic())
                raise LspError(str(error)) from None
            self._servers[spec.name] = server
            self._arm()
            return server

    def _note_crash(self, server: LanguageServer) -> None:
        self._errors[server.name] = server.gone.result()
        self._crashes.setdefault(server.name, []).append(time.monotonic())
        del self._servers[server.name]

    async def _wait_backoff(self, spec: ServerSpec) -> None:
        since = time.monotonic() - RESTART_WINDOW_S
        recent = [when for when in self._crashes.get(spec.name, ()) if when > since]
        self._crashes[spec.name] = recent
        if len(recent) > MAX_RESTARTS:
            raise LspError(
                f"{spec.name} failed {len(recent)} times in 10 minutes and is not started again; "
                f"use action reload. Last error: {self._errors.get(spec.name, '')}"
            )
        if recent:
            await asyncio.sleep(BACKOFF_S * 2 ** (len(recent) - 1))

    async def _start(self, spec: ServerSpec) -> LanguageServer:
        # Without trust, what a server starts is not looked for in the project either.
        env = {} if self.trusted else {"PATH": safe_path()}
        argv = await self.lspmux.wrap(spec.name, spec.argv)
        try:
            link = await start_framed(spec.name, self._runner, argv, self.found.root, env)
        except ProcessGone as error:
            raise LspError(str(error)) from None
        server = LanguageServer(spec, self.found.root, link, self._group)
        reading = spawn(self._group, server.read(), name=f"lsp {spec.name}")
        try:
            await server.start()
        except BaseException:
            await link.close()
            reading.cancel()
            raise
        return server

    # Idle servers

    def _arm(self) -> None:
        if self._timer is None and self.found.idle_s > 0 and not self._closed:
            self._timer = asyncio.get_running_loop().call_later(self.found.idle_s, self._end_idle)

    def _end_idle(self) -> None:
        self._timer = None
        since = time.monotonic() - self.found.idle_s
        for name, server in tuple(self._servers.items()):
            if server.used_at <= since:
                del self._servers[name]
                self.run_later(server.stop())
        if self._servers:
            self._arm()

    def warm_up(self) -> None:
        async def start(spec: ServerSpec) -> None:
            await self.server(spec)

        for spec in self.found.usable:
            if not spec.prints_json:
                self.run_later(start(spec))

    def run_later(self, work: Coroutine[Any, Any, None]) -> None:
        """Run it in the background; its failure is only logged."""

        async def guarded() -> None:
            try:
                await work
            except (TauError, OSError) as error:
                log.warning("A language server failed.", error)

        if self._closed:
            work.close()
            return
        task = spawn(self._group, guarded(), name="lsp background")
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    # Actions

    async def reload(self, spec: ServerSpec) -> str:
        """Have it read its configuration again, else end it. Returns a sentence."""
        self._crashes.pop(spec.name, None)
        server = self.running(spec)
        if server is None:
            await self.server(spec)
            return f"Restarted {spec.name}"
        if spec.name == "rust-analyzer":
            with suppress(LspError, JsonRpcError):
                await server.request("rust-analyzer/reloadWorkspace", None)
                return f"Reloaded {spec.name}"
        self._servers.pop(spec.name, None)
        await server.stop()
        await self.server(spec)
        return f"Restarted {spec.name}"

    async def check(
        self,
        path: Path,
        *,
        wait_s: float = CHECK_WAIT_S,
        cold_wait_s: float | None = None,
        only_running: bool = False,
    ) -> FileReport:
        """Ask every server for the file. A server that never answered before gets `cold_wait_s`."""
        specs = self.for_file(path)
        if only_running:
            specs = [spec for spec in specs if self.running(spec) is not None]
        cold = wait_s if cold_wait_s is None else cold_wait_s

        async def ask(spec: ServerSpec) -> list[Diagnostic] | str | None:
            try:
                async with asyncio.timeout(max(cold, wait_s) + 0.5):
                    if spec.prints_json:
                        return await lint_file(spec, path, self._runner, self.found.root, max(cold, wait_s))
                    server = await self.server(spec)
                    if not server.has_answered:
                        await server.load_project(cold)
                    return await server.diagnostics(path, wait_s if server.has_answered else cold)
            except TimeoutError:
                return None
            except (LspError, JsonRpcError) as error:
                return str(error)

        answers = await asyncio.gather(*map(ask, specs))
        named = list(zip(specs, answers, strict=True))
        return FileReport(
            path=path,
            diagnostics=_merged([answer for answer in answers if isinstance(answer, list)]),
            servers=tuple(spec.name for spec in specs),
            silent=tuple(spec.name for spec, answer in named if answer is None),
            failed=tuple(answer for answer in answers if isinstance(answer, str)),
        )

    def rows(self) -> list[ServerRow]:
        """All servers that fit the folder, running or not."""
        rows = []
        for spec in self.found.usable:
            server, error = self.running(spec), self._errors.get(spec.name, "")
            state = "running" if server else "failed" if error else "available"
            row = ServerRow(name=spec.name, state=state, command=" ".join(spec.argv), why=error)
            if server is not None:
                memory, files = _memory(server.pid), len(server.documents)
                row = replace(row, pid=server.pid, memory_bytes=memory, open_files=files)
            rows.append(row)
        missing = (ServerRow(name=spec.name, state="missing", why=why) for spec, why in self.found.missing)
        return [*rows, *missing]


def _merged(lists: Sequence[list[Diagnostic]]) -> list[Diagnostic]:
    """Without repetitions, errors first, then by place."""
    unique = {(each.range, each.text): each for rows in reversed(lists) for each in reversed(rows)}
    return sorted(
        unique.values(), key=lambda each: (SEVERITIES.index(each.level), each.range.start, each.text)
    )


def _memory(pid: int) -> int:
    """Of a process and its children: many servers are started by a script."""
    try:
        process = Path(f"/proc/{pid}")
        pages = int((process / "statm").read_text(encoding="ascii").split()[1])
        children = (process / f"task/{pid}/children").read_text(encoding="ascii").split()
        return pages * os.sysconf("SC_PAGE_SIZE") + sum(_memory(int(child)) for child in children)
    except (OSError, ValueError, IndexError):
        return 0
