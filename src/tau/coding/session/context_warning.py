"""Warns of a server that holds less than the conversation, once in a session."""

from collections.abc import Callable

from tau.agent.events import AgentEvent, Notice
from tau.base import log as logfile
from tau.base.errors import SessionError
from tau.coding.session.entries import CustomEntry
from tau.coding.session.storage.log import SessionLog

ENTRY_TYPE = "context_warning"


def show_once(log: SessionLog, emit: Callable[[AgentEvent], None], warning: str) -> None:
    """A session that is resumed or reloaded has it in its log."""
    for node in log.nodes():
        entry = log.decode(node) if node.type == "custom" else None
        if isinstance(entry, CustomEntry) and entry.custom_type == ENTRY_TYPE:
            return
    try:
        log.append(CustomEntry(custom_type=ENTRY_TYPE))
    except SessionError as error:
        logfile.error("The warning could not be recorded.", error)
    emit(Notice("warning", warning))
