"""Approves tool calls: decides by policy, asks the user, remembers "always"."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from tau.agent.hooks import Hooks, ToolQuestion
from tau.agent.ports import ToolContext
from tau.agent.tool import Tool
from tau.agent.ui import Ui
from tau.base.errors import TauError
from tau.base.late import late
from tau.base.text import plain
from tau.coding.approval.policy import ApprovalItem, Workspace, decide
from tau.coding.ports import CodingDialogs
from tau.config.settings import ApprovalMode

if TYPE_CHECKING:
    from tau.coding.approval.allow_rules import AllowRules

rules = late("tau.coding.approval.allow_rules")
suggestions = late("tau.coding.approval.suggestions")

YES = "Yes"
ALWAYS = "Yes, always this session"
NO = "No"
SHELL_TOOLS = frozenset({"bash"})
_SHOWN_CHARS = 2_000
# The message for the model, in parts, so that a mode can phrase it differently for the user.
_REFUSED = "The user declined this call, which would "
_THEY_SAY = ". They say: "
_NO_OTHER_WAY = ". Do not reach the same effect another way; ask what they want instead."
_UNANSWERED = "The user did not answer whether to "

_Choice = Literal["once", "session", "always", "no"]


class ApprovalRequest(Struct, frozen=True, kw_only=True):
    """A request for the user: the call, what needs approval, and the answers beside "once" and "no".

    `patterns`, if any, can be saved in the user's settings to allow similar calls without asking.
    """

    tool: str
    label: str
    arguments: dict[str, Any]
    cwd: Path
    questions: tuple[ApprovalItem, ...]
    for_session: bool
    patterns: tuple[str, ...] = ()


class ApprovalDecision(Struct, frozen=True):
    """`reason` is the user's message to the model when declining."""

    choice: _Choice
    reason: str = ""


class ApprovalHook(Hooks):
    """One per session. `mode` can be changed at any time; "always" answers end with the hook.

    `patterns` come from the user's settings; `remember` adds to them there and raises TauError if it cannot.
    `problems` says which are ignored, and why.
    """

    def __init__(
        self,
        workspace: Workspace,
        mode: ApprovalMode = "workspace",
        patterns: Iterable[str] = (),
        *,
        remember: Callable[[Sequence[str]], None] | None = None,
        dialogs: CodingDialogs | None = None,
    ) -> None:
        self.workspace = workspace
        self.mode: ApprovalMode = mode
        wanted = tuple(patterns)
        self._allowed: AllowRules | None = rules.AllowRules.of(wanted) if wanted else None
        self._remember = remember
        self._dialogs = dialogs
        self._always: set[tuple[str, str]] = set()
        self._one_at_a_time = asyncio.Lock()

    @property
    def problems(self) -> Sequence[str]:
        return () if self._allowed is None else self._allowed.problems

    async def before_tool(self, question: ToolQuestion) -> str | None:
        """None to proceed, or a sentence for the model why the call did not run."""
        open_questions, refusal = self._open(question)
        if not open_questions:
            return refusal
        async with self._one_at_a_time:  # the user answers one request at a time
            open_questions, refusal = self._open(
                question
            )  # and may just have answered this one with "always"
            if not open_questions:
                return refusal
            return await self._ask(question, open_questions, question.context)

    def _open(self, question: ToolQuestion) -> tuple[list[ApprovalItem], str | None]:
        """The items left to ask about; if none, whether the call is refused."""
        decision = decide(
            question.effects,
            self.mode,
            self.workspace,
            demo=question.model.demo,
            allowed=self._allowed,
            shell=question.tool.name in SHELL_TOOLS,
        )
        if decision.verdict == "deny":
            return [], f"Not allowed: {decision.reason}."
        return [wish for wish in decision.questions if wish.key not in self._always], None

    async def _ask(self, asked: ToolQuestion, questions: list[ApprovalItem], ctx: ToolContext) -> str | None:
        wish = _bounded("; ".join(question.reason for question in questions))
        if ctx.ui is None:
            return (
                f"This call needs the user's approval to {wish}. This mode cannot ask, so it did "
                "not run. Continue without it, or tell the user what to do or which approval mode to choose."
            )
        keys = [question.key for question in questions]
        if self._dialogs is not None:
            request = self._request(asked, questions, ctx)
            answer = await self._dialogs.approve(request)
            self._keep(answer, keys, request, ctx.ui)
        else:
            answer = await _select(ctx.ui, asked.tool, wish, for_session=None not in keys)
            self._keep(answer, keys, None, ctx.ui)
        if answer is None:
            return f"{_UNANSWERED}{wish}, so this call did not run."
        if answer.choice != "no":
            return None
        return refusal(wish, answer.reason)

    def _request(
        self, asked: ToolQuestion, questions: list[ApprovalItem], ctx: ToolContext
    ) -> ApprovalRequest:
        return ApprovalRequest(
            tool=asked.tool.name,
            label=asked.tool.label,
            arguments=asked.call.arguments,
            cwd=ctx.cwd,
            questions=tuple(questions),
            for_session=all(question.key is not None for question in questions),
            patterns=_patterns(questions) if self._remember is not None else (),
        )

    def _keep(
        self,
        answer: ApprovalDecision | None,
        keys: Sequence[tuple[str, str] | None],
        request: ApprovalRequest | None,
        ui: Ui,
    ) -> None:
        if answer is None or answer.choice not in ("session", "always"):
            return
        self._always.update(key for key in keys if key is not None)
        if answer.choice == "session" or request is None or self._remember is None:
            return
        self._allowed = (self._allowed or rules.NOTHING).adding(request.patterns)
        try:
            self._remember(request.patterns)
        except TauError as error:
            ui.notify(f"Allowed for this session only. {error}", "warning")


async def _select(ui: Ui, tool: Tool[Any], wish: str, *, for_session: bool) -> ApprovalDecision | None:
    options = [YES, NO, ALWAYS] if for_session else [YES, NO]  # a number means the same in every request
    chosen = await ui.select(f"{tool.label}: allow to {wish}?", options)
    choices: dict[str | None, _Choice] = {YES: "once", ALWAYS: "session", NO: "no"}
    return ApprovalDecision(choices[chosen]) if chosen in choices else None


def refusal(wish: str, reason: str = "") -> str:
    """The message to the model about a declined call."""
    reason = plain(reason.strip())
    return f"{_REFUSED}{wish}{_THEY_SAY}{reason}" if reason else f"{_REFUSED}{wish}{_NO_OTHER_WAY}"


def declined(result: str) -> str | None:
    """The message to the user if the result is that of a declined call, else None."""
    if result.startswith(_UNANSWERED):
        return "Not run: no answer."
    if not result.startswith(_REFUSED):
        return None
    if _NO_OTHER_WAY in result or _THEY_SAY not in result:
        return "You declined."
    return f"You declined: {result.rpartition(_THEY_SAY)[2]}"


def _patterns(questions: Sequence[ApprovalItem]) -> tuple[str, ...]:
    """Patterns that allow all items; empty if one of them cannot have a pattern."""
    found: dict[str, None] = {}
    for question in questions:
        if not question.patterned:
            return ()
        match question.kind:
            case "run":
                made = suggestions.suggest_run(question.subject)
            case "write":
                made = suggestions.suggest_write(Path(question.subject))
            case "connect":
                made = suggestions.suggest_connection(question.subject)
        if not made:
            return ()
        found |= dict.fromkeys(made)
    return tuple(found)


def _bounded(text: str) -> str:
    """Sanitize and shorten, keeping both ends visible so that nothing hides in a long text."""
    text = plain(text)
    if len(text) <= _SHOWN_CHARS:
        return text
    half = _SHOWN_CHARS // 2
    return f"{text[:half]} … [{len(text) - 2 * half} characters not shown] … {text[-half:]}"
