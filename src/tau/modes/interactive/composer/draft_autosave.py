"""Saves the editor's text across crashes: when to save, restore and discard it."""

import time
from typing import TYPE_CHECKING, Any

from tau.base.late import late
from tau.tui.timer import Handle

if TYPE_CHECKING:
    from tau.modes.interactive.composer.attachments import Attachments
    from tau.modes.interactive.composer.drafts import DraftStore
    from tau.modes.interactive.composer.prompt_recall import PromptRecall
    from tau.modes.interactive.current_session import CurrentSession
    from tau.modes.interactive.ports import Display, Notices, Tasks

drafts = late("tau.modes.interactive.composer.drafts")

PAUSE_S = 1.0
"""Save a draft this long after a change, and no more often."""


class DraftAutosave:
    """Creates nothing until there is something to save or restore."""

    def __init__(
        self,
        display: "Display",
        current: "CurrentSession",
        notices: "Notices",
        tasks: "Tasks",
        recall: "PromptRecall",
        pictures: "Attachments",
    ) -> None:
        self._display = display
        self._editor = display.editor
        self._current = current
        self._notices = notices
        self._tasks = tasks
        self._recall = recall
        self._pictures = pictures
        self._opened: DraftStore | None = None
        self._due: Handle | None = None
        self._saved = False
        self._told = False

    def restore(self) -> None:
        """Restore the draft left here when tau last ended abruptly."""
        if not self._current.paths.drafts.is_dir():
            return
        kept = self._drafts.found()
        if kept is None:
            return
        when = time.strftime("%H:%M", time.localtime(kept.time_ms / 1000))
        for picture in kept.pictures:
            self._pictures.remember(picture.token, picture.path)
        self._saved = True
        if below := _text(kept.draft.get("below")):
            self._recall.add(below)
        if self._editor.is_empty and self._editor.restore(kept.draft):
            self._notices.hint(f"Restored your draft from {when}.", seconds=8)
        elif text := _text(kept.draft.get("parts")):
            # Something has been typed already: do not mix the two.
            self._recall.add(text)
            key = self._display.keys.label("tui.editor.cursorUp")
            self._notices.hint(f"Your draft from {when} is in the history; press {key}.", seconds=8)
        self._display.request_render()
        drafts_folder = self._drafts
        self._tasks.start(_cleaned(drafts_folder))

    def changed(self) -> None:
        """The text changed."""
        if self._editor.is_empty and not self._editor.draft()["parts"]:
            self.forget()
        elif self._due is None:
            self._due = self._display.timer.call_later(PAUSE_S, self._save)

    def forget(self) -> None:
        """It was sent or cleared."""
        self._cancel()
        if self._saved:
            self._saved = False
            self._drafts.remove()

    def save_now(self) -> None:
        """Save unsaved changes immediately."""
        self._cancel()
        if self._opened is None and not self._editor.draft()["parts"]:
            return
        data = self._data()
        if data is not None:
            self._drafts.put_now(data)

    @property
    def _drafts(self) -> "DraftStore":
        if self._opened is None:
            self._opened = drafts.DraftStore(self._current.paths.drafts, self._current.folder)
        return self._opened

    def _save(self) -> None:
        self._due = None
        data = self._data()
        if data is not None:
            self._tasks.start(self._drafts.put(data))

    def _data(self) -> bytes | None:
        """The file content; empty if there is no draft."""
        draft = self._editor.draft()
        if not draft["parts"]:
            self._saved = False
            return b""
        self._saved = True
        named = [drafts.StoredAttachment(*row) for row in self._pictures.places(self._editor.text)]
        data: bytes | None = self._drafts.encoded(draft, named)
        if data is None and not self._told:
            self._told = True
            self._notices.hint("This text is too long to autosave.", "warning")
        return data

    def _cancel(self) -> bool:
        due, self._due = self._due, None
        if due is not None:
            due.cancel()
        return due is not None


def _text(parts: object) -> str:
    """The text of a draft's parts."""
    found: list[Any] = parts if isinstance(parts, list) else []
    texts = [part.get("text") if isinstance(part, dict) else part for part in found]
    return "".join(text for text in texts if isinstance(text, str))


async def _cleaned(opened: "DraftStore") -> None:
    opened.clean()
