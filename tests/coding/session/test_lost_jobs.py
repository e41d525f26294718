"""Background jobs of an earlier process: the model hears once that they are gone."""

from typing import Any

from tau.ai.wire import AppMessage, CustomMessage, TextContent, ToolResultMessage
from tau.coding.session.lost_results import lost_jobs


def result(tool: str, details: Any) -> ToolResultMessage:
    return ToolResultMessage("call", tool, [TextContent("")], False, 0, details)


def started(id: str) -> ToolResultMessage:
    return result("bash", {"command": f"make {id}\nand more", "jobId": id})


def delivered(id: str) -> CustomMessage:
    return CustomMessage("job", "text", True, 0, {"id": id, "status": "completed"})


def gone(*messages: AppMessage) -> list[str]:
    return [note.details.id for note in lost_jobs(messages)]


def test_only_a_job_without_an_end_is_gone() -> None:
    polled = {"jobs": [{"id": "bash-2", "status": "failed"}, {"id": "bash-3", "status": "running"}]}
    messages = [started("bash-1"), started("bash-2"), started("bash-3"), delivered("bash-1")]
    assert gone(*messages, result("job", polled)) == ["bash-3"]


def test_ids_count_again_from_one_after_a_restart() -> None:
    assert gone(started("bash-1"), delivered("bash-1"), started("bash-1")) == ["bash-1"]


def test_note_says_what_ran_in_one_line() -> None:
    (note,) = lost_jobs([started("bash-1")])
    assert isinstance(note.content, str) and note.content.endswith("It was: make bash-1 and more]")


def test_note_has_200_characters_of_the_command() -> None:
    for command, label in (("x" * 200, "x" * 200), ("x" * 201, "x" * 199 + "…")):
        (note,) = lost_jobs([result("bash", {"command": command, "jobId": "bash-1"})])
        assert note.details.label == label


def test_results_without_jobs_have_none() -> None:
    assert (
        gone(result("bash", {"command": "ls"}), result("job", {"jobs": None}), result("read", "text")) == []
    )
