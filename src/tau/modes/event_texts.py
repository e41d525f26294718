"""One-line descriptions of events that are neither text nor tools."""

from tau.agent.events import CompactionEnd, CompactionStart, JobChanged, Notice, RetryStart, RulesTriggered
from tau.base.text import sentence


def notice_line(notice: Notice) -> str:
    return notice.message if notice.level == "info" else f"{notice.level}: {notice.message}"


def retry_line(event: RetryStart) -> str:
    wait = f"{event.delay_ms / 1000:.1f}".removesuffix(".0")
    again = f"Retrying in {wait} s ({event.attempt} of {event.max_attempts})."
    return f"{sentence(event.error_message)} {again}"


def job_status(status: str) -> str:
    """How people call it."""
    return "stopped" if status == "cancelled" else status


def job_line(event: JobChanged) -> str:
    return f"Background job {event.id} {job_status(event.status)}: {event.label}"


def rules_line(event: RulesTriggered) -> str:
    names = ", ".join(rule.name for rule in event.rules)
    what = "Rule" if len(event.rules) == 1 else "Rules"
    end = "stopped the answer; asking again" if event.interrupted else "reminded the agent"
    return f"{what} {names}: {end}."


def compaction_line(event: CompactionStart | CompactionEnd) -> str | None:
    """What to say about an automatic compaction; None for nothing."""
    if isinstance(event, CompactionStart):
        return "The conversation is getting too long for the model; summarizing it."
    if event.aborted:
        return "Summary stopped."
    if isinstance(event.error_message, str):
        return f"Could not shorten the conversation: {sentence(event.error_message)}"
    return None
