"""Stopping, clearing and quitting: what Escape, Ctrl+C, Ctrl+D and Ctrl+Z do without losing text."""

from tau.modes.interactive.composer.draft_autosave import DraftAutosave
from tau.modes.interactive.composer.input_kinds import mode_of
from tau.modes.interactive.composer.message_sender import MessageSender
from tau.modes.interactive.composer.prompt_recall import PromptRecall
from tau.modes.interactive.screen_protocols import ScreenPorts
from tau.modes.interactive.status.activity_line import ActivityLine

TWICE_S = 0.5  # between two Escapes
QUIT_S = 2.0  # as long as the hint says that another press quits


class Interrupts:
    """Each method says whether it handled the key; if not, the editor gets it."""

    def __init__(
        self,
        ports: ScreenPorts,
        activity: ActivityLine,
        recall: PromptRecall,
        sender: MessageSender,
        drafts: DraftAutosave,
    ) -> None:
        self._display, self._current, self._notices, _, self._actions = ports
        self._editor = self._display.editor
        self._activity = activity
        self._recall = recall
        self._sender = sender
        self._drafts = drafts
        self._cleared = ""
        """The text of the last clear."""
        self._escaped_at = float("-inf")
        self._cleared_at = float("-inf")

    def escape(self) -> bool:
        """Leave Vim insert mode; stop the agent; leave shell mode; twice on an empty editor: go back."""
        if self._editor.completing.is_open:
            return False
        self._editor.completing.close()  # pending requests are canceled too
        if self._editor.do("tui.editor.normalMode"):
            self._display.request_render()
            return True
        if self.stop():
            return True
        if mode_of(self._editor.first_line):
            self._editor.clear()
            self._notices.hint(
                f"Cleared; {self._display.keys.label('tui.editor.undo')} restores it.", seconds=2
            )
            return True
        if not self._editor.is_empty:
            return False
        if self._is_second_press("_escaped_at", TWICE_S):
            wanted = self._current.settings.interaction.double_escape
            if wanted != "none" and self._current.session is not None:
                self._actions.run_command(f"/{wanted}")
        return True

    def stop(self) -> bool:
        """Stop the innermost running activity; for the agent, see `stop_agent`."""
        session = self._current.session
        if session is None or not session.busy:
            return False
        if session.activities.innermost_is_run:
            return self.stop_agent()
        session.abort()
        self._activity.show_stopping(agent=False)
        self._display.request_render()
        return True

    def stop_agent(self) -> bool:
        """Stop the agent; queued messages return to the editor."""
        session = self._current.session
        if session is None or not session.activities.running:
            return False
        self._sender.return_to_editor(session.queue.clear())
        session.activities.abort_run()
        self._activity.show_stopping()
        self._display.request_render()
        return True

    def clear(self) -> bool:
        """Clear the editor, or stop what is running; twice without typing in between: quit."""
        if not self._editor.is_empty:
            self._cleared_at = float("-inf")
        if self._is_second_press("_cleared_at", QUIT_S):
            if self._cleared:  # the intent was to quit, not to lose this
                self._recall.add(self._cleared)
            self._actions.quit()
            return True
        self._cleared = self._editor.text or self._cleared
        self._editor.completing.close()
        key = self._display.keys.label("app.clear")
        if not self._editor.is_empty:
            self._editor.clear()
            undo = self._display.keys.label("tui.editor.undo")
            self._notices.hint(f"Cleared; {undo} restores it. Press {key} again to quit.", seconds=QUIT_S)
        elif self.stop():
            self._notices.hint(f"Stopped. Press {key} again to quit.", seconds=QUIT_S)
        else:
            self._notices.hint(f"Press {key} again to quit.", seconds=QUIT_S)
        return True

    def leave(self) -> bool:
        """Quit if the editor is empty."""
        if not self._editor.is_empty:
            return False
        self._actions.quit()
        return True

    def suspend(self) -> bool:
        """Suspend until the shell resumes us."""
        screen = self._display.screen
        self._drafts.save_now()  # a suspended process may never resume
        screen.suspend()
        try:
            self._display.terminal.suspend()
        finally:
            screen.resume()
        return True

    def _is_second_press(self, name: str, within_s: float) -> bool:
        """Whether this is the second press; a third starts over."""
        now = self._display.timer.time()
        before: float = getattr(self, name)
        is_second = now - before < within_s
        setattr(self, name, float("-inf") if is_second else now)
        return is_second
