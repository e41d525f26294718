"""The editor's surroundings: history, images, drafts, sending, stopping, external editor."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tau.modes.interactive.composer.attachments import Attachments
from tau.modes.interactive.composer.draft_autosave import DraftAutosave
from tau.modes.interactive.composer.external_editor import ExternalEditor
from tau.modes.interactive.composer.interrupts import Interrupts
from tau.modes.interactive.composer.message_sender import MessageSender
from tau.modes.interactive.composer.prompt_recall import PromptRecall

if TYPE_CHECKING:
    from tau.modes.interactive.current_session import CurrentSession
    from tau.modes.interactive.ports import AppActions, Display, Notices, Tasks
    from tau.modes.interactive.status.activity_line import ActivityLine


class Composer:
    def __init__(
        self,
        display: "Display",
        current: "CurrentSession",
        notices: "Notices",
        tasks: "Tasks",
        activity: "ActivityLine",
        actions: "AppActions",
        is_command: Callable[[str], bool],
    ) -> None:
        self.recall = PromptRecall(display, current, tasks)
        self.attachments = Attachments(display, current, notices, tasks)
        self.drafts = DraftAutosave(display, current, notices, tasks, self.recall, self.attachments)
        self.sender = MessageSender(
            display,
            current,
            notices,
            tasks,
            actions,
            is_command=is_command,
            recall=self.recall,
            keeper=self.drafts,
            pictures=self.attachments,
        )
        self.interrupts = Interrupts(
            display,
            current,
            notices,
            activity,
            actions,
            recall=self.recall,
            sending=self.sender,
            keeper=self.drafts,
        )
        self.external_editor = ExternalEditor(display, current, notices, self.recall.add)
