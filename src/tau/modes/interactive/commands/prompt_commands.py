"""Commands defined in user and project files, and the prompts they expand to."""

from collections.abc import Sequence
from pathlib import Path

from tau.coding.prompts.command_prompts import command_prompt
from tau.config.command_files import CommandFile, find_command_files
from tau.modes import command_table as table
from tau.modes.interactive.current_session import CurrentSession
from tau.tui.timer import Timer

FRESH_S = 2.0
"""Rescan the folders at most this often."""


class FileCommands:
    """Scans for files on demand and reads only new or changed ones."""

    def __init__(self, current: CurrentSession, timer: Timer) -> None:
        self._current = current
        self._timer = timer
        self._folder = Path()
        self._scanned_at = 0.0
        self._files: list[CommandFile] = []
        self.warnings: list[str] = []
        """Why files were skipped, one sentence each."""

    def all(self, *, fresh: bool = False) -> Sequence[CommandFile]:
        """`fresh`: rescan even if the last scan is recent."""
        cwd, now = self._current.cwd, self._timer.time()
        if fresh or cwd != self._folder or now - self._scanned_at > FRESH_S:
            warnings: list[str] = []
            files = find_command_files(cwd, self._current.paths, warnings.append, self._files)
            self._folder, self._scanned_at = cwd, now
            self._files = [file for file in files if not _hidden(file, warnings)]
            self.warnings = warnings
        return self._files

    def get(self, name: str) -> CommandFile | None:
        return next((file for file in self.all() if file.name == name), None)

    def prompt(self, file: CommandFile, typed: str) -> str:
        """The prompt to send. Raises ConfigError."""
        return command_prompt(file, typed)


def _hidden(file: CommandFile, warnings: list[str]) -> bool:
    """Whether a built-in command has the same name; if so, warn."""
    if table.find(file.name) is None:
        return False
    warnings.append(f"Ignoring {file.path}: /{file.name} is a built-in command; rename the file.")
    return True
