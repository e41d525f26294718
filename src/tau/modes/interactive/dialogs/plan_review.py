"""The plan review: read, edit, approve here or in a new session, or send it back."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from tau.base.errors import TauError
from tau.base.files import make_private, write_atomic
from tau.base.late import late
from tau.coding.plan.mode import MAX_PLAN_BYTES
from tau.coding.plan.review import PLAN_FILE, Plan, PlanAnswer, title_of
from tau.modes.interactive.composer.external_editor import ExternalEditor
from tau.modes.interactive.current_session import SessionSwitch
from tau.modes.interactive.dialogs.basic import CANCEL, ChoicePanel
from tau.modes.interactive.dialogs.dialog_widgets import DialogChoice
from tau.modes.interactive.screen_protocols import Display, ScreenPorts
from tau.modes.interactive.ui_controller import ScreenUi
from tau.tui.input.key import InputEvent
from tau.tui.widgets.input_field import InputField

markdown = late("tau.tui.widgets.markdown.component")

ReviewChoice = Literal["approve", "new", "edit", "reject", "keep"]
HANDED_OVER = "Carry out this plan, which the user has approved:"


class PlanResponse(NamedTuple):
    """The user's decision, with a comment if the plan goes back."""

    choice: ReviewChoice
    feedback: str = ""


class PlanPanel(ChoicePanel):
    """The plan as Markdown, and below it the possible actions."""

    def __init__(self, display: Display, plan: Plan, done: Callable[[PlanResponse | None], None]) -> None:
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
            done,
            at=4,
            ends=False,
            cancels="keeps planning",
        )
        self._comment = InputField(
            display.theme,
            display.keys,
            prompt="What should change: ",
            validate=lambda text: None if text.strip() else "Describe what should change.",
            on_submit=lambda text: done(PlanResponse("reject", text.strip())),
            on_cancel=self._back,
        )
        self._is_commenting = False

    def handle_input(self, event: InputEvent) -> bool:
        return self._comment.handle_input(event) if self._is_commenting else super().handle_input(event)

    def below(self, width: int) -> list[str]:
        if not self._is_commenting:
            return super().below(width)
        self._comment.focused = self.focused
        hints = [self.key("tui.input.submit", "sends it back"), self.key(CANCEL, "goes back")]
        return [*self._comment.render(width), *self.hint_rows(hints, width)]

    def choose(self, choice: DialogChoice) -> None:
        if choice.value == "reject":
            self._is_commenting = True
        else:
            self.done(PlanResponse(choice.value))

    def _back(self) -> None:
        self._is_commenting = False


def _below_title(plan: Plan) -> str:
    """The plan without a heading that repeats the frame title."""
    first, _, rest = plan.text.partition("\n")
    same = first.startswith("# ") and first[2:].strip() == plan.title
    return rest.strip("\n") if same and rest.strip() else plan.text


class PlanDialog:
    """Asks for a decision on a plan until there is one."""

    def __init__(self, ports: ScreenPorts, external_editor: ExternalEditor, ui: ScreenUi) -> None:
        self._display, self._current, self._notices, _, self._actions = ports
        self._external_editor = external_editor
        self._ui = ui

    async def review(self, plan: Plan) -> PlanAnswer | None:
        """The user's decision on a plan; if they cancel, stop the run that submitted it."""
        while True:
            panel = partial(PlanPanel, self._display, plan)
            answer = await self._ui.show(panel, f"Plan ready: {plan.title}")
            match answer:
                case None:
                    await self._ui.stop_run()
                case PlanResponse("edit"):
                    plan = await self._edit(plan)
                    continue
                case PlanResponse("new"):
                    await self._start_new_session(plan)
                case PlanResponse("approve" | "reject" as choice, feedback):
                    return PlanAnswer(choice, feedback)
            return PlanAnswer("keep")

    async def _edit(self, plan: Plan) -> Plan:
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

    async def _start_new_session(self, plan: Plan) -> None:
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
                carried=session.model,
            )
        )
        await self._ui.stop_run()
