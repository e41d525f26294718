"""Records decisions about calls in the session log; no model sees them."""

from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec import Struct, to_builtins

from tau.base import log as logfile
from tau.base.errors import SessionError
from tau.coding.session.entries import CustomEntry
from tau.coding.session.storage.log import SessionLog
from tau.config.settings import ApprovalMode

ENTRY_TYPE = "permission"
DecidedBy = Literal["user", "rules", "mode", "hook", "nobody"]


class DecisionRecord(Struct, frozen=True, rename="camel", kw_only=True):
    """One decision: whether the call ran, who decided, in which mode, and why."""

    call_id: str
    tool: str
    allowed: bool
    by: DecidedBy
    mode: ApprovalMode
    reason: str
    answer: str = ""  # the user's: once, session, always, no


def record(log: SessionLog, decision: DecisionRecord) -> None:
    try:
        log.append(CustomEntry(custom_type=ENTRY_TYPE, data=to_builtins(decision)))
    except SessionError as error:
        logfile.error("A decision about a tool call could not be recorded.", error)


def decision_of(entry: object) -> DecisionRecord | None:
    """The decision in an entry, if it is one."""
    if not isinstance(entry, CustomEntry) or entry.custom_type != ENTRY_TYPE:
        return None
    try:
        return msgspec.convert(entry.data, DecisionRecord)
    except msgspec.ValidationError:
        return None


def decisions(log: SessionLog) -> Iterator[DecisionRecord]:
    """All decisions of the session, in order."""
    for node in log.nodes():
        found = decision_of(log.decode(node)) if node.type == "custom" else None
        if found is not None:
            yield found


def describe(decision: DecisionRecord) -> str:
    """One line for people."""
    who = {
        "user": f"you said {decision.answer or 'nothing'}",
        "rules": "your rules",
        "hook": "a hook",
        "mode": f"mode {decision.mode}",
        "nobody": "nobody to ask",
    }
    return f"{'Allowed' if decision.allowed else 'Refused'} ({who[decision.by]}): {decision.reason}"


def lines_of(entry: CustomEntry) -> list[str]:
    """What an entry says to people: one line if it is a decision, else none."""
    decision = decision_of(entry)
    return [] if decision is None else [describe(decision)]
