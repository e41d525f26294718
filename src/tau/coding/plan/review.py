"""The plan, what plan mode allows, and the user's answers."""

import re
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from tau.agent.effects import Effects
from tau.agent.ui import Ui
from tau.base.text import shortened
from tau.coding.ports import CodingDialogs

PLAN_FILE = "local://plan.md"
MAX_TITLE_CHARS = 80
APPROVE = "Approve and start"
REJECT = "Send back with a comment"
KEEP = "Keep planning"

# Read-only tools, `write` for the plan, `resolve` to submit it.
TOOLS = frozenset(
    {
        *("read", "search", "find", "ast_grep", "lsp", "inspect_image", "web_search", "github"),
        *("todo", "ask", "job", "recall", "search_tool_bm25", "checkpoint", "rewind"),
        *("write", "resolve"),
    }
)

_Verdict = Literal["approve", "reject", "keep"]


class Plan(Struct, frozen=True):
    title: str
    text: str
    url: str


class PlanAnswer(Struct, frozen=True):
    """`keep` stays in plan mode without comment; `feedback` goes with a plan that is sent back."""

    verdict: _Verdict
    feedback: str = ""


class PlanDetails(Struct, frozen=True, rename="camel", kw_only=True):
    """`verdict` is None if the mode cannot ask."""

    title: str
    url: str
    verdict: _Verdict | None
    feedback: str = ""


class PlanReview(Struct, frozen=True):
    """The user's answer to a plan, and the message for the model; empty if they keep planning."""

    answer: PlanAnswer
    prompt: str = ""


def refusal(tool: str, arguments: Mapping[str, Any], effects: Effects) -> str | None:
    """Why a call may not run in plan mode, as a sentence for the model."""
    if tool not in TOOLS or effects.acts_elsewhere:
        return f"Plan mode is on: {tool} is not available. Put the planned work into {PLAN_FILE}."
    if tool == "write":
        if str(arguments.get("path", "")).strip() == PLAN_FILE:
            return None
        return f"Plan mode is on: only {PLAN_FILE} can be written."
    if effects.writes or effects.runs or effects.publishes:
        return f"Plan mode is on: no changes, no commands. Put it into {PLAN_FILE}."
    return None


def title_of(text: str) -> str:
    """The plan's first heading, or its first words."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    heading = next((line for line in lines if line.startswith("#")), lines[0] if lines else "")
    return shortened(heading.lstrip("#").strip() or "Plan", MAX_TITLE_CHARS)


def file_stem(title: str) -> str:
    """A file name for a plan; never that of the current one."""
    stem = "-".join(re.findall(r"[^\W_]+", title.lower()))[:60].strip("-")
    return stem if stem and stem != "plan" else "approved-plan"


async def ask_user(plan: Plan, ui: Ui | None, dialogs: CodingDialogs | None) -> PlanAnswer | None:
    """None: the mode cannot ask."""
    if ui is None:
        return None
    if dialogs is not None:
        return await dialogs.review_plan(plan)
    choice = await ui.select(f'Carry out the plan "{plan.title}" ({plan.url})?', [APPROVE, REJECT, KEEP])
    if choice == APPROVE:
        return PlanAnswer("approve")
    feedback = await ui.input("What should change?") if choice == REJECT else None
    return PlanAnswer("reject", feedback.strip()) if feedback and feedback.strip() else PlanAnswer("keep")
