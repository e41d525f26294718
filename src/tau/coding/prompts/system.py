"""Builds the system prompt: the template, the project's own instructions, the place and the day."""

import time
from collections.abc import Sequence
from pathlib import Path

from tau.ai.model import Model
from tau.config.context_files import ContextFile

HERE = Path(__file__).parent


class SystemPrompt:
    """Everything that goes into the prompt, read once: it stays the same for the whole session.

    `replacement` takes the template's place, `addition` comes after it; both may be given by the user.
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
    """Put values into `{{name}}` places. A place without a value is a mistake; an unused value is not."""
    start, *places = template.split("{{")
    text = [start]
    for place in places:
        name, closed, rest = place.partition("}}")
        if not closed or name not in values:
            raise ValueError(f"The template has a place {name!r} and no value for it.")
        text.append(values[name])
        text.append(rest)
    return "".join(text)


def _context(files: Sequence[ContextFile]) -> str:
    """The instructions that the user and the project wrote for agents, each with its place."""
    if not files:
        return ""
    parts = ["\nInstructions of the user and the project; the later ones are closer to the work and win."]
    parts += [f'<instructions path="{file.path}">\n{file.text.strip()}\n</instructions>' for file in files]
    return "\n".join(parts) + "\n"
