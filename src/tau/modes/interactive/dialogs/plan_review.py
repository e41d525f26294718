"""The plan review: read, edit, approve here or in a new session, or send it back."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from tau.base.errors import TauError
from tau.base.files import make_private, write_atomic
from tau.base.late import late
from tau.coding.plan.mode import MAX_PLAN_BYTES
from tau.coding.plan.review import PLAN_FILE, Plan, PlanAnswer, title_of
from tau.modes.interactive.dialogs.basic import CANCEL, ChoicePanel
from tau.modes.interactive.dialogs.parts import DialogChoice
from tau.modes.interactive.session_switch import SessionSwitch
from tau.tui.component import Component
from tau.tui.input.key import InputEvent
from tau.tui.widgets.input_field import InputField

if TYPE_CHECKING:
    from tau.modes.interactive.composer.external_editor import ExternalEditor
    from tau.modes.interactive.current_session import CurrentSession
    from tau.modes.interactive.ports import AppActions, Display, Notices

markdown = late("tau.tui.widgets.markdown.component")

ReviewChoice = Literal["approve", "new", "edit", "reject", "keep"]
HANDED_OVER = "Carry out this plan, which the user has approved:"


class PlanResponse(NamedTuple):
    """The user's decision, with a comment if the plan goes back; None if canceled."""

    wish: ReviewChoice | None
    feedback: str = ""


class PlanPanel(ChoicePanel):
    """The plan as Markdown, and below it the possible actions."""

    def __init__(self, display: "Display", plan: Plan, done: Callable[[PlanResponse | None], None]) -> None:
        super().__init__(
            display,
            f"Plan: {plan.title}",
            markdown.Markdown(display.theme, _below_title(plan)),
            [
                DialogChoice("approve", "Approve and start"),
                DialogChoice("new", "Approve and start in a new session", "Starts with only the plan."),
                DialogChoice("edit", "Edit in your editor"),
                DialogChoice("reject", "Send back with a comment"),
                DialogChoice("keep", "Keep planning"),
            ],
            at=4,
            ends=False,
            cancels="keeps planning",
            on_answer=self._answer,
            on_cancel=lambda: done(None),
        )
        self._done = done
        self._comment = InputField(
            display.theme,
            display.keys,
            prompt="What should change: ",
            validate=lambda text: None if text.strip() else "Describe what should change.",
            on_submit=lambda text: done(PlanResponse("reject", text.strip())),
            on_cancel=self._back,
        )
        self._writes = False

    def handle_input(self, event: InputEvent) -> bool:
        return self._comment.handle_input(event) if self._writes else super().handle_input(event)

    def below(self, width: int) -> list[str]:
        if not self._writes:
            return super().below(width)
        self._comment.focused = self.focused
        hints = [self.key("tui.input.submit", "sends it back"), self.key(CANCEL, "goes back")]
        return [*self._comment.render(width), *self.hint_rows(hints, width)]

    def _answer(self, choice: DialogChoice) -> None:
        if choice.value == "reject":
            self._writes = True
        else:
            self._done(PlanResponse(choice.value))

    def _back(self) -> None:
        self._writes = False


def _below_title(plan: Plan) -> str:
    """The plan without a heading that repeats the frame title."""
    first, _, rest = plan.text.partition("\n")
    same = first.startswith("# ") and first[2:].strip() == plan.title
    return rest.strip("\n") if same and rest.strip() else plan.text


class QuestionHost(Protocol):
    """Shows an unprompted dialog and can stop the run that needs it."""

    async def show(
        self, make: Callable[[Callable[[PlanResponse | None], None]], Component], about: str
    ) -> PlanResponse | None: ...
    async def stop_run(self) -> None: ...


class PlanDialog:
    """Asks for a decision on a plan until there is one."""

    def __init__(
        self,
        display: "Display",
        current: "CurrentSession",
        notices: "Notices",
        external_editor: "ExternalEditor",
        actions: "AppActions",
        host: QuestionHost,
    ) -> None:
        self._display = display
        self._current = current
        self._notices = notices
        self._external_editor = external_editor
        self._actions = actions
        self._host = host

    async def review(self, plan: Plan) -> PlanAnswer | None:
        """The user's decision on a plan; if they cancel, stop the run that submitted it."""
        while True:
            shown = await self._host.show(self._make(plan), f"Plan ready: {plan.title}")
            said = shown or PlanResponse(None)
            match said.wish:
                case "approve":
                    return PlanAnswer("approve")
                case "reject":
                    return PlanAnswer("reject", said.feedback)
                case "keep":
                    return PlanAnswer("keep")
                case "edit":
                    plan = await self._edited(plan)
                case "new":
                    await self._hand_over(plan)
                    return PlanAnswer("keep")
                case None:
                    await self._host.stop_run()
                    return PlanAnswer("keep")

    def _make(self, plan: Plan) -> Callable[[Callable[[PlanResponse | None], None]], Component]:
        return lambda done: PlanPanel(self._display, plan, done)

    async def _edited(self, plan: Plan) -> Plan:
        """The plan as edited by the user, written to its file."""
        try:
            text = (await self._external_editor.edit(plan.text, "plan.md")).strip()
            if text == plan.text:
                return plan
            data = text.encode("utf-8", "replace")
            if not text or len(data) > MAX_PLAN_BYTES:
                raise TauError("The plan is empty or too long; keeping the old one.")
            file = self._file()
            await asyncio.to_thread(make_private, file.parent)
            await asyncio.to_thread(write_atomic, file, data + b"\n")
        except OSError as error:
            self._notices.show_error(
                f"Cannot write the plan, keeping the old one: {error.strerror or error}."
            )
            return plan
        except TauError as error:
            self._notices.show_error(str(error))
            return plan
        return Plan(title_of(text), text, plan.url)

    def _file(self) -> Path:
        """The plan file of this session. Raises TauError if the session is not saved."""
        folder = None if self._current.session is None else self._current.session.log.artifacts_folder
        if folder is None:
            raise TauError(
                "This session is not saved, so its plan cannot be edited here; send it back instead."
            )
        return folder / "local" / PLAN_FILE.removeprefix("local://")

    async def _hand_over(self, plan: Plan) -> None:
        """Leave plan mode and carry out the plan in a new session that knows nothing else."""
        session = self._current.session
        if session is None:
            return
        session.plan.leave(approved=plan.url)
        self._actions.leave(
            SessionSwitch(
                "new",
                prompt=f"{HANDED_OVER}\n\n{plan.text}",
                notice=f'Carrying out the plan "{plan.title}".',
            )
        )
        await self._host.stop_run()
