"""Saves the editor's text across crashes: when to save, restore and discard it."""

import asyncio
import time
from functools import cached_property

from tau.base.late import late
from tau.modes.interactive.composer.attachments import Attachments
from tau.modes.interactive.composer.prompt_recall import PromptRecall
from tau.modes.interactive.screen_protocols import ScreenPorts
from tau.tui.timer import Handle

drafts = late("tau.modes.interactive.composer.drafts")

PAUSE_S = 1.0
"""Save a draft this long after a change, and no more often."""


class DraftAutosave:
    """Creates nothing until there is something to save or restore."""

    def __init__(self, ports: ScreenPorts, recall: PromptRecall, attachments: Attachments) -> None:
        self._display, self._current, self._notices, self._tasks, _ = ports
        self._editor = self._display.editor
        self._recall = recall
        self._attachments = attachments
        self._due: Handle | None = None
        self._is_saved = False
        self._has_warned = False

    def restore(self) -> None:
        """Restore the draft left here when tau last ended abruptly."""
        if not self._current.paths.drafts.is_dir():
            return
        stored = self._store.take_over()
        if stored is None:
            return
        when = time.strftime("%H:%M", time.localtime(stored.time_ms / 1000))
        for picture in stored.pictures:
            self._attachments.remember(picture.token, picture.path)
        self._is_saved = True
        if below := _text(stored.draft.get("below")):
            self._recall.add(below)
        if self._editor.is_empty and self._editor.restore(stored.draft):
            self._notices.hint(f"Restored your draft from {when}.", seconds=8)
        elif text := _text(stored.draft.get("parts")):
            # Something has been typed already: do not mix the two.
            self._recall.add(text)
            key = self._display.keys.label("tui.editor.cursorUp")
            self._notices.hint(f"Your draft from {when} is in the history; press {key}.", seconds=8)
        self._display.request_render()
        self._tasks.start(asyncio.to_thread(self._store.clean))

    def text_changed(self) -> None:
        """Save the text soon, or discard the draft if it is empty now."""
        if self._editor.is_empty and not self._editor.draft()["parts"]:
            self._discard()
        elif self._due is None:
            self._due = self._display.timer.call_later(PAUSE_S, self._save)

    def _discard(self) -> None:
        """It was sent or cleared."""
        self._cancel()
        if self._is_saved:
            self._is_saved = False
            self._store.remove()

    def save_now(self) -> None:
        """Save unsaved changes immediately."""
        self._cancel()
        if "_store" not in vars(self) and not self._editor.draft()["parts"]:
            return
        data = self._encode()
        if data is not None:
            self._store.save_now(data)

    @cached_property
    def _store(self) -> "drafts.DraftStore":
        return drafts.DraftStore(self._current.paths.drafts, self._current.folder)

    def _save(self) -> None:
        self._due = None
        data = self._encode()
        if data is not None:
            self._tasks.start(self._store.save(data))

    def _encode(self) -> bytes | None:
        """The file content: empty if there is no draft, None if it is too long."""
        draft = self._editor.draft()
        self._is_saved = bool(draft["parts"])
        if not self._is_saved:
            return b""
        files = [drafts.StoredAttachment(*row) for row in self._attachments.files(self._editor.text)]
        data = self._store.encode(draft, files)
        if data is None and not self._has_warned:
            self._has_warned = True
            self._notices.hint("This text is too long to autosave.", "warning")
        return data

    def _cancel(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None


def _text(parts: object) -> str:
    """The text of a draft's parts."""
    rows: list[object] = parts if isinstance(parts, list) else []
    texts = [part.get("text") if isinstance(part, dict) else part for part in rows]
    return "".join(text for text in texts if isinstance(text, str))
