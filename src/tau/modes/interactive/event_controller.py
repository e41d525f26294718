"""Shows session events on the screen."""

from collections.abc import Callable, Sequence

from tau.agent.events import AgentEvent, MessageUpdate
from tau.agent.ui import NoticeLevel
from tau.ai.wire import AssistantMessage
from tau.base.late import late
from tau.coding.session.session import Session
from tau.modes.interactive.composer.pending_messages import PendingMessages
from tau.modes.interactive.current_session import CurrentSession, SessionSwitch
from tau.modes.interactive.screen_protocols import Display
from tau.modes.interactive.status.activity_line import ActivityLine
from tau.modes.interactive.status.todo_panel import TodoPanel
from tau.modes.interactive.transcript.agent_views import AgentViews
from tau.modes.interactive.transcript.assistant import ThinkingBlock
from tau.modes.interactive.transcript.block import BlockContext, CachedBlock
from tau.modes.interactive.transcript.builder import TranscriptBuilder
from tau.modes.interactive.transcript.notice import NoticeBlock
from tau.modes.interactive.transcript.updater import TranscriptUpdater
from tau.tui.component import Component
from tau.tui.images.budget import ImageBudget

model_resolver = late("tau.coding.model_resolver")
pager_blocks = late("tau.modes.interactive.transcript.pager_blocks")
replay = late("tau.modes.interactive.transcript.replay")
user_execution = late("tau.modes.interactive.transcript.user_execution")

MAX_BLOCKS = 1200
KEPT_BLOCKS = 800
"""Above the first number of blocks, only the second are kept for redrawing; the terminal has the rest."""
_BETTER_MODELS = "Add an API key with /login for a real one; local model servers are found automatically."
"""The screen offers a shorter way than the general advice."""


class EventController:
    """Receives all session events; owns the transcript, the queue and the todo panel."""

    def __init__(self, display: Display, current: CurrentSession, activity: ActivityLine) -> None:
        self._display = display
        self._current = current
        self._activity = activity
        self._context = BlockContext(
            display.theme,
            display.keys,
            cwd=lambda: current.cwd,
            now=display.timer.time,
            capabilities=lambda: display.terminal.capabilities,
            budget=ImageBudget(current.settings.display.max_inline_images),
            room=self._room,
        )
        self._context.hide_thinking = current.settings.display.hide_thinking
        self._builder = TranscriptBuilder(self._context, display.layout.transcript)
        self.pending = PendingMessages(display)
        self.todo = TodoPanel(display, current)
        self._updater = TranscriptUpdater(display, current, activity, self._builder, self.pending, self.todo)
        self.agents = AgentViews(
            display,
            lambda call: self._builder.pending_call(call) is not None,
            self.notice,
            lambda: self._pager_context(expanded=False),
        )
        self._command = ""
        self._printed_block: CachedBlock | None = None
        self._shown_notices: set[str] = set()
        """Notices of the sessions shown so far."""

    def __call__(self, event: AgentEvent) -> None:
        if type(event) is MessageUpdate:
            self._updater.stream(event.assistant_message_event)
        else:
            self._updater.event(event)

    @property
    def reported_failure(self) -> str:
        """What the transcript said about the last answer if it failed or was cut off."""
        return self._builder.failure_text

    def attach(self, session: Session, change: SessionSwitch) -> None:
        """Show this session's transcript: below the greeting, or below the previous session."""
        moved = change.kind != "first" and not change.is_shown
        if moved:
            self._display.screen.flush_record()
            self._clear(below=True)
        self._begin(session, replays=not change.is_shown)
        self.agents.attach(session)
        if session.log.leaf is not None and replay.is_unanswered(session.log):
            self.notice("The last message has no answer yet; send it again with /retry.", "warning")
        for notice in session.notices:
            if notice.level == "info" and notice.message in self._shown_notices:
                continue  # about the model: the next session has the same
            self._shown_notices.add(notice.message)
            self.notice(notice.message.replace(model_resolver.BETTER_MODELS, _BETTER_MODELS), notice.level)
        self._display.request_render(full=moved)

    def detach(self) -> None:
        """Stop listening; unfinished work is shown as stopped."""
        self._updater.reset()
        self._builder.settle()
        self.pending.clear()
        self.todo.clear()
        self.agents.close()
        self._activity.clear()

    def rebuild(self, *, elsewhere: bool = True) -> None:
        """Rebuild the transcript after the session moved or its display changed."""
        session = self._current.session
        if session is not None:
            self._clear(below=elsewhere)
            self._begin(session)
            self._display.request_render(force=True, full=elsewhere)

    def finish_run(self, *, stopped: bool = False) -> None:
        """Show that a run has ended; `stopped`: by the user."""
        if stopped:
            self._builder.add_stop()
        if not self._current.running:
            self._updater.reset()
            self._builder.settle()
            self._activity.end()
        self._drop_old()
        self._display.request_render()

    def _drop_old(self) -> None:
        """Blocks that scrolled away long ago stay only in the terminal's history."""
        screen, transcript = self._display.screen, self._display.layout.transcript
        if len(transcript.blocks) > MAX_BLOCKS:
            count = len(transcript.blocks) - KEPT_BLOCKS
            screen.forget_rows(transcript.drop_first(count, screen.stats.ledger.committed))

    def notice(self, text: str, level: NoticeLevel = "info") -> None:
        """Add a line outside the conversation."""
        command = ""
        if "\n" in text.strip():
            command, self._command = self._command, ""
        self._builder.add(NoticeBlock(self._context, text, level, command))
        self._display.request_render()

    def expand_tools(self, expanded: bool | None) -> bool:
        """Whether later blocks are shown in full; a value sets it."""
        if expanded is not None:
            self._context.expanded = expanded
        return self._context.expanded

    def set_command(self, command: str) -> None:
        """Show this command above its first long notice; empty when it is done."""
        self._command = command

    def add_execution(
        self, kind: "user_execution.ExecutionKind", text: str, *, exclude: bool
    ) -> "user_execution.UserExecutionBlock":
        """Add the block of a line the user runs; `exclude` keeps it out of the model's context."""
        block = user_execution.UserExecutionBlock(
            self._context, kind, text, exclude=exclude, on_change=self._display.request_render
        )
        self._builder.add(block)
        self._updater.executions.append(block)
        self._display.request_render()
        return block

    def pager_blocks(
        self, blocks: Callable[[], Sequence[Component]] | None = None
    ) -> "pager_blocks.TranscriptPagerBlocks":
        """The transcript, or other blocks, for the pager."""
        transcript = self._display.layout.transcript
        return pager_blocks.TranscriptPagerBlocks(
            blocks or (lambda: transcript.blocks),
            self._pager_context(expanded=False),
            self._pager_context(expanded=True),
        )

    def print_in_full(self) -> bool:
        """Print the last shortened block in full below, then the one before it; False if there is none."""
        blocks = [
            block
            for block in self._display.layout.transcript.blocks
            if isinstance(block, CachedBlock) and block.can_expand and block.is_final()
        ]
        at = blocks.index(self._printed_block) if self._printed_block in blocks else len(blocks)
        if not at:
            self._printed_block = None
            return False
        self._printed_block = blocks[at - 1]
        self._builder.add(self._printed_block.copy_for(self._pager_context(expanded=True)))
        self._display.request_render()
        return True

    def toggle_thinking(self) -> bool:
        """Show or hide thinking from now on; whether it is now hidden. Finished blocks do not change."""
        self._context.hide_thinking = not self._context.hide_thinking
        for block in self._display.layout.transcript.blocks:
            if isinstance(block, ThinkingBlock) and not block.is_final():
                block.invalidate()
        self._display.request_render()
        return self._context.hide_thinking

    def last_answer(self) -> str:
        """The model's last answer, as written."""
        session = self._current.session
        messages = [] if session is None else session.log.messages()
        answers = (message.text for message in reversed(messages) if isinstance(message, AssistantMessage))
        return next((text for text in answers if text.strip()), "")

    def _begin(self, session: Session, *, replays: bool = True) -> None:
        display = self._current.settings.display
        capable = self._display.terminal.capabilities.hyperlinks
        self._context.hyperlinks = display.hyperlinks == "always" or (
            display.hyperlinks == "auto" and capable
        )
        self._context.renderers = None if session.extensions is None else session.extensions.renderers
        self._printed_block = None
        self._updater.reset()
        self._builder = TranscriptBuilder(self._context, self._display.layout.transcript)
        self._builder.max_pictures = display.max_inline_images if display.show_images else 0
        self._builder.shows_usage = display.show_token_usage
        self._updater.builder = self._builder
        if replays and session.log.leaf is not None:
            replay.show_branch(self._builder, session.log)
        waiting = session.queue.waiting()
        self.pending.show(
            [item.text for item in waiting if item.kind == "steering"],
            [item.text for item in waiting if item.kind == "followUp"],
        )
        self.todo.refresh()

    def _clear(self, *, below: bool) -> None:
        transcript = self._display.layout.transcript
        for block in transcript.blocks:
            if isinstance(block, CachedBlock):
                block.release()
        transcript.clear(below=below)
        self._context.unfinished = 0

    def _room(self, width: int) -> int:
        """Rows of the window available to the transcript."""
        _, *below = self._display.layout.parts()
        return self._display.terminal.rows - sum([len(part.render(width)) for part in below])

    def _pager_context(self, *, expanded: bool) -> BlockContext:
        """Without images: the terminal has them on the normal screen."""
        display, current = self._display, self._current
        context = BlockContext(
            display.theme,
            display.keys,
            cwd=lambda: current.cwd,
            now=display.timer.time,
            capabilities=lambda: display.terminal.capabilities._replace(images="none"),
        )
        context.renderers = self._context.renderers
        context.hyperlinks, context.expanded = self._context.hyperlinks, expanded
        return context
