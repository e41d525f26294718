"""What an extension does to its session, from any thread."""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import UNSET, Struct

from tau.agent.queue import user_message
from tau.ai.dialect import Request
from tau.ai.model import Model, ThinkingLevel
from tau.ai.wire import CustomMessage, UserMessage
from tau.base.clock import now_ms
from tau.base.errors import TauError
from tau.base.run import Limits, capture
from tau.base.sizes import MIB
from tau.coding.session.entries import CustomEntry
from tau.ext.extensions.containment import ExtensionLog
from tau.ext.extensions.context import HostClient, on_loop
from tau.ext.extensions.event_hub import EventHub

if TYPE_CHECKING:
    from tau.coding.extensions import ExtensionCommand

Delivery = Literal["steer", "follow_up", "next_turn"]
MAX_OUTPUT_BYTES = MIB


class ExecResult(Struct, frozen=True):
    output: str
    exit_code: int | None  # None: a signal ended it
    timed_out: bool = False
    truncated: bool = False


class SessionActions(HostClient):
    """Available once the session is open, from the event `session_start` on."""

    @on_loop
    def send_message(
        self,
        text: str,
        *,
        kind: str = "",
        deliver: Delivery = "steer",
        trigger_turn: bool = False,
        display: bool = True,
        details: Any = UNSET,
    ) -> None:
        """Send a note to the model, shown under `kind`.

        While the agent works, it arrives after the current step (`steer`), when it would stop (`follow_up`),
        or with the user's next message (`next_turn`). An idle agent reads it with the next message, or at
        once with `trigger_turn`.
        """
        note = CustomMessage(kind or self._extension.name, text, display, now_ms(), details)
        self._host.deliver(note, deliver, trigger_turn=trigger_turn)

    @on_loop
    def send_user_message(self, text: str, *, deliver: Literal["steer", "follow_up"] = "steer") -> None:
        """Send a message as if the user had typed it; starts the agent if it is idle."""
        if self._session.activities.running and deliver == "follow_up":
            self._session.queue.follow_up(user_message(text))
        else:
            self._host.require_face().prompt(text)

    @on_loop
    def append_entry(self, kind: str, data: Any = UNSET) -> str:
        """Store JSON data in the session; models do not see it. `ctx.session.data(kind)` reads it."""
        return self._session.log.append(CustomEntry(custom_type=kind, data=data))

    @on_loop
    async def exec(
        self,
        command: str | Sequence[str],
        *,
        cwd: Path | None = None,
        timeout: float | None = 60,
        env: dict[str, str] | None = None,
    ) -> ExecResult:
        """Run a program (a list) or a shell command (text) in the sandbox; keeps 1 MiB of output."""
        world = self._host.world
        process = await world.run.start(
            command if isinstance(command, str) else list(command),
            cwd=cwd or world.cwd,
            env=env,
            limits=Limits(timeout=timeout),
        )
        self._extension.processes.add(process)
        try:
            async with process:
                done = await capture(process, max_bytes=MAX_OUTPUT_BYTES)
        finally:
            self._extension.processes.discard(process)
        text = done.output.decode("utf-8", "replace")
        return ExecResult(text, done.exit.code, done.exit.timed_out, done.dropped_bytes > 0)

    @on_loop
    async def complete(
        self, prompt: str, *, system: str = "", role: str = "smol", max_tokens: int = 2_000
    ) -> str:
        """Ask the model of a role one question; its cost counts for the session. Raises TauError."""
        model = self._host.world.models.role(role)
        request = Request(
            system=system,
            messages=[UserMessage(prompt, now_ms())],
            tools=[],
            max_tokens=min(max_tokens, model.max_tokens),
        )
        return (await self._host.complete(model, request)).text

    @on_loop
    def tools(self) -> list[str]:
        """The names of all tools of the session."""
        return [tool.name for tool in self._session.tools]

    @on_loop
    def active_tools(self) -> list[str]:
        """The names of the tools that requests offer."""
        return [tool.name for tool in self._session.requests.tools]

    @on_loop
    def set_active_tools(self, names: Sequence[str]) -> None:
        """Offer only these tools from the next request on."""
        self._host.set_active_tools(names)

    @property
    @on_loop
    def model(self) -> Model:
        return self._session.model

    @on_loop
    def set_model(self, pattern: str) -> Model:
        """Use the model that `pattern` names, as `--model` does. Raises TauError if there is none."""
        model = self._host.find_model(pattern)
        self._session.use_model(model)
        return model

    @property
    @on_loop
    def thinking(self) -> ThinkingLevel:
        return self._session.thinking

    @on_loop
    def set_thinking(self, level: ThinkingLevel) -> None:
        self._session.use_thinking(level)

    @on_loop
    def set_name(self, name: str) -> None:
        """Name the session."""
        self._session.names.rename(name)

    @on_loop
    def set_label(self, entry: str, label: str | None) -> None:
        """Label an entry of the session's tree; None removes the label."""
        self._session.tree.label(entry, label)

    @on_loop
    def commands(self) -> "list[ExtensionCommand]":
        """The commands of all extensions."""
        return list(self._host.commands())

    def task(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run a coroutine in the background; it ends with the session."""
        self._host.check(self._extension)
        self._host.run_on_loop(lambda: self._host.start_task(self._extension, work))

    def every(self, seconds: float, function: Callable[[], Awaitable[None] | None]) -> None:
        """Call a function again and again, with this pause; it ends with the session."""
        if seconds < 0.05:
            raise TauError("tau.every needs at least 0.05 seconds.")
        self.task(self._host.repeat(self._extension, seconds, function))

    @property
    def events(self) -> EventHub:
        """Events between extensions: `events.on(name, function)` and `events.emit(name, data)`."""
        return self._host.hub(self._extension)

    @property
    def log(self) -> ExtensionLog:
        """The extension's own log file."""
        return self._extension.log
