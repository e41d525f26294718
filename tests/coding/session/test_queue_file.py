"""The queue survives the program: on disk after each change, restored exactly once."""

import errno
import json
from pathlib import Path
from typing import Any

import pytest

from tau.agent.events import AgentEvent, Notice, QueueChanged
from tau.agent.queue import Queue
from tau.ai.wire import BashExecutionMessage, CustomMessage, ImageContent, TextContent, UserMessage
from tau.coding.session import queue_file
from tau.coding.session.queue_file import persist_queue
from tau.coding.session.storage.log import SessionLog

IMAGE = UserMessage([TextContent("see"), ImageContent("aGk=", "image/png")], 5)


class SessionLife:
    """One process lifetime of a session: its log, its queue, and the events it reported."""

    def __init__(self, log: SessionLog, mode: Any = "one-at-a-time") -> None:
        self.log = log
        self.queue = Queue(mode, mode)
        self.emitted: list[AgentEvent] = []
        self.notices = persist_queue(self.queue, log, self.emitted.append)

    @property
    def file(self) -> Path:
        assert self.log.artifacts_folder is not None
        return self.log.artifacts_folder / "queue.json"

    @property
    def waiting(self) -> list[tuple[str, str]]:
        return [(item.kind, item.text) for item in self.queue.waiting()]

    def record(self, message: Any) -> None:
        self.log.append_message(message)
        self.queue.settle(message)

    def again(self) -> "SessionLife":
        """The program ended, in whatever way, and the session is reopened."""
        self.log.close()
        assert self.log.path is not None
        return SessionLife(SessionLog.open(self.log.path))


@pytest.fixture
def life(tmp_path: Path) -> Any:
    log = SessionLog.new(tmp_path, tmp_path)
    log.append_message(UserMessage("go", 1))
    made = SessionLife(log)
    yield made
    made.log.close()


def test_queued_messages_return_when_the_session_is_reopened(life: SessionLife) -> None:
    life.queue.steer(UserMessage("steer", 2))
    life.queue.follow_up(IMAGE)
    life.queue.aside(CustomMessage("job", "done", True, 7, {"id": 3}))
    life.queue.hold(BashExecutionMessage("ls", "a\n", 0, False, False, 8))

    again = life.again()

    assert again.waiting == [("steering", "steer"), ("followUp", "see"), ("aside", "done"), ("held", "ls")]
    assert [item.message for item in again.queue.waiting()][1] == IMAGE
    assert [notice.message for notice in again.notices] == [
        "2 messages queued when the session ended will be sent after your next message."
    ]
    assert again.file.stat().st_mode & 0o777 == 0o600
    again.log.close()


def test_clearing_restored_messages_is_reported(life: SessionLife) -> None:
    life.queue.steer(UserMessage("steer", 2))
    again = life.again()
    again.queue.clear()
    assert again.emitted == [QueueChanged([], [])]
    again.log.close()


def test_file_is_deleted_when_the_queue_is_empty(life: SessionLife) -> None:
    life.queue.steer(UserMessage("one", 2))
    life.queue.steer(UserMessage("two", 3))
    assert life.file.exists()

    [taken] = life.queue.take_steering()
    assert len(json.loads(life.file.read_bytes())["waiting"]) == 2  # until it is recorded
    life.record(taken)
    assert len(json.loads(life.file.read_bytes())["waiting"]) == 1
    life.queue.take_back()

    assert not life.file.parent.exists()
    again = life.again()
    assert again.waiting == [] and again.notices == []
    again.log.close()


def test_other_artifacts_are_kept(life: SessionLife) -> None:
    life.queue.steer(UserMessage("one", 2))
    (life.file.parent / "0.bash.log").write_text("x")
    life.queue.take_back()
    assert [path.name for path in life.file.parent.iterdir()] == ["0.bash.log"]


def test_message_recorded_just_before_the_crash_is_not_queued_again(life: SessionLife) -> None:
    for _ in range(3):
        life.queue.steer(UserMessage("the same words", 2))
    [taken] = life.queue.take_steering()
    life.log.append_message(taken)  # the program dies here

    again = life.again()

    assert len(again.waiting) == 2
    assert len(json.loads(again.file.read_bytes())["waiting"]) == 2
    third = again.again()
    assert len(third.waiting) == 2
    third.log.close()


def test_message_taken_but_not_recorded_is_queued_again(life: SessionLife) -> None:
    life.queue.follow_up(UserMessage("one", 2))
    life.queue.take_follow_ups()
    again = life.again()
    assert again.waiting == [("followUp", "one")]
    again.log.close()


def test_new_messages_come_after_restored_ones(life: SessionLife) -> None:
    future = 2**53
    life.queue.steer(UserMessage("old", future))
    again = life.again()
    again.queue.steer(UserMessage("new", 5))
    assert again.waiting == [("steering", "old"), ("steering", "new")]
    assert [item.message.timestamp for item in again.queue.waiting()] == [future, future + 1]
    assert [message.content for message in again.queue.take_steering()] == ["old"]
    again.log.close()


def test_queue_changes_are_reported(life: SessionLife) -> None:
    life.queue.steer(UserMessage("s", 2))
    life.queue.follow_up(UserMessage("f", 3))
    life.queue.aside(UserMessage("a", 4))
    [taken] = life.queue.take_steering()
    life.record(taken)
    assert life.emitted == [QueueChanged(["s"], []), QueueChanged(["s"], ["f"]), QueueChanged([], ["f"])]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_unwritable_disk_is_reported_once_and_the_message_stays(
    life: SessionLife, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise OSError(number, "cannot")

    with monkeypatch.context() as patch:
        patch.setattr(queue_file, "write_atomic", broken)
        life.queue.steer(UserMessage("one", 2))
        life.queue.steer(UserMessage("two", 3))
    warnings = [event for event in life.emitted if isinstance(event, Notice)]
    assert len(warnings) == 1 and warnings[0].level == "warning"
    assert "cannot. Queued messages would be lost" in warnings[0].message
    assert len(life.queue) == 2

    life.queue.follow_up(UserMessage("three", 4))  # there is room again
    again = life.again()
    assert len(again.waiting) == 3
    again.log.close()


def test_unreadable_file_is_set_aside_and_reported(life: SessionLife) -> None:
    life.queue.steer(UserMessage("one", 2))
    life.file.write_bytes(b'{"waiting":[{"kind":"steering","message":{"role":"ghost"}}]}')
    again = life.again()
    assert again.waiting == []
    assert "queue.json.damaged" in again.notices[0].message
    assert b"ghost" in again.file.with_name("queue.json.damaged").read_bytes()
    again.queue.steer(UserMessage("two", 3))
    assert again.file.exists()
    again.log.close()


def test_lone_surrogate_survives_the_queue(life: SessionLife) -> None:
    life.queue.steer(UserMessage("a\ud83db", 2))
    [taken] = life.queue.take_steering()
    life.log.append_message(taken)
    again = life.again()
    assert again.waiting == []
    again.log.close()


def test_in_memory_session_keeps_nothing_on_disk(tmp_path: Path) -> None:
    life = SessionLife(SessionLog.new(None, tmp_path))
    life.queue.steer(UserMessage("one", 2))
    assert life.emitted == [QueueChanged(["one"], [])]
    assert list(tmp_path.iterdir()) == []


def test_second_window_leaves_the_messages_of_the_first_alone(life: SessionLife) -> None:
    life.queue.steer(UserMessage("one", 2))
    assert life.log.path is not None
    other = SessionLife(SessionLog.open(life.log.path, read_only=True))
    assert other.waiting == []
    other.queue.steer(UserMessage("two", 3))
    other.queue.clear()
    assert life.file.exists()
    other.log.close()
