"""What a face says about events that are neither words nor tools, in one line each."""

from tau.agent.events import Notice, RetryStart


def notice_line(notice: Notice) -> str:
    return notice.message if notice.level == "info" else f"{notice.level}: {notice.message}"


def retry_line(event: RetryStart) -> str:
    wait = f"{event.delay_ms / 1000:.1f}".removesuffix(".0")
    return f"{event.error_message}; trying again in {wait} s ({event.attempt} of {event.max_attempts})"
