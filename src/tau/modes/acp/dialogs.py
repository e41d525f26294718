"""Questions to the user as permission requests of the editor, with the whole command or diff."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp import schema as a
from acp.interfaces import Client

from tau.agent.events import Notice
from tau.agent.ports import FileSystem
from tau.agent.ui import NoticeLevel
from tau.base.errors import ToolError
from tau.base.text import reveal
from tau.coding.approval.request import ApprovalChoice, ApprovalDecision, ApprovalRequest
from tau.coding.approval.request_text import allowing_choices, describe_request
from tau.coding.plan.review import APPROVE, KEEP, Plan, PlanAnswer
from tau.coding.questions import AskAnswer, AskQuestion, answer_of, fallback
from tau.modes.acp.editor_files import INVALID
from tau.modes.acp.tool_calls import ShownCall, ToolContent, text_content

if TYPE_CHECKING:
    from tau.backends.shell.terminal import TerminalInput

DEAD = "The editor did not answer: {error}"


class AcpDialogs:
    """Implements `tau.agent.ui.Ui` and `tau.coding.ports.CodingDialogs`: the editor shows choices only.

    `files` are those that a change is made to.
    """

    def __init__(
        self,
        client: Client,
        session_id: Callable[[], str],
        emit: Callable[[Notice], None],
        files: FileSystem,
    ) -> None:
        self._client = client
        self._files = files
        self._session_id = session_id
        self._emit = emit
        self._count = 0

    @property
    def terminal(self) -> "TerminalInput | None":
        return None

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision | None:
        call = ShownCall(request.call_id, request.tool, request.arguments, request.session_cwd)
        choices = allowing_choices(request)
        options = [
            _option(one.value, reveal(one.label), "allow_once" if one.value == "once" else "allow_always")
            for one in choices
        ]
        options.insert(1, _option("no", "Reject", "reject_once"))
        shown = [*await call.planned(self._files), text_content(describe_request(request))]
        chosen = await self._request(call, reveal(call.title), shown, options)
        answers: dict[str, ApprovalChoice] = {one.value: one.value for one in choices}
        answers["no"] = "no"
        return ApprovalDecision(answers[chosen]) if chosen is not None else None

    async def ask_questions(
        self, asked: Sequence[AskQuestion], timeout_s: float | None
    ) -> list[AskAnswer] | None:
        answers: list[AskAnswer] = []
        for question in asked:
            labels = [option.label for option in question.options]
            texts = [f"- {option.label}: {option.description}" for option in question.options]
            try:
                async with asyncio.timeout(timeout_s):
                    chosen = await self._choose(question.question, labels, "\n".join(texts))
            except TimeoutError:
                answers.append(fallback(question))
                continue
            if chosen is None:
                return None
            answers.append(answer_of(question, [chosen]))
        return answers

    async def review_plan(self, plan: Plan) -> PlanAnswer | None:
        chosen = await self._choose(f'Carry out the plan "{plan.title}"?', [APPROVE, KEEP], plan.text)
        return PlanAnswer("approve" if chosen == APPROVE else "keep")

    async def select(self, title: str, options: Sequence[str], *, timeout: float | None = None) -> str | None:
        try:
            async with asyncio.timeout(timeout):
                return await self._choose(title, options)
        except TimeoutError:
            return None

    async def confirm(self, title: str, message: str, *, timeout: float | None = None) -> bool | None:
        chosen = await self.select(
            f"{title}\n{message}" if message else title, ["Yes", "No"], timeout=timeout
        )
        return None if chosen is None else chosen == "Yes"

    async def input(self, title: str, placeholder: str = "", *, timeout: float | None = None) -> str | None:
        """Editors have no text field for this: the model reads that nobody answered."""
        return None

    async def editor(self, title: str, prefill: str = "") -> str | None:
        return None

    def notify(self, message: str, level: NoticeLevel = "info") -> None:
        self._emit(Notice(level, message))

    def status(self, key: str, text: str | None) -> None:
        """There is no place for it."""

    def widget(self, key: str, lines: Sequence[str] | None) -> None:
        """There is no place for it."""

    def title(self, text: str) -> None:
        """The session's name is sent as an update."""

    async def custom(self, component: Any) -> Any:
        return None

    async def _choose(self, title: str, options: Sequence[str], text: str = "") -> str | None:
        """The chosen option; None if the user closes the question. What hides in it is shown."""
        if not options:
            return None
        self._count += 1
        first, *_ = reveal(title).split("\n")
        call = ShownCall(f"question_{self._count}", "ask", {}, Path())
        shown: list[ToolContent] = [text_content(reveal(part)) for part in (title, text) if part]
        offered = [_option(str(at), reveal(name), "allow_once") for at, name in enumerate(options)]
        offered.append(_option("none", "Dismiss", "reject_once"))
        chosen = await self._request(call, first, shown, offered)
        return options[int(chosen)] if chosen is not None and chosen.isdecimal() else None

    async def _request(
        self, call: ShownCall, title: str, content: list[ToolContent], options: list[a.PermissionOption]
    ) -> str | None:
        """The id of the chosen option. Raises ToolError if the editor is gone or refuses."""
        update = a.ToolCallUpdate(
            tool_call_id=call.id,
            title=title,
            kind=call.kind,
            status="pending",
            content=content,
            locations=call.locations,
            raw_input=call.arguments,
        )
        try:
            answer = await self._client.request_permission(self._session_id(), update, options)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            raise ToolError(INVALID if isinstance(error, ValueError) else DEAD.format(error=error)) from error
        known = {option.option_id for option in options}
        outcome = answer.outcome
        chosen = outcome.option_id if isinstance(outcome, a.AllowedOutcome) else None
        return chosen if chosen in known else None


def _option(id: str, name: str, kind: a.PermissionOptionKind) -> a.PermissionOption:
    return a.PermissionOption(option_id=id, name=name, kind=kind)
