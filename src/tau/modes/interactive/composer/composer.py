"""The editor's surroundings: history, images, drafts, sending, stopping, external editor."""

from collections.abc import Callable

from tau.modes.interactive.composer.attachments import Attachments
from tau.modes.interactive.composer.draft_autosave import DraftAutosave
from tau.modes.interactive.composer.external_editor import ExternalEditor
from tau.modes.interactive.composer.interrupts import Interrupts
from tau.modes.interactive.composer.message_sender import MessageSender
from tau.modes.interactive.composer.prompt_recall import PromptRecall
from tau.modes.interactive.screen_protocols import ScreenPorts
from tau.modes.interactive.status.activity_line import ActivityLine


class Composer:
    def __init__(self, ports: ScreenPorts, activity: ActivityLine, is_command: Callable[[str], bool]) -> None:
        self.recall = PromptRecall(ports)
        self.attachments = Attachments(ports)
        self.drafts = DraftAutosave(ports, self.recall, self.attachments)
        self.sender = MessageSender(ports, self.recall, self.drafts, self.attachments, is_command)
        self.interrupts = Interrupts(ports, activity, self.recall, self.sender, self.drafts)
        self.external_editor = ExternalEditor(ports, self.recall.add)
