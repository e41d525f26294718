"""What plan mode allows, what a plan is, and what the user may say to it."""

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
APPROVE = "Approve it and go to work"
REJECT = "Send it back with a comment"
KEEP = "Keep planning"

# What looks and changes nothing, `write` for the plan, `resolve` to hand it in. The rest is left out.
TOOLS = frozenset(
    {
        *("read", "search", "find", "ast_grep", "lsp", "inspect_image", "web_search"),
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
    """`keep` stays in plan mode without a word; `feedback` comes with a plan that is sent back."""

    verdict: _Verdict
    feedback: str = ""


class PlanDetails(Struct, frozen=True, rename="camel", kw_only=True):
    """`verdict` is None where nobody could be asked."""

    title: str
    url: str
    verdict: _Verdict | None
    feedback: str = ""


class PlanReview(Struct, frozen=True):
    """What the user said to a plan, and what to tell the model of it; nothing where they keep planning."""

    answer: PlanAnswer
    prompt: str = ""


def refusal(tool: str, arguments: Mapping[str, Any], effects: Effects, plan_file: str) -> str | None:
    """Why a call may not run while a plan is made, as a sentence for the model."""
    if tool not in TOOLS:
        return f"Plan mode is on, and {tool} is not for planning. Put what is to be done into {plan_file}."
    if tool == "write":
        if str(arguments.get("path", "")).strip() == plan_file:
            return None
        return f"Plan mode is on: only the plan can be written, to {plan_file}."
    if effects.writes or effects.runs:
        return f"Plan mode is on: nothing is changed and nothing runs. Put it into {plan_file}."
    return None


def title_of(text: str) -> str:
    """The plan's first heading, or its first words."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    heading = next((line for line in lines if line.startswith("#")), lines[0] if lines else "")
    return shortened(heading.lstrip("#").strip() or "Plan", MAX_TITLE_CHARS)


def file_stem(title: str) -> str:
    """A name for a file; never that of the plan that is being made."""
    stem = "-".join(re.findall(r"[^\W_]+", title.lower()))[:60].strip("-")
    return stem if stem and stem != "plan" else "approved-plan"


async def ask_user(plan: Plan, ui: Ui | None, dialogs: CodingDialogs | None) -> PlanAnswer | None:
    """None: nobody could be asked."""
    if ui is None:
        return None
    if dialogs is not None:
        return await dialogs.review_plan(plan)
    choice = await ui.select(f'Carry out the plan "{plan.title}" ({plan.url})?', [APPROVE, REJECT, KEEP])
    if choice == APPROVE:
        return PlanAnswer("approve")
    feedback = await ui.input("What is to be different?") if choice == REJECT else None
    return PlanAnswer("reject", feedback.strip()) if feedback and feedback.strip() else PlanAnswer("keep")
