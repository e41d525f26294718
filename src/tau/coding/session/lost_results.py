"""Results for calls and jobs that have none, because tau ended or could not record them."""

from collections.abc import Callable, Iterable, Sequence

from tau.ai.wire import AppMessage, AssistantMessage, CustomMessage, TextContent, ToolResultMessage
from tau.base.clock import now_ms
from tau.base.late import late
from tau.base.text import clean_line, shortened
from tau.coding.undo.journal import AnswerCalls, CallBegan, Record

delivery = late("tau.coding.jobs.delivery")

LABEL_CHARS = 200
MAY_HAVE_RUN = "tau ended before this call returned. It may have taken effect: check before you repeat it."
NEVER_BEGAN = "Not run: tau ended before this call began."


def lost_results(
    messages: Sequence[AppMessage], load: Callable[[], Sequence[Record]]
) -> list[ToolResultMessage]:
    """Results for the calls of the last answer that have none; `load` reads the journal of changes."""
    answered: set[str] = set()
    answer = None
    for message in reversed(messages):
        if isinstance(message, ToolResultMessage):
            answered.add(message.tool_call_id)
        elif isinstance(message, AssistantMessage):
            answer = message
            break
    if answer is None or answer.stop_reason in ("error", "aborted"):  # its calls are never run
        return []
    lost = [call for call in answer.tool_calls if call.id not in answered]
    never_began = _never_began(answer, load()) if lost else set()
    return [
        ToolResultMessage(
            tool_call_id=call.id,
            tool_name=call.name,
            content=[TextContent(NEVER_BEGAN if call.id in never_began else MAY_HAVE_RUN)],
            is_error=True,
            timestamp=now_ms(),
        )
        for call in lost
    ]


def _never_began(answer: AssistantMessage, records: Sequence[Record]) -> set[str]:
    """The calls that the journal lists under this answer without a start.

    Without such a list, nothing is known about them: the session may come from another program.
    """
    waiting: set[str] = set()
    for record in records:
        if isinstance(record, AnswerCalls) and record.answer_ms == answer.timestamp:
            waiting.update(record.calls)
        elif isinstance(record, CallBegan):
            waiting.discard(record.call)
    return waiting


def lost_jobs(messages: Iterable[AppMessage]) -> list[CustomMessage]:
    """Notes about the background jobs of earlier processes whose end was never reported."""
    running: dict[str, str] = {}
    for message in messages:
        details = getattr(message, "details", None)
        if not isinstance(details, dict):
            continue
        match message:
            case CustomMessage(custom_type="job"):
                running.pop(str(details.get("id")), None)
            case ToolResultMessage(tool_name="job"):
                for job in _ended(details):
                    running.pop(str(job.get("id")), None)
            case ToolResultMessage() if id := details.get("jobId"):
                running[str(id)] = str(details.get("command", message.tool_name))
    return [_lost_job(id, shortened(clean_line(label), LABEL_CHARS)) for id, label in running.items()]


def _ended(details: dict[str, object]) -> list[dict[str, object]]:
    jobs = details.get("jobs")
    return [
        job
        for job in (jobs if isinstance(jobs, list) else ())
        if isinstance(job, dict) and job.get("status") != "running"
    ]


def _lost_job(id: str, label: str) -> CustomMessage:
    text = (
        f"[Background job {id} is gone: tau ended before it did. It may have taken effect: check before you "
        f"repeat it. It was: {label}]"
    )
    gone = delivery.JobSnapshot(id=id, type="bash", status="cancelled", label=label, duration_ms=0)
    return CustomMessage(delivery.MESSAGE_TYPE, text, True, now_ms(), gone)
