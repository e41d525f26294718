"""The question before a tool call: decides by policy, asks the person, remembers an "always"."""

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
# What the model is told, in parts, so that a face can tell the person the same in other words.
_REFUSED = "The user said no to this call, which would "
_THEY_SAY = ". They say: "
_NO_OTHER_WAY = ". Do not reach the same effect another way; ask what they want instead."
_UNANSWERED = "The user did not answer whether to "

_Choice = Literal["once", "session", "always", "no"]


class ApprovalRequest(Struct, frozen=True, kw_only=True):
    """What a person is asked: the call, what of it needs a yes, and what may be answered beside once and no.

    With `patterns`, they may be kept in the user's settings, so that nothing like it is asked again.
    """

    tool: str
    label: str
    arguments: dict[str, Any]
    cwd: Path
    questions: tuple[ApprovalItem, ...]
    for_session: bool
    patterns: tuple[str, ...] = ()


class ApprovalDecision(Struct, frozen=True):
    """`reason` is what the person wants the model to know, with a no."""

    choice: _Choice
    reason: str = ""


class ApprovalHook(Hooks):
    """One per session. `mode` may be set while it lives; the answers "always" end with it.

    `patterns` are those of the user's settings; `remember` adds to them there, and raises TauError where it
    cannot. `problems` says which of them are not used, and why.
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
        """None to go on, or a sentence for the model why the call did not run."""
        open_questions, refusal = self._open(question)
        if not open_questions:
            return refusal
        async with self._one_at_a_time:  # a person can answer one question at a time
            open_questions, refusal = self._open(question)  # and may just have answered this one
            if not open_questions:
                return refusal
            return await self._ask(question, open_questions, question.context)

    def _open(self, question: ToolQuestion) -> tuple[list[ApprovalItem], str | None]:
        """What is left to ask; if nothing is, whether the call is refused."""
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
                f"This call needs the user's approval to {wish}. Nobody can be asked in this mode, so it did "
                "not run. Go on without it, or tell the user what to do or which approval mode to choose."
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
            ui.notify(f"This holds for this session only. {error}", "warning")


async def _select(ui: Ui, tool: Tool[Any], wish: str, *, for_session: bool) -> ApprovalDecision | None:
    options = [YES, NO, ALWAYS] if for_session else [YES, NO]  # a number means the same in each question
    chosen = await ui.select(f"{tool.label}: allow to {wish}?", options)
    choices: dict[str | None, _Choice] = {YES: "once", ALWAYS: "session", NO: "no"}
    return ApprovalDecision(choices[chosen]) if chosen in choices else None


def refusal(wish: str, reason: str = "") -> str:
    """What the model is told of a call that the person does not allow."""
    reason = plain(reason.strip())
    return f"{_REFUSED}{wish}{_THEY_SAY}{reason}" if reason else f"{_REFUSED}{wish}{_NO_OTHER_WAY}"


def declined(result: str) -> str | None:
    """The words for the person where the result of a call says that they did not allow it, else None."""
    if result.startswith(_UNANSWERED):
        return "It did not run: there was no answer."
    if not result.startswith(_REFUSED):
        return None
    if _NO_OTHER_WAY in result or _THEY_SAY not in result:
        return "You said no."
    return f"You said no: {result.rpartition(_THEY_SAY)[2]}"


def _patterns(questions: Sequence[ApprovalItem]) -> tuple[str, ...]:
    """Patterns that would allow all of it; none where one of the questions can have none."""
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
    """Safe to show and short enough to read, with both ends in sight: nothing hides behind a long middle."""
    text = plain(text)
    if len(text) <= _SHOWN_CHARS:
        return text
    half = _SHOWN_CHARS // 2
    return f"{text[:half]} … [{len(text) - 2 * half} characters not shown] … {text[-half:]}"
