"""Decides which texts are commands: built-in ones and those defined in user and project files."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from tau.base.late import late
from tau.modes import command_table as table
from tau.modes.interactive.current_session import CurrentSession
from tau.tui.timer import Timer

if TYPE_CHECKING:
    from tau.coding.extensions import ExtensionCommand, SessionExtensions

file_commands = late("tau.modes.interactive.commands.file_commands")


class CommandNames:
    """A command is `/name` with a known name, or a lone `/word`; `!` starts a shell line, `$` a Python line.

    Anything else is a message, such as a path (/usr/bin) or text with a space before the slash.
    """

    def __init__(self, current: CurrentSession, timer: Timer) -> None:
        self._current = current
        self._timer = timer

    @cached_property
    def files(self) -> "file_commands.FileCommands":
        """Commands defined by the user and the project."""
        return file_commands.FileCommands(self._current, self._timer)

    def is_command(self, text: str) -> bool:
        if text.startswith("!") or (text.startswith("$") and not text.startswith("${")):
            return True
        name, rest = table.split(text)
        if not name:
            return False
        return self._knows(name) or not rest or bool(self.suggest(name, table.VERY_NEAR))

    def suggest(self, name: str, cutoff: float = table.NEAR) -> list[str]:
        """Known names that an unknown one may mean."""
        own = (command.name for command in self.extension_commands())
        return table.suggest(name, cutoff, (*own, *(file.name for file in self.files.all())))

    def extension_commands(self) -> "Sequence[ExtensionCommand]":
        """Commands of extensions; those of tau win."""
        session = self._current.session
        if session is None or session.extensions is None:
            return ()
        return [command for command in session.extensions.commands() if table.find(command.name) is None]

    def extensions_with(self, name: str) -> "SessionExtensions | None":
        """The extensions, if one of them has this command."""
        if any(command.name == name for command in self.extension_commands()):
            assert self._current.session is not None
            return self._current.session.extensions
        return None

    def is_server_prompt(self, name: str) -> bool:
        """Whether it names a prompt of an MCP server."""
        session = self._current.session
        servers = None if session is None or ":" not in name else session.servers
        return servers is not None and any(name == known for known, _ in servers.prompt_names())

    def _knows(self, name: str) -> bool:
        known = table.find(name) is not None or self.extensions_with(name) is not None
        return known or self.is_server_prompt(name) or self.files.get(name) is not None
