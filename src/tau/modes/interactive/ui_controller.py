"""Shows questions, notifications and widgets on the screen."""

import asyncio
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from tau.agent.ui import NoticeLevel
from tau.base import log
from tau.base.errors import TauError
from tau.base.late import late
from tau.coding.approval.request import ApprovalDecision, ApprovalRequest
from tau.modes.interactive.composer.composer import Composer
from tau.modes.interactive.dialogs.dialog_host import Dialogs
from tau.modes.interactive.screen_protocols import ScreenPorts
from tau.modes.interactive.status.activity_line import ActivityLine
from tau.modes.interactive.status.notifications import Notifications
from tau.tui.component import Component
from tau.tui.input.key import InputEvent, Paste
from tau.tui.timer import sleep
from tau.tui.widgets.container import Spacer

if TYPE_CHECKING:
    from tau.coding.plan.review import Plan, PlanAnswer
    from tau.coding.questions import AskAnswer, AskQuestion

approval = late("tau.modes.interactive.dialogs.approval")
request_text = late("tau.coding.approval.request_text")
questionnaire = late("tau.modes.interactive.dialogs.questionnaire")
plan_reviews = late("tau.modes.interactive.dialogs.plan_review")
basic = late("tau.modes.interactive.dialogs.basic")
permissions_report = late("tau.modes.permissions_report")
exchange_log = late("tau.ai.exchange_log")
extension_widgets = late("tau.modes.interactive.status.extension_widgets")

T = TypeVar("T")
_Make = Callable[[Callable[[T | None], None]], Component]

QUIET_S = 0.7
"""Wait for a pause in typing this long before interrupting."""
MAX_QUIET_S = 5.0
MAX_NOTICE_CHARS = 10_000


class ScreenUi:
    """Implements `tau.agent.ui.Ui` and `tau.coding.ports.CodingDialogs`.

    Questions are shown one at a time. Stopping a run closes its open question.
    """

    terminal = None  # not lent to programs

    def __init__(
        self,
        ports: ScreenPorts,
        dialogs: Dialogs,
        activity: ActivityLine,
        notifications: Notifications,
        composer: Composer,
    ) -> None:
        self._ports = ports
        self._display, self._current, self._notices, self._tasks, _ = ports
        self._dialogs = dialogs
        self._activity = activity
        self._notifications = notifications
        self._composer = composer
        self._typed_at = float("-inf")
        self._answered_at = float("-inf")
        self._display.screen.listen(self._note_typing)
        exchange_log.start_recording()  # for /debug

    async def select(self, title: str, options: Sequence[str], *, timeout: float | None = None) -> str | None:
        return await self.show(basic.ask_choice(self._display, title, options), title, timeout)

    async def confirm(self, title: str, message: str, *, timeout: float | None = None) -> bool | None:
        """Highlights "no" first."""
        text = f"{title}\n{message}" if message else title
        answer = await self.show(basic.ask_choice(self._display, text, ("Yes", "No"), at=1), title, timeout)
        return None if answer is None else answer == "Yes"

    async def input(self, title: str, placeholder: str = "", *, timeout: float | None = None) -> str | None:
        def make(done: Callable[[str | None], None]) -> Component:
            return basic.LinePanel(self._display, "", title, done, placeholder=placeholder)

        return await self.show(make, title, timeout)

    async def editor(self, title: str, prefill: str = "") -> str | None:
        def make(done: Callable[[str | None], None]) -> Component:
            editor = self._composer.external_editor
            return basic.TextPanel(self._display, self._tasks, editor, title, prefill, done)

        return await self.show(make, title)

    async def custom(self, component: Any) -> Any:
        """Show the caller's component: `component(done)` returns one that calls `done`."""
        if not callable(component):
            raise TauError("A component must be a function that takes `done` and returns a component.")

        def make(done: Callable[[Any], None]) -> Component:
            try:
                result = component(done)
                if isinstance(result, Component):
                    return result
                raise TypeError(f"it returned {type(result).__name__}, not a Component")
            except Exception as error:
                log.error("Could not create a component.", error)
                self.notify(f"Could not show a component: {error}.", "error")
                done(None)
                return Spacer(0)

        return await self.show(make, "")

    def notify(self, message: str, level: NoticeLevel = "info") -> None:
        if len(message) > MAX_NOTICE_CHARS:
            message = f"{message[:MAX_NOTICE_CHARS]}…"
        self._notices.say(message, level)

    def status(self, key: str, text: str | None) -> None:
        """Show a short status below the editor."""
        self._widgets.status(key, text)

    def widget(self, key: str, lines: Sequence[str] | None) -> None:
        """Show lines above the editor."""
        self._widgets.widget(key, lines)

    def title(self, text: str) -> None:
        """Set the window title."""
        self._notifications.title(text)

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision | None:
        """Ask whether a call may run; Escape stops the run."""

        def make(done: Callable[[ApprovalDecision | None], None]) -> Component:
            return approval.ApprovalPanel(
                self._display, self._notices, request, done, self._answered_at, self._cycle_permissions
            )

        answer = await self.show(make, request_text.heading(request))
        self._answered_at = self._display.timer.time()
        if answer is None and not request.agent:
            await self.stop_run()
        return answer

    def _cycle_permissions(self) -> None:
        session = self._current.session
        if session is not None:
            self._notices.hint(permissions_report.describe_mode(session.permissions.cycle_mode()))

    async def ask_questions(
        self, questions: "Sequence[AskQuestion]", timeout_s: float | None
    ) -> "list[AskAnswer] | None":
        """Ask the agent's questions; Escape stops the run."""

        def make(done: "Callable[[list[AskAnswer] | None], None]") -> Component:
            return questionnaire.Questionnaire(self._display, self._notices, questions, timeout_s, done)

        answers = await self.show(make, questions[0].question if questions else "")
        if answers is None:
            await self.stop_run()
        return answers

    async def review_plan(self, plan: "Plan") -> "PlanAnswer | None":
        """Ask for a decision on a plan; Escape keeps planning and stops the run."""
        return await plan_reviews.PlanDialog(self._ports, self._composer.external_editor, self).review(plan)

    async def show(self, make: _Make[T], about: str, timeout: float | None = None) -> T | None:
        """Show an unprompted question once the user pauses typing."""
        await self._wait_for_pause()
        if about:
            self._notifications.call(about)
        if not self._current.running:
            return await self._dialogs.ask(make, timeout=timeout, place="inline")
        self._activity.show("Waiting for your answer", stop_key_action="")
        try:
            return await self._dialogs.ask(make, timeout=timeout, place="inline")
        finally:
            self._activity.hide()

    async def stop_run(self) -> None:
        """The user canceled: stop the run that asked, as Escape does elsewhere."""
        if self._composer.interrupts.stop_agent():
            await asyncio.sleep(0)

    async def _wait_for_pause(self) -> None:
        time = self._display.timer.time
        end = time() + MAX_QUIET_S
        while not self._display.editor.is_empty and not self._dialogs.open:
            left = min(self._typed_at + QUIET_S, end) - time()
            if left <= 0:
                return
            await sleep(self._display.timer, left)

    def _note_typing(self, event: InputEvent) -> None:
        if self._display.screen.focused is self._display.editor and (isinstance(event, Paste) or event.text):
            self._typed_at = self._display.timer.time()

    @cached_property
    def _widgets(self) -> "extension_widgets.ExtensionWidgets":
        return extension_widgets.ExtensionWidgets(self._display)
