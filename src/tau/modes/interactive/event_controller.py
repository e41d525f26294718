"""Shows session events on the screen."""

from typing import TYPE_CHECKING

from tau.agent.events import AgentEvent, MessageUpdate
from tau.agent.ui import NoticeLevel
from tau.ai.wire import AssistantMessage
from tau.base.late import late
from tau.coding.session.session import Session
from tau.modes.interactive.composer.pending_messages import PendingMessages
from tau.modes.interactive.status.todo_panel import TodoPanel
from tau.modes.interactive.transcript.block import CachedBlock
from tau.modes.interactive.transcript.block_context import BlockContext
from tau.modes.interactive.transcript.builder import TranscriptBuilder
from tau.modes.interactive.transcript.notice import NoticeBlock
from tau.modes.interactive.transcript.updater import TranscriptUpdater
from tau.tui.images.budget import ImageBudget

if TYPE_CHECKING:
    from tau.modes.interactive.current_session import CurrentSession
    from tau.modes.interactive.ports import Display
    from tau.modes.interactive.status.activity_line import ActivityLine
    from tau.modes.interactive.transcript.user_execution import ExecutionKind, UserExecutionBlock

model_resolver = late("tau.coding.model_resolver")
replay = late("tau.modes.interactive.transcript.replay")
shell_lines = late("tau.modes.interactive.transcript.user_execution")

MAX_BLOCKS = 1200
KEPT_BLOCKS = 800
"""Above the first number of blocks, only the second are kept for redrawing; the terminal has the rest."""
_BETTER_MODELS = "Add an API key with /login for a real one; local model servers are found automatically."
"""The screen offers a shorter way than the general advice."""
_KINDS: "dict[str, ExecutionKind]" = {"!": "bash", "$": "python", "b": "bash", "p": "python"}


class EventController:
    """Receives all session events; owns the transcript, the queue and the todo panel."""

    def __init__(self, display: "Display", current: "CurrentSession", activity: "ActivityLine") -> None:
        self._display = display
        self._current = current
        self._activity = activity
        self._scene = BlockContext(
            display.theme,
            display.keys,
            cwd=lambda: current.cwd,
            now=display.timer.time,
            capabilities=lambda: display.terminal.capabilities,
            budget=ImageBudget(current.settings.display.max_inline_images),
            room=self._room,
        )
        self._scene.hide_thinking = current.settings.display.hide_thinking
        self._story = TranscriptBuilder(self._scene, display.layout.transcript)
        self.pending = PendingMessages(display)
        self.todo = TodoPanel(display, current)
        self._telling = TranscriptUpdater(display, current, activity, self._story, self.pending, self.todo)
        self._command = ""
        self._alone: CachedBlock | None = None

    def __call__(self, event: AgentEvent) -> None:
        if type(event) is MessageUpdate:
            self._telling.words(event.assistant_message_event)
        else:
            self._telling.event(event)

    @property
    def reported_failure(self) -> str:
        """What the transcript said about the last answer if it failed or was cut off."""
        return self._story.failure_text

    def attach(self, session: Session, *, fresh: bool) -> None:
        """Show this session's transcript. `fresh`: keep what is shown, such as the greeting."""
        if not fresh:
            self._display.screen.flush_record()
            self._clear()
        self._begin(session)
        if session.log.leaf is not None and replay.is_unanswered(session.log):
            self.notice("The last message has no answer yet; send it again with /retry.", "warning")
        for notice in session.notices:
            self.notice(notice.message.replace(model_resolver.BETTER_MODELS, _BETTER_MODELS), notice.level)
        self._display.request_render(full=not fresh)

    def detach(self) -> None:
        """Stop listening; unfinished work is shown as stopped."""
        self._telling.over()
        self._story.settle()
        self.pending.clear()
        self.todo.clear()
        self._activity.clear()

    def rebuild(self, *, elsewhere: bool = True) -> None:
        """Rebuild the transcript after the session moved or its display changed."""
        session = self._current.session
        if session is not None:
            self._clear()
            self._begin(session)
            self._display.request_render(force=True, full=elsewhere)

    def settled(self, *, stopped: bool = False) -> None:
        """A run has ended; `stopped`: by the user."""
        if stopped:
            self._story.stopped()
        if not self._current.running:
            self._telling.over()
            self._story.settle()
            self._activity.end()
        self._drop_old()
        self._display.request_render()

    def _drop_old(self) -> None:
        """Blocks that scrolled away long ago stay only in the terminal's history."""
        display = self._display
        transcript = display.layout.transcript
        if len(transcript.blocks) > MAX_BLOCKS:
            count = len(transcript.blocks) - KEPT_BLOCKS
            display.screen.forget_rows(transcript.drop_first(count, display.screen.stats.ledger.committed))

    def notice(self, text: str, level: NoticeLevel = "info") -> None:
        """Add a line outside the conversation."""
        command = ""
        if "\n" in text.strip():
            command, self._command = self._command, ""
        self._story.add(NoticeBlock(self._scene, text, level, command))
        self._display.request_render()

    def answer_to(self, command: str) -> None:
        """Show this command above its first long notice; empty when it is done."""
        self._command = command

    def shell_line(self, kind: str, text: str, *, exclude: bool = False) -> "UserExecutionBlock":
        """The block of a line the user runs: `kind` is "bash" or "!", "python" or "$".

        A doubled sign keeps it out of the model's context, as `exclude` does.
        """
        line = shell_lines.UserExecutionBlock(
            self._scene,
            _KINDS[kind[0]],
            text,
            exclude=exclude or kind in ("!!", "$$"),
            on_change=self._display.request_render,
        )
        self._story.add(line)
        self._telling.lines.append(line)
        self._display.request_render()
        return line

    def toggle_expanded(self) -> bool:
        """Expand or collapse all blocks; whether they are now expanded."""
        self._scene.expanded = not self._scene.expanded
        self.todo.expand(self._scene.expanded)
        self._only(None)
        self._redraw()
        return self._scene.expanded

    def expand_one(self) -> bool:
        """Expand the last collapsible block, then the one before it; False if there is none."""
        blocks = [
            block
            for block in self._display.layout.transcript.blocks
            if isinstance(block, CachedBlock) and block.can_expand
        ]
        if not blocks:
            return False
        at = blocks.index(self._alone) if self._alone in blocks else len(blocks)
        self._only(blocks[at - 1] if at else None)
        self._redraw()
        return True

    def toggle_thinking(self) -> bool:
        """Show or hide thinking; whether it is now hidden."""
        self._scene.hide_thinking = not self._scene.hide_thinking
        self._redraw()
        return self._scene.hide_thinking

    def last_answer(self) -> str:
        """The model's last answer, as written."""
        session = self._current.session
        messages = [] if session is None else session.log.messages()
        for message in reversed(messages):
            if isinstance(message, AssistantMessage) and message.text.strip():
                return message.text
        return ""

    def _begin(self, session: Session) -> None:
        display = self._current.settings.display
        capable = self._display.terminal.capabilities.hyperlinks
        self._scene.hyperlinks = display.hyperlinks == "always" or (display.hyperlinks == "auto" and capable)
        self._alone = None
        self._telling.over()
        self._story = TranscriptBuilder(self._scene, self._display.layout.transcript)
        self._story.max_pictures = display.max_inline_images if display.show_images else 0
        self._story.shows_usage = display.show_token_usage
        self._telling.story = self._story
        if session.log.leaf is not None:
            replay.tell(self._story, session.log)
        waiting = session.queue.waiting()
        self.pending.show(
            [item.text for item in waiting if item.kind == "steering"],
            [item.text for item in waiting if item.kind == "followUp"],
        )
        self.todo.refresh()

    def _clear(self) -> None:
        transcript = self._display.layout.transcript
        for block in transcript.blocks:
            if isinstance(block, CachedBlock):
                block.leave()
        transcript.clear()
        self._scene.unfinished = 0

    def _room(self, width: int) -> int:
        """Rows of the window available to the transcript."""
        _, *below = self._display.layout.parts()
        return self._display.terminal.rows - sum([len(part.render(width)) for part in below])

    def _only(self, block: CachedBlock | None) -> None:
        if self._alone is not None:
            self._alone.alone = False
        self._alone = block
        if block is not None:
            block.alone = True

    def _redraw(self) -> None:
        """Redraw every block, rewriting from the first that differs."""
        self._display.layout.transcript.invalidate()
        self._display.request_render(force=True)
