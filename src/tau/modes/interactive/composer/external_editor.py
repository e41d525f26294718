"""Edits text in the user's external editor."""

from collections.abc import Callable
from pathlib import Path

from tau.base.errors import TauError
from tau.base.late import late
from tau.modes.interactive.screen_protocols import ScreenPorts

editor_process = late("tau.modes.interactive.composer.editor_process")


class ExternalEditor:
    """`remember` adds a text to the prompt history."""

    def __init__(self, ports: ScreenPorts, remember: Callable[[str], None]) -> None:
        self._display, self._current, self._notices, *_ = ports
        self._remember = remember
        self._is_open = False

    async def edit(self, text: str, name: str = "message.md") -> str:
        """The edited text. Raises TauError; what the editor saved is then in the history."""
        argv, screen = editor_process.editor_command(), self._display.screen
        if self._is_open:  # the key was pressed twice before it opened
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
                how = f"was killed by signal {code - 128}" if code > 128 else f"exited with code {code}"
                raise TauError(f"{argv[0]} {how}; the text is unchanged.{self._rescue(file, text)}")
            after = editor_process.read_text(file, text)
        if "\ufffd" in after and "\ufffd" not in text:
            self._notices.hint("Invalid UTF-8 in the text is shown as \ufffd.", "warning")
        return after

    def _rescue(self, file: Path, before: str) -> str:
        """Add what a failed editor saved to the history; returns a note about it."""
        try:
            after = editor_process.read_text(file, before)
        except TauError:
            return ""
        if after == before or not after.strip():
            return ""
        self._remember(after)
        key = self._display.keys.label("app.history.search")
        return f" What it saved is in the history; press {key}."
