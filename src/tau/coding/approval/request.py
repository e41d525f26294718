"""A question about a call that needs approval, and the answer."""

from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from tau.coding.approval.policy import ApprovalItem

ApprovalChoice = Literal["once", "session", "always", "no"]


class ApprovalRequest(Struct, frozen=True, kw_only=True):
    """A request for the user: the call, what needs approval, and the answers beside "once" and "no".

    Commands would run in `cwd` with the variables `env` added, in a sandbox if `contained`. `details` is what
    else to show, by name. `patterns`, if any, can be saved in the user's settings to allow similar calls
    without asking. `agent` is the subagent whose call it is.
    """

    tool: str
    label: str
    arguments: dict[str, Any]
    cwd: Path
    questions: tuple[ApprovalItem, ...]
    for_session: bool
    patterns: tuple[str, ...] = ()
    session_cwd: Path = Path()
    env: tuple[tuple[str, str], ...] = ()
    details: tuple[tuple[str, str], ...] = ()
    contained: bool = False
    call_id: str = ""
    agent: str = ""


class ApprovalDecision(Struct, frozen=True):
    """`reason` is the user's message to the model when declining."""

    choice: ApprovalChoice
    reason: str = ""
