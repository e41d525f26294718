"""The open questions of a session: shown to every client, answered by one."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Struct

from tau.coding.approval.request import ApprovalChoice, ApprovalDecision, ApprovalRequest
from tau.coding.approval.request_text import (
    allowing_choices,
    argument_rows,
    describe_request,
    fact_rows,
    heading,
)
from tau.coding.plan.review import Plan, PlanAnswer, ask_user
from tau.coding.questions import AskAnswer, AskQuestion
from tau.coding.tools.ask import ask_one_by_one
from tau.modes.rpc.frames import UiRequest, UiResponse
from tau.modes.rpc.ui import RpcUi

if TYPE_CHECKING:
    from tau.backends.shell.terminal import TerminalInput

DIALOGS = ("select", "confirm", "input", "editor")
DECLINE = "No"


class QuestionOpened(Struct, frozen=True, tag_field="type", tag="question_opened"):
    question: UiRequest


class QuestionClosed(Struct, frozen=True, tag_field="type", tag="question_closed"):
    """`by`: a client answered it, or the agent no longer waits for an answer."""

    id: str
    by: str


class ApprovalAnswer(Struct, frozen=True):
    value: ApprovalChoice
    label: str
    about: str = ""


class ApprovalRow(Struct, frozen=True):
    name: str
    text: str


class ApprovalDetails(Struct, frozen=True, rename="camel", kw_only=True):
    """What a call would do: `effects` are sentences, `arguments` are complete."""

    heading: str
    tool: str
    label: str
    call_id: str
    cwd: str
    contained: bool
    effects: list[str]
    notes: list[str]
    facts: list[ApprovalRow]
    arguments: list[ApprovalRow]
    choices: list[ApprovalAnswer]


class ClientDialogs(RpcUi):
    """Implements `tau.agent.ui.Ui` and `tau.coding.ports.CodingDialogs`; `publish` sends to all clients.

    A question is state: it is open until one client answers it, and then closed for all.
    """

    def __init__(
        self, publish: Callable[[Struct], None], dialog_timeout_s: float, stop_run: Callable[[], None]
    ) -> None:
        super().__init__(self._take, dialog_timeout_s)
        self._publish = publish
        self._stop_run = stop_run
        self.open: dict[str, UiRequest] = {}

    def can_take(self, response: UiResponse) -> bool:
        """Whether the answer fits the open question: a typing error must not decline a call."""
        question = self.open[response.id]
        choices = [] if question.approval is UNSET else [one.value for one in question.approval.choices]
        given = response.confirmed if question.method == "confirm" else response.value
        is_known = question.method != "select" or given in [*(question.options or ()), *choices]
        return response.cancelled or (given is not None and is_known)

    def answer(self, response: UiResponse) -> None:
        """A question that is not open ignores its answer. Dismissing an approval stops the run."""
        if (question := self.open.pop(response.id, None)) is not None:
            super().answer(response)
            self._publish(QuestionClosed(response.id, "client"))
            if response.cancelled and question.approval is not UNSET:
                self._stop_run()

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision | None:
        choices = [ApprovalAnswer(*choice) for choice in allowing_choices(request)]
        choices.append(ApprovalAnswer("no", DECLINE, "You can tell the agent why."))
        reply = await self._ask(
            None,
            method="select",
            title=describe_request(request),
            options=[choice.label for choice in choices],
            approval=_details(request, choices),
        )
        chosen = [one.value for one in choices if reply is not None and reply.value in (one.value, one.label)]
        if reply is None or not chosen:
            return None
        return ApprovalDecision(chosen[0], reply.reason if chosen[0] == "no" else "")

    async def ask_questions(
        self, asked: Sequence[AskQuestion], timeout_s: float | None
    ) -> list[AskAnswer] | None:
        return await ask_one_by_one(asked, self, timeout_s)

    async def review_plan(self, plan: Plan) -> PlanAnswer | None:
        return await ask_user(plan, self, None)

    @property
    def terminal(self) -> "TerminalInput | None":
        return None

    def _take(self, frame: Struct) -> None:
        if not isinstance(frame, UiRequest):
            self._publish(frame)
        elif frame.method in DIALOGS:
            self.open[frame.id] = frame
            self._publish(QuestionOpened(frame))
        elif frame.method == "cancel":
            if self.open.pop(str(frame.target_id), None) is not None:
                self._publish(QuestionClosed(str(frame.target_id), "agent"))
        else:
            self._publish(frame)


def _details(request: ApprovalRequest, choices: list[ApprovalAnswer]) -> Any:
    return ApprovalDetails(
        heading=heading(request),
        tool=request.tool,
        label=request.label,
        call_id=request.call_id,
        cwd=str(request.cwd),
        contained=request.contained,
        effects=[item.reason for item in request.questions],
        notes=list(dict.fromkeys(note for item in request.questions for note in item.notes)),
        facts=[ApprovalRow(*row) for row in fact_rows(request)],
        arguments=[ApprovalRow(*row) for row in argument_rows(request)],
        choices=choices,
    )
