"""Messages that wait."""

import pytest

from tau.agent.queue import MAX_WAITING, Queue
from tau.ai.wire import UserMessage
from tau.base.errors import TauError


def test_one_at_a_time_and_all() -> None:
    queue = Queue("one-at-a-time", "all")
    for number in range(3):
        queue.steer(UserMessage(f"s{number}", number))
        queue.follow_up(UserMessage(f"f{number}", number))

    assert [message.content for message in queue.take_steering()] == ["s0"]
    assert [message.content for message in queue.take_follow_ups()] == ["f0", "f1", "f2"]
    assert len(queue) == 2


def test_the_newest_can_be_taken_back() -> None:
    queue = Queue()
    queue.steer(UserMessage("old", 1))
    queue.follow_up(UserMessage("new", 2))

    assert [queue.take_back(), queue.take_back(), queue.take_back()] == [
        UserMessage("new", 2),
        UserMessage("old", 1),
        None,
    ]


def test_it_is_bounded_and_says_so() -> None:
    queue = Queue()
    for number in range(MAX_WAITING):
        queue.steer(UserMessage("x", number))

    with pytest.raises(TauError, match="waiting already"):
        queue.follow_up(UserMessage("one more", 0))
