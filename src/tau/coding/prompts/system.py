"""Builds the system prompt: the template, project instructions, working folder and date."""

import time
from collections.abc import Sequence
from pathlib import Path

from tau.ai.model import Model
from tau.config.context_files import ContextFile

HERE = Path(__file__).parent


class SystemPrompt:
    """The parts of the prompt, read once: it stays the same for the whole session.

    The user may give a `replacement` for the template and an `addition` after it.
    """

    def __init__(
        self,
        *,
        cwd: Path,
        add_dirs: Sequence[Path] = (),
        context_files: Sequence[ContextFile] = (),
        replacement: str | None = None,
        addition: str | None = None,
    ) -> None:
        self._cwd = "\nAlso in the workspace: ".join(map(str, (cwd, *add_dirs)))
        self._date = time.strftime("%Y-%m-%d")
        self._context = _context(context_files)
        self._replacement = replacement
        self._addition = addition

    def __call__(self, model: Model) -> str:
        if self._replacement is not None:
            prompt = self._replacement + self._context
        else:
            template = (HERE / ("demo.md" if model.demo else "system.md")).read_text(encoding="utf-8")
            prompt = fill(
                template.strip(),
                cwd=self._cwd,
                date=self._date,
                context="" if model.demo else self._context,
            )
        return f"{prompt}\n\n{self._addition}" if self._addition else prompt


def fill(template: str, **values: str) -> str:
    """Fill `{{name}}` placeholders. A placeholder without a value is an error; an unused value is not."""
    start, *places = template.split("{{")
    text = [start]
    for place in places:
        name, closed, rest = place.partition("}}")
        if not closed or name not in values:
            raise ValueError(f"No value for the placeholder {name!r}.")
        text.append(values[name])
        text.append(rest)
    return "".join(text)


def _context(files: Sequence[ContextFile]) -> str:
    """The user's and the project's instructions for agents, each with its path."""
    if not files:
        return ""
    parts = ["\nUser and project instructions; later ones are more specific and win."]
    parts += [f'<instructions path="{file.path}">\n{file.text.strip()}\n</instructions>' for file in files]
    return "\n".join(parts) + "\n"
