"""Decides which texts are commands: built-in ones and those defined in user and project files."""

from functools import cached_property
from typing import TYPE_CHECKING

from tau.base.late import late
from tau.modes.interactive.commands import table

if TYPE_CHECKING:
    from tau.modes.interactive.commands.prompt_commands import FileCommands
    from tau.modes.interactive.current_session import CurrentSession
    from tau.tui.timer import Timer

difflib = late("difflib")
prompt_commands = late("tau.modes.interactive.commands.prompt_commands")

_SIGNS = "-_.:"
_NEAR, _VERY_NEAR = 0.6, 0.7


class CommandNames:
    """A command is `/name` with a known name, or a lone `/word`; `!` starts a shell line, `$` a Python line.

    Anything else is a message, such as a path (/usr/bin) or text with a space before the slash.
    """

    def __init__(self, current: "CurrentSession", timer: "Timer") -> None:
        self._current = current
        self._timer = timer

    @cached_property
    def files(self) -> "FileCommands":
        """Commands defined by the user and the project."""
        found: FileCommands = prompt_commands.FileCommands(self._current, self._timer)
        return found

    def is_command(self, text: str) -> bool:
        if text.startswith("!") or (text.startswith("$") and not text.startswith("${")):
            return True
        name, rest = split(text)
        if not name:
            return False
        return self._knows(name) or not rest or bool(self.nearest(name, _VERY_NEAR))

    def nearest(self, name: str, cutoff: float = _NEAR) -> str:
        """The most similar known name, or an empty string."""
        names = [*table.ROWS, *table.ALIASES, *(file.name for file in self.files.all())]
        near: list[str] = difflib.get_close_matches(name.lower(), names, 1, cutoff)
        return near[0] if near else ""

    def _knows(self, name: str) -> bool:
        return table.find(name) is not None or self.files.get(name) is not None


def split(text: str) -> tuple[str, str]:
    """The command name and the text after it; an empty name if the text is not a command."""
    if not text.startswith("/"):
        return "", ""
    head, _, _ = text.partition("\n")
    words = head[1:].split(None, 1)
    name = words[0] if words and not head[1:2].isspace() else ""
    if not name[:1].isalnum() or not all(letter.isalnum() or letter in _SIGNS for letter in name):
        return "", ""
    return name, text[1 + len(name) :].strip()
