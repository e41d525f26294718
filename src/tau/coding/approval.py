"""The question before a tool call: decides by policy, asks the person, remembers an "always"."""

import asyncio
from typing import Any

from tau.agent.hooks import Hooks, ToolQuestion
from tau.agent.ports import ToolContext
from tau.agent.tool import Tool
from tau.base.text import plain
from tau.coding.policy import Question, Workspace, decide
from tau.config.settings import ApprovalMode

YES = "Yes"
ALWAYS = "Yes, always this session"
NO = "No"
_SHOWN_CHARS = 2_000


class ApprovalHook(Hooks):
    """One per session. `mode` may be set while it lives; the answers "always" end with it."""

    def __init__(self, workspace: Workspace, mode: ApprovalMode = "workspace") -> None:
        self.workspace = workspace
        self.mode: ApprovalMode = mode
        self._always: set[tuple[str, str]] = set()
        self._one_at_a_time = asyncio.Lock()

    async def before_tool(self, question: ToolQuestion) -> str | None:
        """None to go on, or a sentence for the model why the call did not run."""
        decision = decide(question.effects, self.mode, self.workspace, demo=question.model.demo)
        if decision.verdict == "allow":
            return None
        if decision.verdict == "deny":
            return f"Not allowed: {decision.reason}."
        async with self._one_at_a_time:  # a person can answer one question at a time
            open_questions = [wish for wish in decision.questions if wish.key not in self._always]
            if not open_questions:
                return None
            return await self._ask(question.tool, open_questions, question.context)

    async def _ask(self, tool: Tool[Any], questions: list[Question], ctx: ToolContext) -> str | None:
        wish = _bounded("; ".join(question.reason for question in questions))
        if ctx.ui is None:
            return (
                f"This call needs the user's approval to {wish}. Nobody can be asked in this mode, so it did "
                "not run. Go on without it, or tell the user what to do or which approval mode to choose."
            )
        keys = [question.key for question in questions]
        options = [YES, NO] if None in keys else [YES, ALWAYS, NO]
        answer = await ctx.ui.select(f"{tool.label}: allow to {wish}?", options)
        if answer == ALWAYS:
            self._always.update(key for key in keys if key is not None)
        if answer in (YES, ALWAYS):
            return None
        if answer is None:
            return f"The user did not answer whether to {wish}, so this call did not run."
        return (
            f"The user said no to this call, which would {wish}. Do not reach the same effect another way; "
            "ask what they want instead."
        )


def _bounded(text: str) -> str:
    """Safe to show and short enough to read, with both ends in sight: nothing hides behind a long middle."""
    text = plain(text)
    if len(text) <= _SHOWN_CHARS:
        return text
    half = _SHOWN_CHARS // 2
    return f"{text[:half]} … [{len(text) - 2 * half} characters not shown] … {text[-half:]}"
