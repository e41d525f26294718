"""Hidden messages that make the model continue: sent with the next turn or not at all."""

from contextlib import suppress
from typing import Literal

from tau.agent.queue import Queue
from tau.ai.wire import AssistantMessage, CustomMessage
from tau.base.clock import now_ms
from tau.base.errors import TauError

_Kind = Literal["todo-reminder", "todo-error-reminder", "rewind-reminder", "ttsr-injection"]


def is_final_answer(message: AssistantMessage) -> bool:
    """Whether the model has stopped normally, with text and without calls."""
    return message.stop_reason == "stop" and not message.tool_calls and bool(message.text.strip())


def remind(queue: Queue, kind: _Kind, text: str) -> None:
    with suppress(TauError):  # the queue is full, so this reminder is not missed
        queue.aside(CustomMessage(kind, text, display=False, timestamp=now_ms()))


def has_next_prompt(queue: Queue) -> bool:
    """Whether another message will be sent next anyway."""
    return any(item.kind != "held" for item in queue.waiting())


def remove_reminders(queue: Queue, *kinds: _Kind) -> None:
    """Remove reminders not sent before the run ended: they would come too late."""
    for item in queue.waiting():
        if isinstance(item.message, CustomMessage) and item.message.custom_type in kinds:
            queue.settle(item.message)
