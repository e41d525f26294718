"""Queued messages: steering and asides go in between turns, follow-ups when the agent would stop."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct
from msgspec.structs import replace

from tau.ai.wire import (
    Attachment,
    BashExecutionMessage,
    CustomMessage,
    ImageContent,
    PythonExecutionMessage,
    TextContent,
    UserContent,
    UserMessage,
    text_of,
)
from tau.base.clock import now_ms
from tau.base.errors import TauError

TakeMode = Literal["one-at-a-time", "all"]
_Kind = Literal["steering", "followUp", "aside", "held"]
Prompt: TypeAlias = UserMessage | CustomMessage
UserExecution: TypeAlias = BashExecutionMessage | PythonExecutionMessage

MAX_WAITING = 1000
_TYPED = ("steering", "followUp")


class QueuedMessage(Struct, frozen=True, rename="camel"):
    """A message and when to send it. `held` is code the user ran during a turn, recorded after it."""

    kind: _Kind
    message: Prompt | UserExecution

    @property
    def text(self) -> str:
        return typed_text(self.message)


def typed_text(message: Prompt | UserExecution) -> str:
    """The text of a message, or the code that was run."""
    match message:
        case BashExecutionMessage(command=text) | PythonExecutionMessage(code=text):
            return text
        case UserMessage(content=content) | CustomMessage(content=content):
            return content if isinstance(content, str) else text_of(content)


def user_message(
    text: str, images: Sequence[ImageContent] = (), attachments: Sequence[Attachment] = ()
) -> UserMessage:
    """A message that the user sends now."""
    content: str | list[UserContent] = [TextContent(text), *images] if images else text
    return UserMessage(content, now_ms(), list(attachments) if attachments else UNSET)


class Queue:
    """Messages leave only through `take_*` (for the loop), `take_back` and `clear` (for the user).

    A message that the loop took stays here until it is settled, that is, recorded; otherwise it returns to
    its place. Timestamps are unique, so that messages with the same text differ. `on_change` is
    called after each change and must not raise.
    """

    def __init__(
        self, steering_mode: TakeMode = "one-at-a-time", follow_up_mode: TakeMode = "one-at-a-time"
    ) -> None:
        self.steering_mode: TakeMode = steering_mode
        self.follow_up_mode: TakeMode = follow_up_mode
        self.on_change: Callable[[], None] = lambda: None
        self._waiting: list[QueuedMessage] = []  # in order of arrival
        self._taken: list[QueuedMessage] = []
        self._newest_ms = 0

    def __len__(self) -> int:
        """The number of queued user messages."""
        return sum(item.kind in _TYPED for item in self._waiting)

    @property
    def has_steering(self) -> bool:
        return any(item.kind == "steering" for item in self._waiting)

    def waiting(self) -> list[QueuedMessage]:
        """All queued messages, in order of arrival."""
        return list(self._waiting)

    def unsettled(self) -> list[QueuedMessage]:
        """What must not be lost: queued messages, and those taken but not yet recorded."""
        return [*self._taken, *self._waiting]

    def steer(self, message: UserMessage) -> None:
        self._put("steering", message)

    def follow_up(self, message: Prompt) -> None:
        self._put("followUp", message)

    def aside(self, message: Prompt) -> None:
        """Queue a background job's message to be sent before the next one."""
        self._put("aside", message)

    def hold(self, message: UserExecution) -> None:
        """Keep what the user ran during a turn; `release` records it after the turn's results."""
        self._put("held", message)

    def restore(self, items: Iterable[QueuedMessage]) -> None:
        """Put messages from an earlier process in front of those queued now."""
        self._waiting[:0] = items
        self._newest_ms = max([self._newest_ms, *(item.message.timestamp for item in self._waiting)])
        self.on_change()

    def take_steering(self) -> list[Prompt]:
        return self._take("steering", self.steering_mode)

    def take_asides(self) -> list[Prompt]:
        return self._take("aside", "all")

    def take_follow_ups(self) -> list[Prompt]:
        return self._take("followUp", self.follow_up_mode)

    def release(self, record: Callable[[UserExecution], object]) -> None:
        """Record what is held. On an error, what is not yet recorded stays held."""
        for item in tuple(self._waiting):
            if not isinstance(item.message, Prompt):
                record(item.message)
                self.settle(item.message)

    def settle(self, message: Prompt | UserExecution) -> None:
        """Forget a message that is now recorded. One that is not from this queue is ignored."""
        before = len(self._taken) + len(self._waiting)
        self._taken = [item for item in self._taken if item.message is not message]
        self._waiting = [item for item in self._waiting if item.message is not message]
        if len(self._taken) + len(self._waiting) < before:
            self.on_change()

    def put_back(self) -> None:
        """Return messages that were taken but never settled to the front of their lines."""
        if self._taken:
            self._waiting[:0] = self._taken
            self._taken = []
            self.on_change()

    def take_back(self) -> UserMessage | None:
        """Remove and return the message that the user queued last."""
        for index in range(len(self._waiting) - 1, -1, -1):
            item = self._waiting[index]
            if item.kind in _TYPED and isinstance(item.message, UserMessage):
                del self._waiting[index]
                self.on_change()
                return item.message
        return None

    def clear(self) -> list[UserMessage]:
        """Remove and return all messages of the user, in order; those of jobs stay."""
        cleared = [
            item.message
            for item in self._waiting
            if item.kind in _TYPED and isinstance(item.message, UserMessage)
        ]
        if cleared:
            self._waiting = [item for item in self._waiting if item.kind not in _TYPED]
            self.on_change()
        return cleared

    def _put(self, kind: _Kind, message: Prompt | UserExecution) -> None:
        if len(self._waiting) >= MAX_WAITING:
            raise TauError(f"The queue is full ({MAX_WAITING} messages); wait for the agent or remove some.")
        self._newest_ms = max(self._newest_ms + 1, message.timestamp)
        if message.timestamp != self._newest_ms:
            message = replace(message, timestamp=self._newest_ms)
        self._waiting.append(QueuedMessage(kind, message))
        self.on_change()

    def _take(self, kind: _Kind, mode: TakeMode) -> list[Prompt]:
        matching = [item for item in self._waiting if item.kind == kind]
        if mode == "one-at-a-time":
            del matching[1:]
        if not matching:
            return []
        self._waiting = [item for item in self._waiting if not any(item is taken for taken in matching)]
        self._taken += matching
        self.on_change()
        return [item.message for item in matching if isinstance(item.message, Prompt)]
