"""Stopping, clearing and leaving: what Escape, Ctrl+C, Ctrl+D and Ctrl+Z do, and what they never lose."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tau.modes.interactive.app import App
    from tau.modes.interactive.composer.draft_autosave import DraftAutosave
    from tau.modes.interactive.composer.message_sender import MessageSender

TWICE_S = 0.5


class Interrupts:
    """Each method says whether the key meant something; if not, it is the editor's."""

    def __init__(self, app: "App", sending: "MessageSender", keeper: "DraftAutosave") -> None:
        self._app = app
        self._sending = sending
        self._keeper = keeper
        self._cleared = ""
        """What stood in the editor before it was cleared for the last time."""
        self._escaped_at = float("-inf")
        self._cleared_at = float("-inf")

    def escape(self) -> bool:
        """Stop what runs; leave the shell's or Python's mode; twice on an empty editor: look around."""
        app = self._app
        if app.editor.completing.is_open:
            return False
        app.editor.completing.close()  # what is still asked for is not wanted either
        if self.stop():
            return True
        if app.input.mode:
            app.editor.clear()
            app.input.hint(f"Cleared; {app.keys.label('tui.editor.undo')} brings it back.", seconds=2)
            return True
        if not app.editor.is_empty:
            return False
        if self._twice("_escaped_at"):
            wanted = app.settings.interaction.double_escape
            if wanted != "none" and app.session is not None:
                app.start(app.commands.run(f"/{wanted}"))
        return True

    def stop(self) -> bool:
        """Stop the innermost thing that runs; if that is the agent, as `stop_agent` does."""
        session = self._app.session
        if session is None or not session.busy:
            return False
        if session.activities.innermost_is_run:
            return self.stop_agent()
        session.abort()
        self._app.lane.stopping(agent=False)
        self._app.screen.request_render()
        return True

    def stop_agent(self) -> bool:
        """Stop the agent; what waits in the queue comes back into the editor."""
        session = self._app.session
        if session is None or not session.activities.running:
            return False
        self._sending.take_back(session.queue.clear())
        session.activities.abort_run()
        self._app.lane.stopping()
        self._app.screen.request_render()
        return True

    def clear(self) -> bool:
        """Empty the editor, or stop what runs; twice: quit."""
        app = self._app
        if self._twice("_cleared_at"):
            if self._cleared and app.editor.is_empty:  # meant was the end, and not to lose this
                app.input.recall.add(self._cleared)
            app.quit()
            return True
        self._cleared = app.editor.text
        app.editor.completing.close()
        key = app.keys.label("app.clear")
        if not app.editor.is_empty:
            app.editor.clear()
            undo = app.keys.label("tui.editor.undo")
            app.input.hint(f"Cleared; {undo} brings it back. Press {key} again to quit.", seconds=2)
        elif self.stop():
            app.input.hint(f"Stopped. Press {key} again to quit.", seconds=2)
        else:
            app.input.hint(f"Press {key} again to quit.", seconds=2)
        return True

    def leave(self) -> bool:
        """Quit, if nothing is being written."""
        if not self._app.editor.is_empty:
            return False
        self._app.quit()
        return True

    def suspend(self) -> bool:
        """Go into the background until the shell brings us back."""
        stop = getattr(self._app.front.terminal, "suspend", None)
        if stop is None:
            return False
        screen = self._app.screen
        self._keeper.save_now()  # who is put aside may never come back
        screen.suspend()
        try:
            stop()
        finally:
            screen.resume()
        return True

    def _twice(self, name: str) -> bool:
        """Whether this is the second time within a moment; a third time begins anew."""
        now = self._app.front.timer.time()
        before: float = getattr(self, name)
        is_second = now - before < TWICE_S
        setattr(self, name, float("-inf") if is_second else now)
        return is_second
