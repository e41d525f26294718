"""Sending the last request again: whether there is one, and from which entry on."""

from tau.ai.wire import AssistantMessage, ToolResultMessage, UserMessage
from tau.base.errors import NothingToDo
from tau.coding.session.log import SessionLog

_TOLD = (UserMessage, AssistantMessage, ToolResultMessage)


def rewind_failed_turn(log: SessionLog) -> bool:
    """Stand where the last request was sent from; True if half an answer was left behind for that.

    An answer that failed is not sent along, so it may stay; most models would go on with half a one, rather
    than begin anew. Raises NothingToDo where nothing was sent yet, or where the last answer is complete.
    """
    items = log.context().items
    last = next((item for item in reversed(items) if isinstance(item.message, _TOLD)), None)
    if last is None:
        raise NothingToDo("There is nothing to send again yet.")
    if not isinstance(last.message, AssistantMessage):
        return False
    if last.message.stop_reason not in ("error", "aborted"):
        raise NothingToDo("The last answer is complete; there is nothing to send again.")
    node = log.node(last.id)
    if last.message.stop_reason == "error" or last is not items[-1] or node is None:
        return False
    log.move(node.parent_id)
    return True
