"""The extensions of one session: what they offer to its face, from loading to closing."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tau.agent.abort import Aborted
from tau.agent.events import AgentEvent
from tau.agent.loop_owner import Complete
from tau.ai.model import Model
from tau.base.files import modified_ns
from tau.coding.context import CodingWorld
from tau.coding.extensions import ExtensionCommand, ExtensionShortcut, Face
from tau.ext.extensions import events as x
from tau.ext.extensions.containment import StreamGuard
from tau.ext.extensions.context import ExtensionCommandContext, ExtensionContext
from tau.ext.extensions.extension import Extension, ExtensionReport
from tau.ext.extensions.extension_set import ExtensionSet
from tau.ext.extensions.function_tool import NO_LIMIT_S
from tau.ext.extensions.hooks import ExtensionHooks
from tau.ext.extensions.running_commands import RunningCommands
from tau.ext.extensions.session_link import HostOptions, SessionLink
from tau.ext.extensions.sources import SourceList
from tau.ext.extensions.ui import ExtensionUi

if TYPE_CHECKING:
    from tau.coding.session.session import Session

WATCH_S = 0.5
SETTLE_S = 10.0
"""For handlers of the last events, before a session closes."""


class ExtensionHost(SessionLink):
    """Implements `tau.coding.extensions.SessionExtensions`. In order: `load`, `bind`, `start`, `close`."""

    def __init__(
        self, options: HostOptions, find: Callable[[], SourceList], emit: Callable[[AgentEvent], None]
    ) -> None:
        super().__init__(options, emit)
        self.hooks = ExtensionHooks(self)
        self.set = ExtensionSet(self, find)
        self.extensions = self.set.items
        self.renderers = ExtensionRenderers(self)
        self.is_loading = False
        self.stop_reason: x.StopReason = "quit"
        self.running_command: ContextVar[str] = ContextVar("running_command", default="")
        self._services = AsyncExitStack()
        self.running_commands = RunningCommands()

    async def load(self) -> None:
        """Load the extensions, before there is a session."""
        self._services.enter_context(StreamGuard.installed(self.options.paths.logs))
        self.group = await self._services.enter_async_context(asyncio.TaskGroup())
        await self.set.load_all()

    def bind(
        self, session: "Session", world: CodingWorld, complete: Complete, find_model: Callable[[str], Model]
    ) -> None:
        self.session, self.world, self.complete = session, world, complete
        self.find_model = find_model
        self._usual_tools = session.tools
        self._services.callback(session.subscribe(self._on_event))
        self.changed(tools=True, schemes=True)

    def start(self) -> None:
        """Tell the extensions that the session is open."""
        self.is_open = True
        self.require_session().notices += self.early
        self.early = []
        self._put_start(self.options.reason)

    def _put_start(self, reason: x.StartReason) -> None:
        event = x.SessionStart(reason)
        self.facts.put("session_start", event)
        if reason in ("new", "resume", "fork"):
            self.facts.put("session_branch" if reason == "fork" else "session_switch", event)

    async def close(self) -> None:
        """Wait for the handlers of past events, ask the extensions to finish, and unload them."""
        if self.closed:
            return
        await self.facts.settle(SETTLE_S)
        await self.set.close()
        self.closed = True
        self.end_tasks()
        if self.face is not None and self.face.screen is not None:
            self.face.screen.close()
        self.watchdog.close()
        self.calls.close()
        self._contexts.clear()
        await self._services.aclose()

    async def settle(self) -> None:
        """Wait until the handlers of all past events have run."""
        await self.facts.settle()

    def attach(self, face: Face) -> None:
        self.face = face
        if self.options.watch:
            self.spawn(self._watch(_stamps(self.extensions)))

    async def _watch(self, stamps: dict[Path, int]) -> None:
        """Load again when a file that was given on the command line changes."""
        while True:
            await asyncio.sleep(WATCH_S)
            if (
                now := _stamps(self.extensions)
            ) != stamps and self.require_session().activities.running is False:
                stamps = now
                for line in await self.reload():
                    self.notify(line, "info")

    async def reload(self) -> list[str]:
        """Load all again. Returns what to say."""
        self.facts.put("session_shutdown", x.SessionShutdown("reload"))
        await self.facts.settle()
        await self.set.load_all()
        self._contexts = {one: context for one, context in self._contexts.items() if not one.closed}
        self._put_start("reload")
        names = ", ".join(one.name for one in self.extensions) or "none"
        return [f"Extensions: {names}.", *(f"{one.name}: {one.problem}" for one in self.set.failures)]

    def report(self) -> Sequence[ExtensionReport]:
        return [*(one.report() for one in self.extensions), *self.set.failures]

    def commands(self) -> Sequence[ExtensionCommand]:
        named = {
            command.name: command for one in reversed(self._active()) for command in one.commands.values()
        }
        return [named[name] for name in sorted(named)]

    def shortcuts(self) -> Sequence[ExtensionShortcut]:
        return [shortcut for one in self._active() for shortcut in one.shortcuts.values()]

    async def run_command(self, text: str) -> bool:
        name, _, rest = text.removeprefix("/").partition(" ")
        for extension in self._active():
            if (function := extension.command_functions.get(name)) is not None:
                self.running_command.set(name)
                activities, stoppable = self.require_session().activities, AsyncExitStack()
                context = ExtensionCommandContext(self, extension, stoppable)
                event, words = f"command:{name}", rest.strip()
                work = self.calls.call(extension, event, function, words, context, limit_s=NO_LIMIT_S)
                try:
                    await self.running_commands.run(work, activities, stoppable)
                except Aborted:
                    self.notify(f"Stopped /{name}.", "info")
                return True
        return False

    async def run_shortcut(self, extension: Extension, key: str, function: Callable[..., Any]) -> None:
        await self.calls.call(extension, f"shortcut:{key}", function, self.context(extension))

    def make_context(self, extension: Extension) -> ExtensionContext:
        return ExtensionContext(self, extension)

    def make_ui(self, extension: Extension) -> ExtensionUi:
        return ExtensionUi(self, extension)

    def providers(self) -> list[tuple[Path, dict[str, dict[str, Any]]]]:
        """The model providers of each extension."""
        return [(one.source.file, one.providers) for one in self.extensions if one.providers]

    def on_refused(self, provider: str, reason: str) -> None:
        if self.handlers("credential_disabled"):
            self.facts.put("credential_disabled", x.CredentialDisabled(provider, reason))

    def changed(self, *, tools: bool = False, commands: bool = False, schemes: bool = False) -> None:
        """Something was registered or removed."""
        self._handlers.clear()
        if self.session is None or self.is_loading:
            return
        if tools:
            self.run_on_loop(self._apply_tools)
        if schemes:
            self.run_on_loop(self._apply_schemes)


def _stamps(extensions: Sequence[Extension]) -> dict[Path, int]:
    """When the files that were given on the command line were changed."""
    files = [path for one in extensions if one.source.origin == "flag" for path in one.files()]
    return {path: modified_ns(path) for path in files}


class ExtensionRenderers:
    """Implements `tau.coding.extensions.Renderers`: the first extension that draws it."""

    def __init__(self, host: ExtensionHost) -> None:
        self._host = host

    def _find(self, kind: str, name: str) -> Callable[..., Any] | None:
        for extension in self._host.extensions:
            function = extension.renderers.get((kind, name))
            if function is not None and not extension.disabled:
                return self._host.guarded(extension, f"{kind}_renderer:{name}", function, None)
        return None

    def fail(self, kind: str, name: str, problem: str) -> None:
        for extension in self._host.extensions:
            if extension.renderers.pop((kind, name), None) is not None:
                self._host.calls.fail(extension, f"{kind}_renderer:{name}", problem)

    def tool_call(self, name: str) -> Callable[..., Any] | None:
        return self._find("tool_call", name)

    def tool_result(self, name: str) -> Callable[..., Any] | None:
        return self._find("tool_result", name)

    def message(self, kind: str) -> Callable[..., Any] | None:
        return self._find("message", kind)

    def entry(self, kind: str) -> Callable[..., Any] | None:
        return self._find("entry", kind)

    def thinking(self) -> Callable[[str], str] | None:
        return self._find("thinking", "")
