"""Keeps what stands in the editor over a crash: when it is saved, brought back and forgotten."""

import time
from typing import TYPE_CHECKING, Any

from tau.base.late import late
from tau.tui.timer import Handle

if TYPE_CHECKING:
    from tau.modes.interactive.app import App
    from tau.modes.interactive.composer.attachments import Attachments
    from tau.modes.interactive.composer.drafts import DraftStore

drafts = late("tau.modes.interactive.composer.drafts")

PAUSE_S = 1.0
"""A draft is saved so long after a change, and not more often."""


class DraftAutosave:
    """Nothing is opened or made before there is something to keep or to bring back."""

    def __init__(self, app: "App", pictures: "Attachments") -> None:
        self._app = app
        self._pictures = pictures
        self._opened: DraftStore | None = None
        self._due: Handle | None = None
        self._saved = False
        self._told = False

    def restore(self) -> None:
        """Bring back what was being written here when tau was last ended without a word."""
        app = self._app
        if not app.paths.drafts.is_dir():
            return
        kept = self._drafts.found()
        if kept is None:
            return
        when = time.strftime("%H:%M", time.localtime(kept.time_ms / 1000))
        for picture in kept.pictures:
            self._pictures.remember(picture.token, picture.path)
        self._saved = True
        if below := _text(kept.draft.get("below")):
            app.input.recall.add(below)
        if app.editor.is_empty and app.editor.restore(kept.draft):
            app.input.hint(f"Your draft of {when} is back.", seconds=8)
        elif text := _text(kept.draft.get("parts")):
            # Something is being written already: the two do not mix.
            app.input.recall.add(text)
            key = app.keys.label("tui.editor.cursorUp")
            app.input.hint(f"Your draft of {when} is in the history: {key} brings it back.", seconds=8)
        app.screen.request_render()
        drafts_folder = self._drafts
        app.start(_cleaned(drafts_folder))

    def changed(self) -> None:
        """The text is another one."""
        if self._app.editor.is_empty and not self._app.editor.draft()["parts"]:
            self.forget()
        elif self._due is None:
            self._due = self._app.front.timer.call_later(PAUSE_S, self._save)

    def forget(self) -> None:
        """It was sent, or cleared."""
        self._cancel()
        if self._saved:
            self._saved = False
            self._drafts.remove()

    def save_now(self) -> None:
        """Save at once what is not saved yet."""
        self._cancel()
        if self._opened is None and not self._app.editor.draft()["parts"]:
            return
        data = self._data()
        if data is not None:
            self._drafts.put_now(data)

    @property
    def _drafts(self) -> "DraftStore":
        if self._opened is None:
            self._opened = drafts.DraftStore(self._app.paths.drafts, self._app.front.cwd)
        return self._opened

    def _save(self) -> None:
        self._due = None
        data = self._data()
        if data is not None:
            self._app.start(self._drafts.put(data))

    def _data(self) -> bytes | None:
        """What is to be in the file; nothing of it if nothing is being written."""
        editor = self._app.editor
        draft = editor.draft()
        if not draft["parts"]:
            self._saved = False
            return b""
        self._saved = True
        named = [drafts.StoredAttachment(*row) for row in self._pictures.places(editor.text)]
        data: bytes | None = self._drafts.encoded(draft, named)
        if data is None and not self._told:
            self._told = True
            self._app.input.hint("This text is too long to be kept over a crash.", "warning")
        return data

    def _cancel(self) -> bool:
        due, self._due = self._due, None
        if due is not None:
            due.cancel()
        return due is not None


def _text(parts: object) -> str:
    """The text of the parts of a draft, as far as they are any."""
    found: list[Any] = parts if isinstance(parts, list) else []
    texts = [part.get("text") if isinstance(part, dict) else part for part in found]
    return "".join(text for text in texts if isinstance(text, str))


async def _cleaned(opened: "DraftStore") -> None:
    opened.clean()
