"""The extensions of one session: what they offer to its face, and what they may use of it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from tau.agent.events import AgentEvent, AgentSettled, MessageEnd, MessageStart
from tau.agent.loop_owner import Complete, StreamFunction
from tau.agent.tool import Tool
from tau.agent.ui import NoticeLevel, Ui
from tau.ai.dialect import Delta, Request
from tau.ai.model import Model
from tau.ai.wire import CustomMessage
from tau.base.errors import ExtensionError, TauError
from tau.coding.context import CodingWorld
from tau.coding.extensions import ExtensionCommand, ExtensionScreen, ExtensionShortcut, Face
from tau.config.paths import Paths
from tau.ext.extensions import events as x
from tau.ext.extensions.containment import StreamGuard
from tau.ext.extensions.context import CommandContext, Context
from tau.ext.extensions.extension import Extension, ExtensionReport
from tau.ext.extensions.facts import FactQueue
from tau.ext.extensions.function_tool import NO_LIMIT_S, ReplacementTool
from tau.ext.extensions.hooks import ExtensionHooks
from tau.ext.extensions.loading import ExtensionSet
from tau.ext.extensions.runtime import ExtensionRuntime
from tau.ext.extensions.sources import SourceList
from tau.ext.extensions.ui import ExtensionUi

if TYPE_CHECKING:
    from tau.coding.session.session import Session

SETTLE_S = 10.0
"""For handlers of the last events, before a session closes."""


class HostOptions(Struct, frozen=True, kw_only=True):
    """`flags` are those of `--flag`; `reason` says why the session opens; `ui` is where dialogs go."""

    paths: Paths
    cwd: Path
    flags: Mapping[str, str] = {}
    reason: x.StartReason = "startup"
    ui: Ui | None = None


class ExtensionHost(ExtensionRuntime):
    """Implements `tau.coding.extensions.SessionExtensions`. In order: `load`, `bind`, `start`, `close`."""

    world: CodingWorld
    complete: Complete
    find_model: Callable[[str], Model]

    def __init__(
        self, options: HostOptions, find: Callable[[], SourceList], emit: Callable[[AgentEvent], None]
    ) -> None:
        super().__init__(emit)
        self.options = options
        self.facts = FactQueue(self)
        self.hooks = ExtensionHooks(self)
        self.set = ExtensionSet(self, find)
        self.extensions = self.set.items
        self.renderers = ExtensionRenderers(self)
        self.is_loading = False
        self.stop_reason: x.StopReason = "quit"
        self.running_command: ContextVar[str] = ContextVar("running_command", default="")
        self._handlers: dict[str, list[tuple[Extension, Callable[..., Any]]]] = {}
        self._contexts: dict[Extension, Context] = {}
        self._services = AsyncExitStack()
        self._later: list[CustomMessage] = []
        self._usual_tools: Sequence[Tool[Any]] = ()
        self._tool_names: frozenset[str] = frozenset()
        self._hidden_tools: frozenset[str] = frozenset()
        self._schemes: set[str] = set()

    async def load(self) -> None:
        """Load the extensions, before there is a session."""
        self._services.enter_context(StreamGuard.installed())
        self.group = await self._services.enter_async_context(asyncio.TaskGroup())
        await self.set.load_all()

    def bind(
        self, session: "Session", world: CodingWorld, complete: Complete, find_model: Callable[[str], Model]
    ) -> None:
        self.session, self.world, self.complete = session, world, complete
        self.find_model = find_model
        self._usual_tools = session.tools
        session.notices += self.early
        self.early = []
        self._services.callback(session.subscribe(self._on_event))
        self.changed(tools=True, schemes=True)

    def start(self) -> None:
        """Tell the extensions that the session is open."""
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

    def attach(self, face: Face) -> None:
        self.face = face

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
                context = CommandContext(self, extension)
                await self.calls.call(
                    extension, f"command:{name}", function, rest.strip(), context, limit_s=NO_LIMIT_S
                )
                return True
        return False

    async def run_shortcut(self, extension: Extension, key: str, function: Callable[..., Any]) -> None:
        await self.calls.call(extension, f"shortcut:{key}", function, self.context(extension))

    @property
    def mode(self) -> str:
        return "sdk" if self.face is None else self.face.mode

    @property
    def screen(self) -> ExtensionScreen | None:
        return None if self.face is None else self.face.screen

    @property
    def dialog_ui(self) -> Ui | None:
        return self.options.ui

    @property
    def display(self) -> Ui | None:
        return self.options.ui if self.face is None else self.face.display

    def make_ui(self, extension: Extension) -> ExtensionUi:
        return ExtensionUi(self, extension)

    def context(self, extension: Extension) -> Context:
        if extension not in self._contexts:
            self._contexts[extension] = Context(self, extension)
        return self._contexts[extension]

    def handlers(self, event: str) -> list[tuple[Extension, Callable[..., Any]]]:
        """The functions for an event, in load order."""
        found = self._handlers.get(event)
        if found is None:
            found = [(one, function) for one in self.extensions for function in one.handlers.get(event, ())]
            self._handlers[event] = found
        return found

    def changed(self, *, tools: bool = False, commands: bool = False, schemes: bool = False) -> None:
        """Something was registered or removed."""
        self._handlers.clear()
        if self.session is None or self.is_loading:
            return
        if tools:
            self.run_on_loop(self._apply_tools)
        if schemes:
            self.run_on_loop(self._apply_schemes)

    def set_active_tools(self, names: Sequence[str]) -> None:
        session = self.require_session()
        known = {tool.name for tool in session.tools}
        if unknown := sorted(set(names) - known):
            raise TauError(
                f"There are no tools named {', '.join(unknown)}; there are {', '.join(sorted(known))}."
            )
        self._hidden_tools = frozenset(known - set(names))
        self._apply_tools()

    def notify(self, message: str, level: NoticeLevel) -> None:
        if (ui := self.display) is not None:
            ui.notify(message, level)
        else:
            self.say("", message, level)

    def deliver(self, note: CustomMessage, how: str, *, trigger_turn: bool) -> None:
        session = self.require_session()
        queue, is_busy = session.queue, session.activities.running
        if how == "next_turn":
            self._later.append(note)
            if not is_busy:
                self._flush()
        elif is_busy:
            (queue.follow_up if how == "follow_up" else queue.aside)(note)
        elif trigger_turn:
            queue.aside(note)
            self.require_face().wake()
        else:
            session.log.append_message(note)
            session.emit(MessageStart(note))
            session.emit(MessageEnd(note))

    async def idle(self) -> None:
        """Wait until the agent has stopped."""
        session = self.require_session()
        settled = asyncio.Event()
        stop = session.subscribe(lambda event: settled.set() if isinstance(event, AgentSettled) else None)
        try:
            while session.activities.running:
                settled.clear()
                await settled.wait()
                await asyncio.sleep(0)
        finally:
            stop()

    def wrap_stream(self, stream: StreamFunction) -> StreamFunction:
        """The stream with the headers that extensions add."""

        def wrapped(model: Model, request: Request) -> AsyncGenerator[Delta, None]:
            if not self.handlers("before_provider_headers"):
                return stream(model, request)
            return with_headers(model, request)

        async def with_headers(model: Model, request: Request) -> AsyncGenerator[Delta, None]:
            headers = dict(model.headers)
            for extension, function in self.handlers("before_provider_headers"):
                try:
                    event = x.BeforeProviderHeaders(model, dict(headers))
                    context = self.context(extension)
                    answer = await self.calls.call(
                        extension, "before_provider_headers", function, event, context
                    )
                except ExtensionError:
                    continue
                headers |= {str(name): str(value) for name, value in (answer or {}).items()}
            async with aclosing(stream(replace(model, headers=headers), request)) as deltas:
                async for delta in deltas:
                    yield delta

        return wrapped

    def on_response(self, model: Model, status: int, headers: Mapping[str, str]) -> None:
        if self.handlers("after_provider_response"):
            self.facts.put("after_provider_response", x.ProviderResponse(model, status, dict(headers)))

    def on_refused(self, provider: str, reason: str) -> None:
        if self.handlers("credential_disabled"):
            self.facts.put("credential_disabled", x.CredentialDisabled(provider, reason))

    def providers(self) -> list[tuple[Path, dict[str, dict[str, Any]]]]:
        """The model providers of each extension."""
        return [(one.source.file, one.providers) for one in self.extensions if one.providers]

    def _active(self) -> list[Extension]:
        return [one for one in self.extensions if not one.disabled]

    def _on_event(self, event: AgentEvent) -> None:
        if (names := x.FACTS.get(type(event))) is not None:
            for name in names:
                if self.handlers(name):
                    self.facts.put(name, event)
        if isinstance(event, AgentSettled) and self._later:
            self._flush()

    def _flush(self) -> None:
        notes, self._later = self._later, []
        for note in notes:
            self.require_session().queue.aside(note)

    def _apply_tools(self) -> None:
        """Give the session the tools of the extensions, in place of those they had before."""
        session, usual = self.require_session(), {tool.name: tool for tool in self._usual_tools}
        mine = {name: (one, tool) for one in reversed(self._active()) for name, tool in one.tools.items()}
        for name in sorted((mine.keys() & usual.keys()) - self._tool_names):
            self.say(mine[name][0].name, f"Extension {mine[name][0].name} replaces the tool {name}.", "info")
        foreign = [
            tool
            for tool in session.requests.tools
            if tool.name not in usual and tool.name not in self._tool_names
        ]
        self._tool_names = frozenset(mine)
        session.tools = [
            *(ReplacementTool(tool, mine[name][1]) if name in mine else tool for name, tool in usual.items()),
            *(tool for name, (_, tool) in mine.items() if name not in usual),
        ]
        session.requests.tools = [
            tool for tool in (*session.tools, *foreign) if tool.name not in self._hidden_tools
        ]

    def _apply_schemes(self) -> None:
        urls = self.require_session().urls
        wanted = {name: scheme for one in self._active() for name, scheme in one.schemes.items()}
        for name in self._schemes - wanted.keys():
            urls.unregister(name)
        for name, scheme in wanted.items():
            if name in self._schemes or name not in urls.names():
                urls.register(scheme)
                self._schemes.add(name)
            else:
                self.say(
                    scheme.scheme, f"The URL scheme {name}:// is tau's own; the extension's is not used."
                )
        self._schemes &= wanted.keys()


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
