"""What a face says about events that are neither words nor tools, in one line each."""

from tau.agent.events import Notice, RetryStart
from tau.base.text import sentence


def notice_line(notice: Notice) -> str:
    return notice.message if notice.level == "info" else f"{notice.level}: {notice.message}"


def retry_line(event: RetryStart) -> str:
    wait = f"{event.delay_ms / 1000:.1f}".removesuffix(".0")
    again = f"Trying again in {wait} s ({event.attempt} of {event.max_attempts})."
    return f"{sentence(event.error_message)} {again}"
