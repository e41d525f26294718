"""From what happens in a session to what stands on the screen."""

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
"""With more than the first, only the second are kept to be drawn anew; the terminal's history has all."""
_BETTER_MODELS = (
    "/login gives tau a key for a real one, and a model server on this machine is found by itself."
)
"""On the screen there is a shorter way than the one that holds everywhere."""
_KINDS: "dict[str, ExecutionKind]" = {"!": "bash", "$": "python", "b": "bash", "p": "python"}


class EventController:
    """Told of everything that happens in the session; owns the transcript, the queue and the tasks shown."""

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
        """What the transcript said about the last answer, if it failed or was cut off."""
        return self._story.failure_text

    def attach(self, session: Session, *, fresh: bool) -> None:
        """The transcript of this session. `fresh`: what stands there already, a welcome, stays."""
        if not fresh:
            self._display.screen.flush_record()
            self._clear()
        self._begin(session)
        if session.log.leaf is not None and replay.is_unanswered(session.log):
            self.notice("The last message has no answer yet; /retry asks for it again.", "warning")
        for notice in session.notices:
            self.notice(notice.message.replace(model_resolver.BETTER_MODELS, _BETTER_MODELS), notice.level)
        self._display.request_render(full=not fresh)

    def detach(self) -> None:
        """Nothing more is told of it; what it did not end is shown as stopped."""
        self._telling.over()
        self._story.settle()
        self.pending.clear()
        self.todo.clear()
        self._activity.clear()

    def rebuild(self, *, elsewhere: bool = True) -> None:
        """Draw the transcript anew: the session stands elsewhere, or shows what it has in another way."""
        session = self._current.session
        if session is not None:
            self._clear()
            self._begin(session)
            self._display.request_render(force=True, full=elsewhere)

    def settled(self, *, stopped: bool = False) -> None:
        """A run has ended, whatever came of it; `stopped`: the person ended it."""
        if stopped:
            self._story.stopped()
        if not self._current.running:
            self._telling.over()
            self._story.settle()
            self._activity.end()
        self._drop_old()
        self._display.request_render()

    def _drop_old(self) -> None:
        """Blocks that scrolled away long ago stay in the terminal's history only."""
        display = self._display
        transcript = display.layout.transcript
        if len(transcript.blocks) > MAX_BLOCKS:
            count = len(transcript.blocks) - KEPT_BLOCKS
            display.screen.forget_rows(transcript.drop_first(count, display.screen.stats.ledger.committed))

    def notice(self, text: str, level: NoticeLevel = "info") -> None:
        """A line that is not part of the conversation."""
        command = ""
        if "\n" in text.strip():
            command, self._command = self._command, ""
        self._story.add(NoticeBlock(self._scene, text, level, command))
        self._display.request_render()

    def answer_to(self, command: str) -> None:
        """This command runs now: the first long notice stands below it. Nothing: none runs."""
        self._command = command

    def shell_line(self, kind: str, text: str, *, exclude: bool = False) -> "UserExecutionBlock":
        """The block of a line that the person runs: `kind` is "bash" or "!", "python" or "$".

        A doubled sign excludes it from what the model is told, as `exclude` does.
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
        """Show all of every block, or the essence; whether all is shown now."""
        self._scene.expanded = not self._scene.expanded
        self.todo.expand(self._scene.expanded)
        self._only(None)
        self._redraw()
        return self._scene.expanded

    def expand_one(self) -> bool:
        """Show all of the last block that has more to show, then of the one before; False: there is none."""
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
        """Hide what the model thinks, or show it; whether it is hidden now."""
        self._scene.hide_thinking = not self._scene.hide_thinking
        self._redraw()
        return self._scene.hide_thinking

    def last_answer(self) -> str:
        """The last words of the model, as it wrote them."""
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
        """The rows of the window that the transcript has for itself."""
        _, *below = self._display.layout.parts()
        return self._display.terminal.rows - sum([len(part.render(width)) for part in below])

    def _only(self, block: CachedBlock | None) -> None:
        if self._alone is not None:
            self._alone.alone = False
        self._alone = block
        if block is not None:
            block.alone = True

    def _redraw(self) -> None:
        """Every block says what it shows now; from the first that differs on they are written again."""
        self._display.layout.transcript.invalidate()
        self._display.request_render(force=True)
