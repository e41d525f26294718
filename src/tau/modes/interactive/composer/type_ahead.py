"""Sends keys and pastes meant for the editor there, although a dialog has just opened."""

from tau.modes.interactive.dialogs.dialog_host import Dialogs
from tau.modes.interactive.screen_protocols import Display, Notices
from tau.tui.input.key import InputEvent, Paste

TYPING_HINT = "Your typing still goes into the editor; pause for a moment to answer."
PAUSE_S = 0.5
"""After a pause this long, the user has seen the dialog."""
_ERASING = ("tui.editor.deleteCharBackward", "tui.editor.deleteWordBackward")


class TypeAhead:
    """Keeps fast typing from answering a dialog that just opened.

    Only letters, corrections and Enter in full flow bypass the dialog. One opened by a key or command gets
    all keys, since the last key was not part of a text.
    """

    def __init__(self, display: Display, dialogs: Dialogs, notices: Notices) -> None:
        self._display = display
        self._dialogs = dialogs
        self._notices = notices
        self._typed_at = float("-inf")

    def note_editor_key(self, event: InputEvent) -> None:
        """A key or paste went to the editor."""
        if isinstance(event, Paste) or event.kind != "release":
            is_typing = bool(event.text) or self._erases(event)
            self._typed_at = self._display.timer.time() if is_typing else float("-inf")

    def redirect(self, event: InputEvent) -> bool:
        """Send it to the editor if it belongs there, although a dialog has the focus."""
        display = self._display
        if not self._dialogs.open or display.timer.time() - self._typed_at > PAUSE_S:
            return False
        if not isinstance(event, Paste) and event.kind == "release":
            return False
        sends = display.keys.matches(event, "tui.input.submit")
        if not (event.text or sends or self._erases(event)):
            self._typed_at = float("-inf")
            return False
        self.note_editor_key(event)
        display.editor.handle_input(event)
        self._notices.hint(TYPING_HINT)
        return True

    def keep_paste(self, event: InputEvent) -> None:
        """Keep a paste the dialog cannot use."""
        display = self._display
        if isinstance(event, Paste) and event.text.strip() and self._dialogs.open:
            display.editor.paste(event.text)
            self._notices.hint("Your paste is in the editor.")

    def _erases(self, event: InputEvent) -> bool:
        return any(self._display.keys.matches(event, action) for action in _ERASING)
