"""The commands that user and project have written as files, and the prompts that they become."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tau.coding.prompts.command_prompts import expand, skill_prompt
from tau.config.command_files import PROJECT_PREFIX, SKILL_PREFIX, CommandFile, find_command_files
from tau.modes.interactive.commands import table

if TYPE_CHECKING:
    from tau.modes.interactive.current_session import CurrentSession
    from tau.tui.timer import Timer

FRESH_S = 2.0
"""For so long nobody looks at the folders again."""


class FileCommands:
    """Looks for the files when somebody asks, and reads only those that are new or were changed."""

    def __init__(self, current: "CurrentSession", timer: "Timer") -> None:
        self._current = current
        self._timer = timer
        self._folder = Path()
        self._looked_at = 0.0
        self._found: list[CommandFile] = []
        self.warnings: list[str] = []
        """What could not be used, one sentence each."""

    def all(self, *, fresh: bool = False) -> Sequence[CommandFile]:
        """`fresh`: look again, however lately that was done."""
        cwd, now = self._current.cwd, self._timer.time()
        if fresh or cwd != self._folder or now - self._looked_at > FRESH_S:
            warnings: list[str] = []
            found = find_command_files(cwd, self._current.paths, warnings.append, self._found)
            self._folder, self._looked_at = cwd, now
            self._found = [file for file in found if not _hidden(file, warnings)]
            self.warnings = warnings
        return self._found

    def get(self, name: str) -> CommandFile | None:
        return next((file for file in self.all() if file.name == name), None)

    def prompt(self, file: CommandFile, typed: str) -> str:
        """What to send. Raises ConfigError."""
        text = file.read()
        if not file.is_skill:
            return expand(text, typed)
        name = file.name.removeprefix(PROJECT_PREFIX).removeprefix(SKILL_PREFIX)
        return skill_prompt(name, file.path.parent, text, typed)


def _hidden(file: CommandFile, warnings: list[str]) -> bool:
    """Whether a command of tau has its name, which is told."""
    if table.find(file.name) is None:
        return False
    warnings.append(f"{file.path} is left out: /{file.name} is a command of tau; give it another name.")
    return True
