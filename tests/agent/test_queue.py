"""Queued messages: their order, who may take them, and that none is lost."""

import pytest

from tau.agent.queue import Prompt, Queue, QueuedMessage
from tau.ai.wire import BashExecutionMessage, CustomMessage, TextContent, UserMessage
from tau.base.errors import TauError


def texts(messages: list[Prompt]) -> list[object]:
    return [message.content for message in messages]


def ran(command: str) -> BashExecutionMessage:
    return BashExecutionMessage(command, "", 0, False, False, 1)


def test_one_at_a_time_or_all_at_once() -> None:
    queue = Queue("one-at-a-time", "all")
    for number in range(3):
        queue.steer(UserMessage(f"s{number}", number))
        queue.follow_up(UserMessage(f"f{number}", number))

    assert texts(queue.take_steering()) == ["s0"]
    assert texts(queue.take_follow_ups()) == ["f0", "f1", "f2"]
    assert len(queue) == 2


def test_newest_message_can_be_dequeued_whatever_its_kind() -> None:
    queue = Queue()
    queue.steer(UserMessage("old", 7))
    queue.aside(UserMessage("a job has ended", 7))
    queue.follow_up(UserMessage("new", 7))

    taken = [queue.take_back(), queue.take_back(), queue.take_back()]

    assert [message and message.content for message in taken] == ["new", "old", None]
    assert [item.kind for item in queue.waiting()] == ["aside"]


def test_waiting_messages_are_shown_in_order_and_cleared_at_once() -> None:
    queue = Queue()
    queue.follow_up(UserMessage([TextContent("then"), TextContent("that")], 1))
    queue.aside(CustomMessage("job", "a job has ended", True, 2))
    queue.steer(UserMessage("now", 3))
    queue.hold(ran("ls"))

    assert [(item.kind, item.text) for item in queue.waiting()] == [
        ("followUp", "then\nthat"),
        ("aside", "a job has ended"),
        ("steering", "now"),
        ("held", "ls"),
    ]
    assert len(queue) == 2
    assert [message.timestamp for message in queue.clear()] == [1, 3]
    assert [item.kind for item in queue.waiting()] == ["aside", "held"]
    assert queue.clear() == []


def test_queue_is_bounded_and_says_so() -> None:
    queue = Queue()
    for number in range(1000):
        queue.steer(UserMessage("x", number))

    with pytest.raises(TauError, match="queue is full"):
        queue.follow_up(UserMessage("one more", 0))


def test_timestamps_are_unique() -> None:
    queue = Queue("all")
    for _ in range(3):
        queue.steer(UserMessage("again", 5))
    queue.steer(UserMessage("the clock was set back", 1))

    assert [item.message.timestamp for item in queue.waiting()] == [5, 6, 7, 8]


def test_message_taken_but_not_recorded_returns_to_its_position() -> None:
    queue = Queue("all", "all")
    for text in ("a", "b", "c"):
        queue.steer(UserMessage(text, 1))
    first, second, _ = queue.take_steering()
    queue.steer(UserMessage("d", 1))
    queue.settle(first)

    assert [item.text for item in queue.unsettled()] == ["b", "c", "d"]
    queue.put_back()
    assert texts(queue.take_steering()) == ["b", "c", "d"]
    queue.settle(UserMessage("b", second.timestamp))  # equal, but not ours
    assert [item.text for item in queue.unsettled()] == ["b", "c", "d"]


def test_held_message_stays_until_it_is_recorded() -> None:
    queue = Queue()
    for command in ("one", "two"):
        queue.hold(ran(command))
    recorded: list[str] = []

    def record(message: object) -> None:
        assert isinstance(message, BashExecutionMessage)
        if recorded:
            raise OSError("no space")
        recorded.append(message.command)

    with pytest.raises(OSError, match="no space"):
        queue.release(record)

    assert recorded == ["one"]
    assert [item.text for item in queue.waiting()] == ["two"]


def test_every_change_is_reported() -> None:
    queue = Queue()
    seen: list[list[str]] = []
    queue.on_change = lambda: seen.append([item.text for item in queue.waiting()])

    queue.steer(UserMessage("a", 1))
    queue.follow_up(UserMessage("b", 1))
    [taken] = queue.take_steering()
    queue.put_back()
    [taken] = queue.take_steering()
    queue.settle(taken)
    queue.settle(taken)
    queue.take_back()
    queue.take_back()

    assert seen == [["a"], ["a", "b"], ["b"], ["a", "b"], ["b"], ["b"], []]
    queue.steer(UserMessage("c", 1))
    queue.clear()
    queue.restore([QueuedMessage("steering", UserMessage("d", 1))])
    assert seen[7:] == [["c"], [], ["d"]]


def test_no_ops_are_not_reported() -> None:
    queue = Queue()
    seen: list[object] = []
    queue.on_change = lambda: seen.append(queue.waiting())

    assert queue.take_steering() == queue.take_asides() == queue.clear() == []
    queue.put_back()

    assert seen == []


def test_restored_messages_come_first_and_keep_their_timestamp() -> None:
    queue = Queue("all")
    queue.steer(UserMessage("new", 1))
    queue.restore([QueuedMessage("steering", UserMessage("old", 50))])
    queue.steer(UserMessage("newest", 3))

    assert [(item.text, item.message.timestamp) for item in queue.waiting()] == [
        ("old", 50),
        ("new", 1),
        ("newest", 51),
    ]


def test_message_with_a_unique_timestamp_stays_the_same_object() -> None:
    queue = Queue()
    message = UserMessage("x", 7)
    queue.steer(message)
    assert queue.take_steering()[0] is message


def test_job_results_are_not_cleared() -> None:
    queue = Queue()
    queue.aside(UserMessage("a job has ended", 1))
    queue.steer(UserMessage("mine", 2))

    assert texts(list(queue.clear())) == ["mine"]
    assert [item.text for item in queue.waiting()] == ["a job has ended"]
