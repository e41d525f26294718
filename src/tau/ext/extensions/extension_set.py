"""Loads, activates, reloads and unloads the extensions of a session."""

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tau.base.errors import ExtensionError
from tau.base.late import late
from tau.base.tasks import end_all, shielded
from tau.coding.extensions import ExtensionCommand
from tau.ext.extensions import events as x
from tau.ext.extensions.api import ExtensionAPI
from tau.ext.extensions.calls import SHUTDOWN_LIMIT_S
from tau.ext.extensions.containment import (
    ProcessState,
    leftover_tasks,
    leftover_threads,
    replaced_names,
)
from tau.ext.extensions.extension import Extension, ExtensionReport, ExtensionSource
from tau.ext.extensions.function_tool import FunctionTool
from tau.ext.extensions.importer import find_factory, forget_modules, import_module
from tau.ext.extensions.sources import SourceList

if TYPE_CHECKING:
    from tau.ext.extensions.host import ExtensionHost

isolation = late("tau.ext.extensions.isolation")

KILL_LIMIT_S = 2.0


class ExtensionSet:
    """The extensions in use, and why others are not. `find` lists the sources for each load."""

    def __init__(self, host: "ExtensionHost", find: Callable[[], SourceList]) -> None:
        self._host = host
        self._find = find
        self.items: list[Extension] = []
        self.failures: list[ExtensionReport] = []

    async def load_all(self) -> None:
        """Load everything found. Those that fail are reported; of earlier ones, the old version stays."""
        found = await asyncio.to_thread(self._find)
        self.failures = []
        for path, problem in found.problems:
            self._fail(path.stem, str(path), "settings", problem)
        before = {os.path.realpath(one.source.file): one for one in self.items}
        made: list[Extension] = []
        is_allowed: bool | None = None
        for source in found.sources:
            if source.origin == "project":
                is_allowed = await self._trusts_project(made) if is_allowed is None else is_allowed
                if not is_allowed:
                    continue
            old = before.pop(os.path.realpath(source.file), None)
            new = await self._load(source)
            if new is None and old is not None:
                self._host.say(source.name, f"Extension {source.name}: the earlier version stays in use.")
                made.append(old)
            elif new is not None:
                made.append(new)
                if old is not None:
                    await self.unload(old)
        for gone in before.values():
            await self.unload(gone)
        self.items[:] = made
        self._host.changed(tools=True, commands=True, schemes=True)
        for extension, names in await asyncio.to_thread(self._replaced):
            self._host.say(extension.name, f"Extension {extension.name} replaced {', '.join(names)} in tau.")
        for second, first, name in _collisions(self.items):
            self._host.say(second, f"The {name} of the extension {first} is used, not {second}'s.")

    async def _trusts_project(self, loaded: list[Extension]) -> bool:
        """Whether the user's own extensions let those of the trusted project run."""
        for extension in loaded:
            for function in tuple(extension.handlers.get("project_trust", ())):
                context = self._host.context(extension)
                try:
                    event = x.ProjectTrust(self._host.options.cwd)
                    answer = await self._host.calls.call(extension, "project_trust", function, event, context)
                except ExtensionError:
                    continue
                if answer is False:
                    self._host.say(
                        extension.name,
                        f"Extension {extension.name} keeps this project's extensions from running.",
                    )
                    return False
        return True

    async def activate(self, extension: Extension) -> None:
        """Load one that waited for its command or event."""
        if extension.waiting:
            await self._check_source(extension.source)
            extension.waiting = False
            extension.handlers.clear()
            extension.commands.clear()
            extension.command_functions.clear()
            await self._run_code(extension)
            self._host.changed(tools=True, commands=True, schemes=True)

    async def _check_source(self, source: ExtensionSource) -> None:
        """Raises ExtensionError if a project's code is no longer what the user trusts."""
        if source.origin == "project":
            found = await asyncio.to_thread(self._find)
            if source.file not in [one.file for one in found.sources]:
                problem = "its repository has changed since you trusted it; see tau trust."
                raise ExtensionError(problem, source=source.name)

    async def _load(self, source: ExtensionSource) -> Extension | None:
        extension = Extension(source, self._host.options.paths.logs)
        if extension.waiting:
            self._wait(extension)
            return extension
        try:
            await self._run_code(extension)
        except ExtensionError as error:
            self._fail(source.name, str(source.file), source.origin, str(error))
            await self.unload(extension)
            return None
        return extension

    async def _run_code(self, extension: Extension) -> None:
        """Import and register; whatever it changes in the process is put back. Raises ExtensionError."""
        began, state = perf_counter(), ProcessState()
        quiet, self._host.is_loading = self._host.is_loading, True
        try:
            if extension.source.isolation:
                extension.child = isolation.IsolatedProcess(self._host, extension)
                await self._host.calls.call(extension, "load", extension.child.start)
            else:
                await register_code(self._host, extension)
        finally:
            self._host.is_loading = quiet
            extension.load_ms = (perf_counter() - began) * 1000
            if changed := state.restore():
                extension.log.warning(f"It changed {', '.join(changed)}; restored.")
                self._host.say(
                    extension.name, f"Extension {extension.name} changed {', '.join(changed)}; restored."
                )

    def _wait(self, extension: Extension) -> None:
        """Register placeholders that load it with its first command or event."""

        async def run_command(args: str, ctx: Any) -> Any:
            name = running.get()
            await self.activate(extension)
            if (function := extension.command_functions.get(name)) is None:
                raise ExtensionError(f"it has no command {name}.", source=extension.name)
            return await self._host.calls.call(extension, f"command:{name}", function, args, ctx)

        running = self._host.running_command
        for one in extension.source.activation:
            what, _, name = one.partition(":")
            if what == "command":
                extension.commands[name] = ExtensionCommand(name=name, description="", source=extension.name)
                extension.command_functions[name] = run_command
            else:
                extension.add_handler(name, self._first_event(extension, name))

    def _first_event(self, extension: Extension, name: str) -> Callable[..., Any]:
        async def answer(event: Any, ctx: Any) -> Any:
            await self.activate(extension)
            last = None
            for function in tuple(extension.handlers.get(name, ())):
                result = await self._host.calls.call(extension, name, function, event, ctx)
                last = last if result is None else result
            return last

        return answer

    async def unload(self, extension: Extension) -> None:
        """End everything it started, and forget it."""
        extension.closed = True
        tasks = [*extension.tasks, *leftover_tasks(extension)]
        own = asyncio.current_task()
        for process in tuple(extension.processes):
            with suppress(Exception):
                await shielded(process.kill())
        await shielded(end_all([task for task in tasks if task is not own], KILL_LIMIT_S))
        for remove in (*extension.shown.values(), *extension.cleanups):
            with suppress(Exception):
                remove()
        if extension.child is not None:
            await extension.child.close()
        if extra := len(leftover_tasks(extension)):
            self._host.say(extension.name, f"Extension {extension.name} left {extra} tasks that do not end.")
        if threads := leftover_threads(extension):
            names = ", ".join(sorted(set(threads)))
            self._host.say(extension.name, f"Extension {extension.name} left threads running: {names}.")
        self._host.forget(extension)
        forget_modules(extension)

    async def close(self) -> None:
        """Ask each extension to finish, then unload it."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SHUTDOWN_LIMIT_S + 1):
                self._host.facts.put("session_shutdown", x.SessionShutdown(self._host.stop_reason))
                await self._host.facts.settle()
        for extension in self.items:
            await self.unload(extension)
        self.items.clear()

    def _fail(self, name: str, path: str, origin: str, problem: str) -> None:
        text = problem.removeprefix(f"{name}: ")
        self.failures.append(
            ExtensionReport(name=name, path=path, origin=origin, state="failed", problem=text)
        )
        self._host.say(name, f"Extension {name} was not loaded: {text}")

    def _replaced(self) -> list[tuple[Extension, list[str]]]:
        found: dict[Extension, list[str]] = {}
        for name, file in replaced_names():
            for extension in self.items:
                if extension.owns(file):
                    found.setdefault(extension, []).append(name)
        return list(found.items())


async def register_code(host: Any, extension: Extension) -> None:
    """Import it, and call its function; `host` is that of a session, or of an isolated process."""
    source, factory = extension.source, extension.source.function
    if factory is None:
        module = await host.calls.call(extension, "load", import_module, extension)
        factory = find_factory(module, source)
        for name in ("on_session", "ttsr_triggered") if source.kind == "tool" else ():
            if callable(function := getattr(module, name, None)):
                extension.add_handler("session_start" if name == "on_session" else name, function)
        if factory is None:
            plain = getattr(module, source.file.stem)
            extension.tools[source.file.stem] = FunctionTool(host, extension, plain)
            return
    api = ExtensionAPI(host, extension)
    made = await host.calls.call(extension, "load", factory, api)
    for one in _listed(made) if source.kind == "tool" else ():
        api.tool(one)
    for text in extension.warnings:
        host.say(extension.name, f"Extension {extension.name}: {text}")


def _listed(made: Any) -> list[Any]:
    return [] if made is None else list(made) if isinstance(made, (list, tuple)) else [made]


def _collisions(extensions: Sequence[Extension]) -> Iterator[tuple[str, str, str]]:
    """The tools and commands that an extension loaded before has, too: those count."""
    owners: dict[str, Extension] = {}
    for one in extensions:
        for name in (*(f"tool {tool}" for tool in one.tools), *(f"command /{name}" for name in one.commands)):
            if (first := owners.setdefault(name, one)) is not one:
                yield one.name, first.name, name
