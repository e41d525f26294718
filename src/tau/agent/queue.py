"""Messages that wait for their moment: steering between turns, follow-ups when the agent would stop."""

from collections import deque
from typing import Literal

from tau.ai.wire import UserMessage
from tau.base.errors import TauError

TakeMode = Literal["one-at-a-time", "all"]
MAX_WAITING = 1000


class Queue:
    """Messages leave it through `take_*` (for the loop) and `take_back` (for the user) only.

    An abort does not empty it.
    """

    def __init__(
        self, steering_mode: TakeMode = "one-at-a-time", follow_up_mode: TakeMode = "one-at-a-time"
    ) -> None:
        self.steering_mode: TakeMode = steering_mode
        self.follow_up_mode: TakeMode = follow_up_mode
        self._steering: deque[UserMessage] = deque()
        self._follow_ups: deque[UserMessage] = deque()

    def __len__(self) -> int:
        return len(self._steering) + len(self._follow_ups)

    @property
    def has_steering(self) -> bool:
        return bool(self._steering)

    def steer(self, message: UserMessage) -> None:
        self._put(self._steering, message)

    def follow_up(self, message: UserMessage) -> None:
        self._put(self._follow_ups, message)

    def take_steering(self) -> list[UserMessage]:
        return _take(self._steering, self.steering_mode)

    def take_follow_ups(self) -> list[UserMessage]:
        return _take(self._follow_ups, self.follow_up_mode)

    def take_back(self) -> UserMessage | None:
        """The message that was queued last, out of the queue again."""
        newest = [queue for queue in (self._steering, self._follow_ups) if queue]
        if not newest:
            return None
        return max(newest, key=lambda queue: queue[-1].timestamp).pop()

    def _put(self, queue: deque[UserMessage], message: UserMessage) -> None:
        if len(self) >= MAX_WAITING:
            raise TauError(
                f"{MAX_WAITING} messages are waiting already; wait for the agent or take some back."
            )
        queue.append(message)


def _take(queue: deque[UserMessage], mode: TakeMode) -> list[UserMessage]:
    if mode == "one-at-a-time":
        return [queue.popleft()] if queue else []
    taken = list(queue)
    queue.clear()
    return taken
