"""The texts and messages about a job."""

from typing import Any

import pytest

from tau.agent.queue import Queue
from tau.ai.wire import CustomMessage, UserMessage
from tau.coding.jobs.delivery import delivery_text, duration_text, put_result, retract_result
from tau.coding.ports import Job


def job(**fields: Any) -> Job:
    given = {"id": "bash-1", "kind": "bash", "label": "make", "status": "completed", "duration_ms": 1234}
    return Job(**{**given, **fields})


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"result_text": "built\n"}, "[Background job bash-1 completed after 1.2 s: make]\nbuilt"),
        (
            {"status": "failed", "error_text": "It broke.", "progress": "half"},
            "[Background job bash-1 failed after 1.2 s: make]\nhalf\nIt broke.",
        ),
        ({"result_text": " \n"}, "[Background job bash-1 completed after 1.2 s: make]\n[No output]"),
    ],
)
def test_delivery_says_what_ended_and_how(fields: dict[str, Any], words: str) -> None:
    assert delivery_text(job(**fields)) == words


@pytest.mark.parametrize(
    ("ms", "words"),
    [(40, "0.0 s"), (9_900, "9.9 s"), (9_990, "10 s"), (119_000, "119 s"), (300_000, "5 min"), (9e6, "2 h")],
)
def test_durations_are_spelled_out(ms: int, words: str) -> None:
    assert duration_text(int(ms)) == words


def test_result_is_queued_as_an_aside_and_can_be_withdrawn() -> None:
    queue = Queue()
    queue.aside(UserMessage("something else", 1))
    put_result(queue, job(result_text="built"))
    put_result(queue, job(id="bash-2", result_text="tested"))
    retract_result(queue, "bash-1")
    _, left = queue.waiting()
    assert left.kind == "aside" and isinstance(left.message, CustomMessage)
    assert left.message.custom_type == "job" and left.text.endswith("tested")
    assert left.message.display
