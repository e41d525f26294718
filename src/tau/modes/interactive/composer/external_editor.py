"""Writes a text in an editor of the user's own."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tau.base.errors import TauError
from tau.base.late import late

if TYPE_CHECKING:
    from tau.modes.interactive.current_session import CurrentSession
    from tau.modes.interactive.ports import Display, Notices

editor_process = late("tau.modes.interactive.composer.editor_process")


class ExternalEditor:
    """`remember` puts a text into the history of prompts."""

    def __init__(
        self,
        display: "Display",
        current: "CurrentSession",
        notices: "Notices",
        remember: Callable[[str], None],
    ) -> None:
        self._display = display
        self._current = current
        self._notices = notices
        self._remember = remember
        self._is_open = False

    async def edit(self, text: str, name: str = "message.md") -> str:
        """The text as the person has left it. Raises TauError; what was saved till then is in the history."""
        argv, screen = editor_process.chosen(), self._display.screen
        if self._is_open:  # the key was pressed twice before it could be opened
            return text
        with editor_process.private_file(text, name) as file:
            self._is_open = True
            screen.suspend()
            try:
                code = await editor_process.run([*argv, str(file)], self._current.cwd)
            finally:
                self._is_open = False
                screen.resume()
                screen.request_render(force=True)
            if code != 0:
                how = f"was ended by signal {code - 128}" if code > 128 else f"ended with code {code}"
                raise TauError(f"{argv[0]} {how}; the text is as it was.{self._rescued(file, text)}")
            after: str = editor_process.text_in(file, text)
        if "\ufffd" in after and "\ufffd" not in text:
            self._notices.hint("What was not UTF-8 in the text is shown as \ufffd.", "warning")
        return after

    def _rescued(self, file: Path, before: str) -> str:
        """What an editor had saved before it failed goes into the history; a word to the person about it."""
        try:
            after = editor_process.text_in(file, before)
        except TauError:
            return ""
        if after == before or not after.strip():
            return ""
        self._remember(after)
        key = self._display.keys.label("app.history.search")
        return f" What it had saved is in the history: {key} finds it."
