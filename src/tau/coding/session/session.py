"""A session: one conversation with a model, its tools, and its log. Every face holds one."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from tau.agent.abort import Abort
from tau.agent.events import AgentEvent
from tau.agent.loop import Outcome
from tau.agent.owner import Listener
from tau.ai.model import Model, ThinkingLevel
from tau.ai.wire import ImageContent, TextContent, Usage, UserMessage
from tau.base import log
from tau.base.clock import now_ms
from tau.base.errors import SessionError, TauError
from tau.coding.session.entries import ModelChange, ThinkingLevelChange
from tau.coding.session.stats import total_usage
from tau.coding.session.work import SessionParts, Work

CLOSE_S = 5  # for what runs to end and be recorded


class Session:
    """`log`, `models`, `queue` and `notices` are parts that faces use directly."""

    def __init__(self, parts: SessionParts) -> None:
        self.log = parts.log
        self.models = parts.world.models
        self.queue = parts.queue
        self.notices = list(parts.notices)
        self._hooks = parts.hooks
        self._work = Work(parts)
        self._aborts: list[Abort] = []  # the innermost activity last
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def model(self) -> Model:
        return self.models.default

    @property
    def thinking(self) -> ThinkingLevel:
        return self._work.thinking

    @property
    def busy(self) -> bool:
        return bool(self._aborts)

    @property
    def usage(self) -> Usage:
        """All that this session has used so far."""
        return total_usage(self.log.messages())

    async def prompt(self, text: str, images: Sequence[ImageContent] = ()) -> Outcome:
        """Send a message and work until the model stops. While busy, use `steer` or `follow_up`."""
        if self.busy:
            raise TauError("The agent is at work; steer it or queue a follow-up instead.")
        abort = Abort()
        self._aborts.append(abort)
        self._idle.clear()
        try:
            message = await self._hooks.input(_user_message(text, images))
            if message is None:
                return Outcome(message=None, messages=[])
            return await self._work.run([message], abort)
        except SessionError as error:
            log.error("A run ended because it could not be recorded.", error)
            return Outcome(message=None, messages=[], error=error)
        finally:
            self._aborts.remove(abort)
            if not self._aborts:
                self._idle.set()

    def steer(self, text: str, images: Sequence[ImageContent] = ()) -> None:
        """Put a message in between turns of the run that is under way."""
        self.queue.steer(_user_message(text, images))

    def follow_up(self, text: str, images: Sequence[ImageContent] = ()) -> None:
        """Queue a message for when the agent would stop."""
        self.queue.follow_up(_user_message(text, images))

    def abort(self) -> None:
        """Stop the innermost activity. What has been said and done so far is recorded."""
        if self._aborts:
            self._aborts[-1].abort()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Be told what happens; returns the way to stop listening."""
        return self._work.subscribe(listener)

    def emit(self, event: AgentEvent) -> None:
        self._work.emit(event)

    def use_model(self, model: Model) -> None:
        """Go on with another model from the next request on."""
        self.models.default = model
        self.note_changes()

    def use_thinking(self, level: ThinkingLevel) -> None:
        self._work.thinking = level
        self.note_changes()

    def note_changes(self) -> None:
        """Write down model and thinking level where they are not what the log says."""
        context = self.log.context()
        if context.model != (self.model.provider, self.model.id):
            self.log.append(ModelChange(provider=self.model.provider, model_id=self.model.id))
        if context.thinking != self.thinking:
            self.log.append(ThinkingLevelChange(thinking_level=self.thinking))

    async def close(self) -> None:
        """Stop what runs, wait until it is recorded, and give the log back."""
        for abort in self._aborts:
            abort.abort()
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await self._idle.wait()
        self.log.close()


def _user_message(text: str, images: Sequence[ImageContent]) -> UserMessage:
    if not images:
        return UserMessage(text, now_ms())
    return UserMessage([TextContent(text), *images], now_ms())
