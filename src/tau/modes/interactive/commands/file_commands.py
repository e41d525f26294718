"""Commands defined in user and project files, and the prompts they expand to."""

from collections.abc import Sequence
from pathlib import Path

from tau.coding.supplies import Supplies
from tau.config.command_files import CommandFile, command_warnings
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
            supplies = self._supplies(cwd)
            supplies.discovery.refresh()
            files, warnings = supplies.commands(), command_warnings(supplies.discovery)
            self._folder, self._scanned_at = cwd, now
            self._files = [file for file in files if not _hidden(file, warnings)]
            self.warnings = warnings
        return self._files

    def get(self, name: str) -> CommandFile | None:
        return next((file for file in self.all() if file.name == name), None)

    def prompt(self, file: CommandFile, typed: str) -> str:
        """The prompt to send. Raises ConfigError."""
        return self._supplies(self._current.cwd).command_prompt(file, typed)

    def _supplies(self, cwd: Path) -> Supplies:
        """The session's, or while it opens, those of the folder."""
        session = self._current.session
        return (
            Supplies(cwd, self._current.paths, self._current.settings)
            if session is None
            else session.supplies()
        )


def _hidden(file: CommandFile, warnings: list[str]) -> bool:
    """Whether a built-in command has the same name; if so, warn."""
    if table.find(file.name) is None:
        return False
    warnings.append(f"Ignoring {file.path}: /{file.name} is a built-in command; rename the file.")
    return True
