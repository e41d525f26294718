"""The todo list as editable Markdown: phases are headings, tasks check boxes, notes quotes."""

import re
from collections.abc import Iterator

from msgspec import UNSET, Struct, UnsetType

from tau.coding.todo.list import MARKS, Phases, Status, TodoItem, TodoPhase, normalized, one_line

ORPHANS = "Todos"  # the phase of tasks before the first heading
_STATUS: dict[str, Status] = {
    **{mark: status for status, mark in MARKS.items()},
    "": "pending",
    ">": "in_progress",
    "X": "completed",
    "~": "abandoned",
}
_HEADING = r"#{1,6}\s+(?P<name>.*)"
_TASK = r"\s*(?:[-*+]|\d+[.)])\s+(?:\[(?P<mark>.?)\](?:\s+|$))?(?P<text>.*)"
_NOTE = r"\s*> ?(?P<text>.*)"


class ParsedTodos(Struct, frozen=True):
    """`errors` name the skipped lines."""

    phases: Phases
    errors: list[str]


def to_markdown(phases: Phases) -> str:
    """The list as Markdown; `from_markdown` reads it back."""
    parts = []
    for phase in phases:
        lines = [f"# {one_line(phase.name)}", ""]
        for task in phase.tasks:
            lines.append(f"- [{MARKS[task.status]}] {one_line(task.content)}")
            lines += _quote_notes(task)
        parts.append("\n".join(lines).rstrip("\n") + "\n")
    return "\n".join(parts)


def from_markdown(text: str) -> ParsedTodos:
    """Parse a list, with exactly one task in progress."""
    reader = _Reader()
    for number, line in enumerate(text.split("\n"), start=1):
        reader.take(number, line.removesuffix("\r"))
    return ParsedTodos(normalized(reader.phases()), reader.errors)


def _quote_notes(task: TodoItem) -> Iterator[str]:
    """The notes, one quote each."""
    for place, note in enumerate(() if isinstance(task.notes, UnsetType) else task.notes):
        if place:
            yield ""
        for line in note.split("\n"):
            yield f"  > {line}" if line else "  >"


class _Reader:
    """Parses line by line."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self._phases: list[tuple[str, list[tuple[str, Status, list[list[str]]]]]] = []
        self._quoting = False

    def phases(self) -> Phases:
        return tuple(
            TodoPhase(name, tuple(_item(content, status, notes) for content, status, notes in tasks))
            for name, tasks in self._phases
        )

    def take(self, number: int, line: str) -> None:
        quoting, self._quoting = self._quoting, False
        if not line.strip():
            return
        if found := re.fullmatch(_HEADING, line):
            self._begin_phase(number, one_line(found["name"]))
        elif found := re.fullmatch(_NOTE, line):
            self._note(number, found["text"], new=not quoting)
        elif found := re.fullmatch(_TASK, line):
            self._task(number, found["mark"], one_line(found["text"]))
        else:
            self.errors.append(f"Line {number} is not a phase, task or note.")

    def _begin_phase(self, number: int, name: str) -> None:
        if name:
            self._phases.append((name, []))
        else:
            self.errors.append(f"Line {number} is a phase without a name.")

    def _task(self, number: int, mark: str | None, text: str) -> None:
        status = _STATUS.get(mark or "")
        if status is None:
            self.errors.append(f"Line {number} has the unknown mark [{mark}]; use [ ], [/], [x] or [-].")
        elif not text:
            self.errors.append(f"Line {number} is a task without text.")
        else:
            if not self._phases:
                self._phases.append((ORPHANS, []))
            self._phases[-1][1].append((text, status, []))

    def _note(self, number: int, text: str, *, new: bool) -> None:
        if not self._phases or not self._phases[-1][1]:
            self.errors.append(f"Line {number} is a note that belongs to no task.")
            return
        self._quoting = True
        notes = self._phases[-1][1][-1][2]
        if new:
            notes.append([])
        notes[-1].append(text)


def _item(content: str, status: Status, quotes: list[list[str]]) -> TodoItem:
    notes = tuple(text for quote in quotes if (text := "\n".join(quote).rstrip()))
    return TodoItem(content, status, notes or UNSET)
