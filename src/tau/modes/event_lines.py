"""What a face says about events that are neither words nor tools, in one line each."""

from tau.agent.events import CompactionEnd, CompactionStart, Notice, RetryStart
from tau.base.text import sentence


def notice_line(notice: Notice) -> str:
    return notice.message if notice.level == "info" else f"{notice.level}: {notice.message}"


def retry_line(event: RetryStart) -> str:
    wait = f"{event.delay_ms / 1000:.1f}".removesuffix(".0")
    again = f"Trying again in {wait} s ({event.attempt} of {event.max_attempts})."
    return f"{sentence(event.error_message)} {again}"


def compaction_line(event: CompactionStart | CompactionEnd) -> str | None:
    """What to say of a compaction that nobody asked for; None: nothing."""
    if isinstance(event, CompactionStart):
        return "The conversation grows too long for the model and is being summarised."
    if event.aborted:
        return "The summary was stopped."
    if isinstance(event.error_message, str):
        return f"The conversation could not be made shorter: {sentence(event.error_message)}"
    return None
