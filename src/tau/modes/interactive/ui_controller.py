"""Shows questions, notifications and widgets on the screen."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from tau.agent.ui import NoticeLevel
from tau.base import log
from tau.base.errors import TauError
from tau.base.late import late
from tau.tui.component import Component
from tau.tui.input.key import InputEvent, Paste
from tau.tui.timer import sleep
from tau.tui.widgets.spacer import Spacer

if TYPE_CHECKING:
    from tau.coding.approval.hook import ApprovalDecision, ApprovalRequest
    from tau.coding.plan.review import Plan, PlanAnswer
    from tau.coding.questions import AskAnswer, AskQuestion
    from tau.modes.interactive.composer.external_editor import ExternalEditor
    from tau.modes.interactive.current_session import CurrentSession
    from tau.modes.interactive.dialogs.dialog_host import Dialogs
    from tau.modes.interactive.ports import AppActions, Display, Notices, Tasks
    from tau.modes.interactive.status.activity_line import ActivityLine
    from tau.modes.interactive.status.extension_widgets import ExtensionWidgets
    from tau.modes.interactive.status.notifications import Notifications

approval = late("tau.modes.interactive.dialogs.approval")
questionnaire = late("tau.modes.interactive.dialogs.questionnaire")
plan_reviews = late("tau.modes.interactive.dialogs.plan_review")
basic = late("tau.modes.interactive.dialogs.basic")
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
        display: "Display",
        current: "CurrentSession",
        notices: "Notices",
        tasks: "Tasks",
        actions: "AppActions",
        *,
        dialogs: "Dialogs",
        activity: "ActivityLine",
        notifications: "Notifications",
        external_editor: "ExternalEditor",
        stop_agent: Callable[[], bool],
    ) -> None:
        self._display = display
        self._current = current
        self._notices = notices
        self._tasks = tasks
        self._actions = actions
        self._dialogs = dialogs
        self._activity = activity
        self._notifications = notifications
        self._external_editor = external_editor
        self._stop_agent = stop_agent
        self._typed_at = float("-inf")
        self._answered_at = float("-inf")
        self._widgets: ExtensionWidgets | None = None
        display.screen.listen(self._hear)
        exchange_log.keep()  # for /debug

    async def select(self, title: str, options: Sequence[str], *, timeout: float | None = None) -> str | None:
        make: _Make[str] = basic.ask_choice(self._display, title, options)
        return await self.show(make, title, timeout)

    async def confirm(self, title: str, message: str, *, timeout: float | None = None) -> bool | None:
        """Highlights "no" first."""
        text = f"{title}\n{message}" if message else title
        make: _Make[str] = basic.ask_choice(self._display, text, ("Yes", "No"), at=1)
        answer = await self.show(make, title, timeout)
        return None if answer is None else answer == "Yes"

    async def input(self, title: str, placeholder: str = "", *, timeout: float | None = None) -> str | None:
        def make(done: Callable[[str | None], None]) -> Component:
            panel: Component = basic.LinePanel(self._display, "", title, done, placeholder=placeholder)
            return panel

        return await self.show(make, title, timeout)

    async def editor(self, title: str, prefill: str = "") -> str | None:
        def make(done: Callable[[str | None], None]) -> Component:
            panel: Component = basic.TextPanel(
                self._display, self._tasks, self._external_editor, title, prefill, done
            )
            return panel

        return await self.show(make, title)

    async def custom(self, component: Any) -> Any:
        """Show the caller's component: `component(done)` returns one that calls `done`."""
        if not callable(component):
            raise TauError("A component must be a function that takes `done` and returns a component.")

        def make(done: Callable[[Any], None]) -> Component:
            try:
                made = component(done)
                if isinstance(made, Component):
                    return made
                raise TypeError(f"it gave {type(made).__name__}, not a Component")
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
        self._shown_widgets().status(key, text)

    def widget(self, key: str, lines: Sequence[str] | None) -> None:
        """Show lines above the editor."""
        self._shown_widgets().widget(key, lines)

    def title(self, text: str) -> None:
        """Set the window title."""
        self._notifications.title(text)

    async def approve(self, request: "ApprovalRequest") -> "ApprovalDecision | None":
        """Ask whether a call may run; Escape stops the run."""
        make: _Make[ApprovalDecision] = approval.approval(
            self._display, self._notices, request, self._answered_at
        )
        answer = await self.show(make, approval.heading(request))
        self._answered_at = self._display.timer.time()
        if answer is None:
            await self.stop_run()
        return answer

    async def ask_questions(
        self, asked: "Sequence[AskQuestion]", timeout_s: float | None
    ) -> "list[AskAnswer] | None":
        """Ask the agent's questions; Escape stops the run."""
        make: _Make[list[AskAnswer]] = questionnaire.questionnaire(
            self._display, self._notices, asked, timeout_s
        )
        answers = await self.show(make, asked[0].question if asked else "")
        if answers is None:
            await self.stop_run()
        return answers

    async def review_plan(self, plan: "Plan") -> "PlanAnswer | None":
        """Ask for a decision on a plan; Escape keeps planning and stops the run."""
        answer: PlanAnswer | None = await plan_reviews.PlanDialog(
            self._display, self._current, self._notices, self._external_editor, self._actions, self
        ).review(plan)
        return answer

    async def show(self, make: _Make[T], about: str, timeout: float | None = None) -> T | None:
        """Show an unprompted question once the user pauses typing."""
        await self._until_quiet()
        if about:
            self._notifications.call(about)
        if not self._current.running:
            return await self._dialogs.ask(make, timeout=timeout)
        self._activity.show("Waiting for your answer", stop_key_action="")
        try:
            return await self._dialogs.ask(make, timeout=timeout)
        finally:
            self._activity.hide()

    async def stop_run(self) -> None:
        """The user canceled: stop the run that asked, as Escape does elsewhere."""
        if self._stop_agent():
            await asyncio.sleep(0)

    async def _until_quiet(self) -> None:
        time = self._display.timer.time
        end = time() + MAX_QUIET_S
        while not self._display.editor.is_empty and not self._dialogs.open:
            left = min(self._typed_at + QUIET_S, end) - time()
            if left <= 0:
                return
            await sleep(self._display.timer, left)

    def _hear(self, event: InputEvent) -> None:
        if self._display.screen.focused is self._display.editor and (isinstance(event, Paste) or event.text):
            self._typed_at = self._display.timer.time()

    def _shown_widgets(self) -> "ExtensionWidgets":
        if self._widgets is None:
            self._widgets = extension_widgets.ExtensionWidgets(self._display)
        return self._widgets
