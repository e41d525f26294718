"""What the session and its extensions use of each other: tools, notes, streams, events."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tau.agent.events import AgentEvent, AgentSettled, MessageEnd, MessageStart
from tau.agent.loop_owner import Complete, StreamFunction
from tau.agent.tool import Tool, is_named
from tau.agent.ui import NoticeLevel, Ui
from tau.ai.dialect import Delta, Request
from tau.ai.model import Model
from tau.ai.wire import CustomMessage
from tau.base.errors import ExtensionError, TauError
from tau.coding.context import CodingWorld
from tau.coding.extensions import ExtensionScreen
from tau.config.paths import Paths
from tau.ext.extensions import events as x
from tau.ext.extensions.context import ExtensionContext
from tau.ext.extensions.event_queue import EventQueue
from tau.ext.extensions.extension import Extension
from tau.ext.extensions.function_tool import ReplacementTool
from tau.ext.extensions.runtime import ExtensionRuntime


class HostOptions(Struct, frozen=True, kw_only=True):
    """`flags` are those of `--flag`; `reason` says why the session opens; `ui` is where dialogs go.

    `tools` are the names and patterns that the session is limited to.
    """

    paths: Paths
    cwd: Path
    flags: Mapping[str, str] = {}
    reason: x.StartReason = "startup"
    ui: Ui | None = None
    watch: bool = False
    tools: Sequence[str] | None = None


class SessionLink(ExtensionRuntime):
    """The half of an `ExtensionHost` that faces the session; see there."""

    world: CodingWorld
    complete: Complete
    find_model: Callable[[str], Model]

    def __init__(self, options: HostOptions, emit: Callable[[AgentEvent], None]) -> None:
        super().__init__(emit)
        self.options = options
        self.facts = EventQueue(self)
        self._handlers: dict[str, list[tuple[Extension, Callable[..., Any]]]] = {}
        self._contexts: dict[Extension, ExtensionContext] = {}
        self._later: list[CustomMessage] = []
        self._usual_tools: Sequence[Tool[Any]] = ()
        self._tool_names: frozenset[str] = frozenset()
        self._hidden_tools: frozenset[str] = frozenset()
        self._schemes: set[str] = set()

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

    def make_context(self, extension: Extension) -> ExtensionContext:
        raise NotImplementedError

    def context(self, extension: Extension) -> ExtensionContext:
        if extension not in self._contexts:
            self._contexts[extension] = self.make_context(extension)
        return self._contexts[extension]

    def handlers(self, event: str) -> list[tuple[Extension, Callable[..., Any]]]:
        """The functions for an event, in load order."""
        found = self._handlers.get(event)
        if found is None:
            found = [(one, function) for one in self.extensions for function in one.handlers.get(event, ())]
            self._handlers[event] = found
        return found

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
        mine = {name: row for name, row in mine.items() if is_named(name, self.options.tools)}
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

    def _active(self) -> list[Extension]:
        return [one for one in self.extensions if not one.disabled]
