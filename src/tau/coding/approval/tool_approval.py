"""Approves tool calls: decides by policy, asks the user, remembers and records the answers."""

import asyncio
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tau.agent.hooks import Hooks, Refusal, ToolQuestion
from tau.agent.ui import Ui
from tau.base.errors import TauError
from tau.base.late import late
from tau.base.tasks import spawn
from tau.base.text import reveal
from tau.coding.approval.policy import ApprovalItem, PolicyVerdict, Workspace, also_ask, decide
from tau.coding.approval.session_permissions import SessionPermissions
from tau.coding.ports import CodingDialogs

if TYPE_CHECKING:
    from tau.coding.approval.decision_log import DecidedBy
    from tau.coding.approval.request import ApprovalChoice, ApprovalDecision, ApprovalRequest

decision_log = late("tau.coding.approval.decision_log")
plan_review = late("tau.coding.plan.review")
refusals = late("tau.coding.approval.refusals")
requests = late("tau.coding.approval.request")
request_text = late("tau.coding.approval.request_text")
suggestions = late("tau.coding.approval.suggestions")

YES = "Yes"
ALWAYS = "Yes, always this session"
NO = "No"
SHELL_TOOLS = frozenset({"bash"})
ELSEWHERE = frozenset({"ssh"})  # their commands run on another machine, where no sandbox of ours is


class ApprovalHook(Hooks):
    """One per session. `contained` says whether commands started now run in a working sandbox,
    `shares_temporary` whether that one has no private temporary folders.

    Decisions are recorded in the session's log, except for calls that the mode allows.
    """

    def __init__(
        self,
        workspace: Workspace,
        permissions: SessionPermissions,
        *,
        dialogs: CodingDialogs | None = None,
        contained: Callable[[Sequence[str]], bool] = lambda commands: False,
        shares_temporary: Callable[[], bool] = lambda: False,
        before: Hooks | None = None,
    ) -> None:
        self.workspace = workspace
        self.permissions = permissions
        self._dialogs = dialogs
        self._contained = contained
        self._shares_temporary = shares_temporary
        self._before = before or Hooks()
        self._one_at_a_time = asyncio.Lock()

    async def before_tool(self, question: ToolQuestion) -> Refusal | None:
        """None to proceed, or a sentence for the model why the call did not run."""
        verdict = self._decide(question)
        if verdict.verdict != "ask":
            return self._settle(question, verdict)
        denial = await self._before.before_approval(question, verdict.reason)
        if denial is not None:
            self._record(question, "hook", verdict.reason, allowed=False)
            return refusals.denied(denial)
        async with self._one_at_a_time:  # the user answers one request at a time
            while True:
                verdict = self._decide(question)  # an answer or a change meanwhile may cover this
                if verdict.verdict != "ask":
                    return self._settle(question, verdict)
                if question.context.ui is None:
                    return self._refuse_unasked(question, verdict)
                request = self._request(question, verdict.questions)
                if await self._changes_first(question, verdict, asking := _Asking(self._dialogs, request)):
                    continue
                refusal = self._apply(question, verdict, request, asking.answer)
                after = self._decide(question)
                return (
                    self._settle(question, after) if refusal is None and after.verdict == "deny" else refusal
                )

    def _decide(self, question: ToolQuestion) -> PolicyVerdict:
        permissions = self.permissions.current
        if permissions.mode == "plan":
            text = plan_review.refusal(question.tool.name, question.call.arguments, question.effects)
            if text is not None:
                return PolicyVerdict("deny", text)
        verdict = decide(
            question.effects,
            permissions,
            self.workspace,
            demo=question.model.demo or question.model.unconfirmed,
            contained=self._is_contained(question),
            shell=question.tool.name in SHELL_TOOLS,
            tool=question.tool.name,
            shares_temporary=self._shares_temporary(),
        )
        return also_ask(verdict, question.tool.name, question.ask) if question.ask else verdict

    def _is_contained(self, question: ToolQuestion) -> bool:
        return (
            bool(question.effects.runs)
            and question.tool.name not in ELSEWHERE
            and self._contained(question.effects.runs)
        )

    async def _changes_first(self, question: ToolQuestion, verdict: PolicyVerdict, asking: "_Asking") -> bool:
        """Ask; True if the decision changed before there was an answer, which closes the question."""

        async def watch() -> None:
            while self._decide(question) == verdict:
                await self.permissions.wait()

        assert question.context.ui is not None
        try:
            async with asyncio.TaskGroup() as group:
                ask = spawn(group, asking.ask(question.context.ui))
                change = spawn(group, watch())
                await asyncio.wait((ask, change), return_when=asyncio.FIRST_COMPLETED)
                changed = not ask.done()
                ask.cancel()
                change.cancel()
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        return changed

    def _request(self, asked: ToolQuestion, items: tuple[ApprovalItem, ...]) -> "ApprovalRequest":
        effects, ctx = asked.effects, asked.context
        return requests.ApprovalRequest(
            tool=asked.tool.name,
            label=asked.tool.label,
            arguments=asked.call.arguments,
            cwd=effects.run_cwd or ctx.cwd,
            questions=items,
            for_session=all(item.key is not None for item in items),
            patterns=() if self._dialogs is None else _patterns(items),
            session_cwd=ctx.cwd,
            env=effects.env,
            details=effects.details,
            contained=self._is_contained(asked),
            call_id=asked.call.id,
        )

    def _apply(
        self,
        asked: ToolQuestion,
        verdict: PolicyVerdict,
        request: "ApprovalRequest",
        answer: "ApprovalDecision | None",
    ) -> Refusal | None:
        """Remember and record the answer."""
        if answer is None:
            self._record(asked, "user", verdict.reason, allowed=False)
            return refusals.unanswered(verdict.reason)
        self._record(asked, "user", verdict.reason, allowed=answer.choice != "no", answer=answer.choice)
        if answer.choice == "no":
            return refusals.declined(verdict.reason, answer.reason)
        if answer.choice in ("session", "always"):
            self.permissions.answer(item.key for item in request.questions if item.key is not None)
        if answer.choice == "always":
            self.permissions.apply("allow", request.patterns)
            try:
                self.permissions.store.add("allow", request.patterns)
            except TauError as error:
                ui: Ui | None = asked.context.ui
                assert ui is not None
                ui.notify(f"Allowed for this session only. {error}", "warning")
        return None

    def _settle(self, asked: ToolQuestion, verdict: PolicyVerdict) -> Refusal | None:
        """Act on a decision that needs no answer."""
        if verdict.verdict == "deny":
            planning = self.permissions.mode == "plan"
            self._record(asked, "mode" if planning else "rules", verdict.reason, allowed=False)
            refuse = refusals.planning if planning and verdict.reason.endswith(".") else refusals.denied
            return refuse(verdict.reason)
        if verdict.granted:
            self._record(asked, "rules", "; ".join(verdict.granted), allowed=True)
        return None

    def _refuse_unasked(self, asked: ToolQuestion, verdict: PolicyVerdict) -> Refusal:
        self._record(asked, "nobody", verdict.reason, allowed=False)
        notes = dict.fromkeys(note for item in verdict.questions for note in item.notes)
        text = "".join(f"{reveal(note)} " for note in notes)
        return refusals.unasked(verdict.reason, text, _patterns(verdict.questions))

    def _record(
        self, asked: ToolQuestion, by: "DecidedBy", reason: str, *, allowed: bool, answer: str = ""
    ) -> None:
        decision_log.record(
            self.permissions.log,
            decision_log.DecisionRecord(
                call_id=asked.call.id,
                tool=asked.tool.name,
                allowed=allowed,
                by=by,
                mode=self.permissions.mode,
                reason=refusals.shorten(reason),
                answer=answer,
            ),
        )


class _Asking:
    """Asks the user, with the mode's own dialog if it has one."""

    def __init__(self, dialogs: CodingDialogs | None, request: "ApprovalRequest") -> None:
        self._dialogs = dialogs
        self._request = request
        self.answer: ApprovalDecision | None = None

    async def ask(self, ui: Ui) -> None:
        if self._dialogs is not None:
            self.answer = await self._dialogs.approve(self._request)
        else:
            self.answer = await _select(ui, self._request)


async def _select(ui: Ui, request: "ApprovalRequest") -> "ApprovalDecision | None":
    options = [YES, NO, ALWAYS] if request.for_session else [YES, NO]  # numbers mean the same every time
    if not request_text.allowing_choices(request):
        options = [NO]
    chosen = await ui.select(request_text.describe_request(request), options)
    choices: dict[str | None, ApprovalChoice] = {YES: "once", ALWAYS: "session", NO: "no"}
    return requests.ApprovalDecision(choices[chosen]) if chosen in options else None


def _patterns(items: Sequence[ApprovalItem]) -> tuple[str, ...]:
    """Patterns that allow all items; empty if one of them cannot have a pattern."""
    patterns: dict[str, None] = {}
    for item in items:
        if not item.patterned:
            return ()
        match item.kind:
            case "run":
                suggested = suggestions.suggest_run(item.subject)
            case "write":
                suggested = suggestions.suggest_write(Path(item.subject))
            case "connect":
                suggested = suggestions.suggest_connection(item.subject)
            case "read":
                subject = item.subject
                suggested = () if "*" in subject or not subject.isprintable() else (f"read: {subject}",)
            case "mcp":
                subject = item.subject
                is_ambiguous = subject.count(".") > 1 or re.search(r"[*?\[]", subject)
                suggested = () if is_ambiguous or not subject.isprintable() else (f"mcp: {subject}",)
            case "tool":
                return ()
        if not suggested:
            return ()
        patterns |= dict.fromkeys(suggested)
    return tuple(patterns)
