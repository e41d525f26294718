"""Messages that wait for their moment: steering between turns, asides with it, follow-ups at the stop."""

from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from tau.ai.wire import BashExecutionMessage, CustomMessage, PythonExecutionMessage, UserMessage, text_of
from tau.base.errors import TauError

TakeMode = Literal["one-at-a-time", "all"]
_Kind = Literal["steering", "followUp", "aside", "held"]
Prompt: TypeAlias = UserMessage | CustomMessage
QueueRunner: TypeAlias = BashExecutionMessage | PythonExecutionMessage

MAX_WAITING = 1000
_TYPED = ("steering", "followUp")


class QueuedMessage(Struct, frozen=True, rename="camel"):
    """A message and what it waits for. `held` is what the user ran meanwhile: it waits for the turn's end."""

    kind: _Kind
    message: Prompt | QueueRunner

    @property
    def text(self) -> str:
        return spoken_text(self.message)


def spoken_text(message: Prompt | QueueRunner) -> str:
    """What somebody typed: the words of a message, or what was run."""
    match message:
        case BashExecutionMessage(command=text) | PythonExecutionMessage(code=text):
            return text
        case UserMessage(content=content) | CustomMessage(content=content):
            return content if isinstance(content, str) else text_of(content)


def nobody() -> None:
    """Listens to a queue to which nobody else does."""


class Queue:
    """Messages leave it through `take_*` (for the loop), `take_back` and `clear` (for the user) only.

    What the loop has taken is kept until it is settled, which means recorded; what is not goes back to its
    place. No two messages have the same timestamp, so that one can be told from another with the same words.
    `on_change` is called whenever something came or went, and must not raise.
    """

    def __init__(
        self, steering_mode: TakeMode = "one-at-a-time", follow_up_mode: TakeMode = "one-at-a-time"
    ) -> None:
        self.steering_mode: TakeMode = steering_mode
        self.follow_up_mode: TakeMode = follow_up_mode
        self.on_change: Callable[[], None] = nobody
        self._waiting: list[QueuedMessage] = []  # as they came
        self._taken: list[QueuedMessage] = []
        self._newest_ms = 0

    def __len__(self) -> int:
        """The user's messages that wait."""
        return sum(item.kind in _TYPED for item in self._waiting)

    @property
    def has_steering(self) -> bool:
        return any(item.kind == "steering" for item in self._waiting)

    def waiting(self) -> list[QueuedMessage]:
        """What waits, in the order in which it came."""
        return list(self._waiting)

    def unsettled(self) -> list[QueuedMessage]:
        """What must not be lost: all that waits, and what was taken but is not recorded yet."""
        return [*self._taken, *self._waiting]

    def steer(self, message: UserMessage) -> None:
        self._put("steering", message)

    def follow_up(self, message: UserMessage) -> None:
        self._put("followUp", message)

    def aside(self, message: Prompt) -> None:
        """Something that a background job has to say: it goes along with what comes next."""
        self._put("aside", message)

    def hold(self, message: QueueRunner) -> None:
        """What the user ran during a turn: `release` records it behind the turn's results."""
        self._put("held", message)

    def restore(self, items: Iterable[QueuedMessage]) -> None:
        """Put back what waited in an earlier life of the session, before all that waits now."""
        self._waiting[:0] = items
        self._newest_ms = max([self._newest_ms, *(item.message.timestamp for item in self._waiting)])
        self.on_change()

    def take_steering(self) -> list[Prompt]:
        return self._take("steering", self.steering_mode)

    def take_asides(self) -> list[Prompt]:
        return self._take("aside", "all")

    def take_follow_ups(self) -> list[Prompt]:
        return self._take("followUp", self.follow_up_mode)

    def release(self, record: Callable[[QueueRunner], object]) -> None:
        """Record what is held. An error ends this, and what is not recorded stays."""
        for item in tuple(self._waiting):
            if not isinstance(item.message, Prompt):
                record(item.message)
                self.settle(item.message)

    def settle(self, message: Prompt | QueueRunner) -> None:
        """This message is recorded; the queue no longer answers for it. One of somebody else's is ignored."""
        before = len(self._taken) + len(self._waiting)
        self._taken = [item for item in self._taken if item.message is not message]
        self._waiting = [item for item in self._waiting if item.message is not message]
        if len(self._taken) + len(self._waiting) < before:
            self.on_change()

    def put_back(self) -> None:
        """What was taken and never settled waits again, first in its line."""
        if self._taken:
            self._waiting[:0] = self._taken
            self._taken = []
            self.on_change()

    def take_back(self) -> UserMessage | None:
        """The message that the user queued last, out of the queue again."""
        for place in range(len(self._waiting) - 1, -1, -1):
            item = self._waiting[place]
            if item.kind in _TYPED and isinstance(item.message, UserMessage):
                del self._waiting[place]
                self.on_change()
                return item.message
        return None

    def clear(self) -> list[UserMessage]:
        """All that the user has queued, out of the queue again, in order; what jobs have to say stays."""
        cleared = [
            item.message
            for item in self._waiting
            if item.kind in _TYPED and isinstance(item.message, UserMessage)
        ]
        if cleared:
            self._waiting = [item for item in self._waiting if item.kind not in _TYPED]
            self.on_change()
        return cleared

    def _put(self, kind: _Kind, message: Prompt | QueueRunner) -> None:
        if len(self._waiting) >= MAX_WAITING:
            raise TauError(
                f"{MAX_WAITING} messages are waiting already; wait for the agent or take some back."
            )
        self._newest_ms = max(self._newest_ms + 1, message.timestamp)
        if message.timestamp != self._newest_ms:
            message = replace(message, timestamp=self._newest_ms)
        self._waiting.append(QueuedMessage(kind, message))
        self.on_change()

    def _take(self, kind: _Kind, mode: TakeMode) -> list[Prompt]:
        found = [item for item in self._waiting if item.kind == kind]
        if mode == "one-at-a-time":
            del found[1:]
        if not found:
            return []
        self._waiting = [item for item in self._waiting if not any(item is taken for taken in found)]
        self._taken += found
        self.on_change()
        return [item.message for item in found if isinstance(item.message, Prompt)]
