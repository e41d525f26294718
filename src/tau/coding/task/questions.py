"""Questions of agents: they join the user's one queue and name the agent."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from tau.agent.ui import NoticeLevel, Ui
from tau.coding.approval.request import ApprovalDecision, ApprovalRequest
from tau.coding.ports import CodingDialogs

if TYPE_CHECKING:
    from tau.backends.shell.terminal import TerminalInput
    from tau.coding.plan.review import Plan, PlanAnswer
    from tau.coding.questions import AskAnswer, AskQuestion


class AgentUi:
    """A `Ui` for one agent. `waiting` is called when a question opens and closes."""

    def __init__(self, ui: Ui, id: str, waiting: Callable[[bool], None]) -> None:
        self._ui = ui
        self._id = id
        self._waiting = waiting

    @contextmanager
    def asking(self) -> Iterator[None]:
        self._waiting(True)
        try:
            yield
        finally:
            self._waiting(False)

    def _title(self, title: str) -> str:
        return f"Agent {self._id}: {title}"

    async def select(self, title: str, options: Sequence[str], *, timeout: float | None = None) -> str | None:
        with self.asking():
            return await self._ui.select(self._title(title), options, timeout=timeout)

    async def confirm(self, title: str, message: str, *, timeout: float | None = None) -> bool | None:
        with self.asking():
            return await self._ui.confirm(self._title(title), message, timeout=timeout)

    async def input(self, title: str, placeholder: str = "", *, timeout: float | None = None) -> str | None:
        with self.asking():
            return await self._ui.input(self._title(title), placeholder, timeout=timeout)

    async def editor(self, title: str, prefill: str = "") -> str | None:
        with self.asking():
            return await self._ui.editor(self._title(title), prefill)

    def notify(self, message: str, level: NoticeLevel = "info") -> None:
        self._ui.notify(self._title(message), level)

    def status(self, key: str, text: str | None) -> None:
        self._ui.status(f"{self._id}.{key}", text)

    def widget(self, key: str, lines: Sequence[str] | None) -> None:
        self._ui.widget(f"{self._id}.{key}", lines)

    def title(self, text: str) -> None:
        """The window belongs to the main conversation."""

    async def custom(self, component: Any) -> Any:
        with self.asking():
            return await self._ui.custom(component)


class AgentDialogs:
    """`dismissed` is called when the user closes a question without an answer."""

    def __init__(self, dialogs: CodingDialogs, ui: AgentUi, id: str, dismissed: Callable[[], None]) -> None:
        self._dialogs = dialogs
        self._ui = ui
        self._id = id
        self._dismissed = dismissed

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision | None:
        with self._ui.asking():
            answer = await self._dialogs.approve(replace(request, agent=request.agent or self._id))
        if answer is None:
            self._dismissed()
        return answer

    async def ask_questions(
        self, asked: "Sequence[AskQuestion]", timeout_s: float | None
    ) -> "list[AskAnswer] | None":
        with self._ui.asking():
            return await self._dialogs.ask_questions(asked, timeout_s)

    async def review_plan(self, plan: "Plan") -> "PlanAnswer | None":
        with self._ui.asking():
            return await self._dialogs.review_plan(plan)

    @property
    def terminal(self) -> "TerminalInput | None":
        return None
