"""Completes a slash command: its name, then its arguments."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import json

from tau.ai.model import THINKING_LEVELS
from tau.base.late import late
from tau.modes import command_table as table
from tau.modes.interactive.composer.completion import list_entries
from tau.modes.interactive.current_session import CurrentSession
from tau.modes.interactive.screen_protocols import Display, Tasks
from tau.modes.permissions_report import MODES
from tau.tui.widgets.autocomplete import CompletionItem, EnterMeans, Suggestions
from tau.tui.widgets.fuzzy import Ranker

if TYPE_CHECKING:
    from tau.coding.extensions import ExtensionCommand

session_export = late("tau.modes.session_export")
file_commands = late("tau.modes.interactive.commands.file_commands")
argument_values = late("tau.modes.interactive.commands.argument_values")
todo_list = late("tau.coding.todo.list")

MAX_ITEMS = 50
_Choice = tuple[str, str]
"""What can be typed, and what it means."""

_WORDS: dict[str, tuple[_Choice, ...]] = json.decode(
    Path(__file__).with_name("command_words.json").read_bytes(), type=dict[str, tuple[_Choice, ...]]
)
_MODE_WORDS = tuple((mode, words[0].upper() + words[1:]) for mode, words in MODES.items())
_WORDS["permissions"] = _MODE_WORDS + _WORDS["permissions"]
_TAKES_ARGUMENT = frozenset(
    {
        *("append", "start", "done", "drop", "rm", "import", "export", "edit", "cancel", "stop"),
        *("allow", "deny", "remove"),
    }
)
"""Words that take a further argument."""
_FREE_TEXT = frozenset({"plan"})
"""Their arguments are mostly free text, so Enter sends it as typed."""


class CommandCompletion:
    """Answers immediately; values that must be loaded first follow when they arrive."""

    def __init__(
        self,
        display: Display,
        current: CurrentSession,
        tasks: Tasks,
        files: "file_commands.FileCommands",
        extension_commands: "Callable[[], Sequence[ExtensionCommand]]",
    ) -> None:
        self._current = current
        self._extension_commands = extension_commands
        self._own = files
        self._values = argument_values.ArgumentValues(display, current, tasks)
        self._arguments: dict[str, Callable[[str], Sequence[_Choice]]] = {
            "export": self._files,
            "help": lambda typed: [(name, _description(name)) for name in table.ROWS],
            "jobs": self._jobs,
            "login": lambda typed: self._values.providers(),
            "logout": lambda typed: self._values.providers(),
            "model": lambda typed: self._values.models(),
            "queue": self._queue,
            "resume": lambda typed: self._values.sessions(),
            "review": lambda typed: [] if " " in typed else self._values.review_targets(),
            "theme": lambda typed: self._values.themes(),
            "thinking": lambda typed: [(level, "") for level in THINKING_LEVELS],
            "todo": self._todo,
        }

    def complete(self, text: str, cursor: int) -> Suggestions | None:
        """`text` starts with a slash."""
        head = text[:cursor]
        if "\n" in head:
            return None
        name, blank, typed = head[1:].partition(" ")
        if not blank:
            return self._names(name)
        row = table.find(name)
        if row is None:
            return self._of_extension(name, typed.lstrip(), len(head))
        typed = typed.lstrip()
        choices = self._choices(row.name, typed)
        if not choices:
            return None
        if row.name in _WORDS:
            word = typed.rpartition(" ")[2]
            enter: EnterMeans = "submit" if row.name in _FREE_TEXT else "accept+submit" if word else "accept"
            return _suggestions(len(head) - len(word), word, choices, enter)
        return _suggestions(len(head) - len(typed), typed, choices, "accept+submit")

    def _of_extension(self, name: str, typed: str, end: int) -> Suggestions | None:
        """What the extension of a command offers next."""
        for command in self._extension_commands():
            if command.name == name and command.complete is not None:
                choices = command.complete(typed)
                return _suggestions(end - len(typed), typed, choices, "accept+submit") if choices else None
        return None

    def _choices(self, name: str, typed: str) -> Sequence[_Choice] | None:
        """All possible values; None if unknown."""
        if name in self._arguments:
            return self._arguments[name](typed)
        return None if " " in typed else _WORDS.get(name)

    def _names(self, typed: str) -> Suggestions | None:
        """Built-in commands, file commands with their origin, then aliases."""
        rows: list[tuple[str, str, bool]] = [
            (row.name, _description(row.name), bool(row.usage)) for row in table.ROWS.values()
        ]
        rows += [(own.name, f"({own.source}) {own.description}", True) for own in self._extension_commands()]
        own = self._own.all()
        for file in own:
            hint = f"{file.hint}: " if file.hint else ""
            rows.append((file.name, f"({file.origin}) {hint}{file.description}", True))
        session = self._current.session
        if session is not None and session.servers is not None:
            rows += [(name, f"(MCP) {about}", True) for name, about in session.servers.prompt_names()]
        if typed:
            rows += [(alias, f"Alias of /{name}", False) for alias, name in table.ALIASES.items()]
        else:
            rows.sort(key=lambda row: row[0] != "help")  # pressing Enter after a bare slash must be harmless
        matches = Ranker([name for name, _, _ in rows]).best(typed, MAX_ITEMS)
        items = [
            CompletionItem(f"/{name}", f"/{name} " if more else f"/{name}", description, more=more)
            for name, description, more in (rows[match.place] for match in matches)
        ]
        hinted = {f"/{file.name}" for file in own if file.hint}
        enter: EnterMeans = "accept" if any(item.label in hinted for item in items) else "accept+submit"
        return Suggestions(0, items, enter) if items else None

    def _files(self, typed: str) -> Sequence[_Choice]:
        folder, names = list_entries(typed, self._current.cwd)
        choices = [(folder + name, "") for name in names if name.endswith(("/", ".html", ".md", ".json"))]
        session = self._current.session
        if not typed and session is not None:
            stem = session_export.default_name(session).removesuffix(".html")
            kinds = ((".html", "HTML page"), (".md", "Markdown"), (".json", "JSON data"))
            choices = [(stem + ending, meaning) for ending, meaning in kinds]
        return choices

    def _jobs(self, typed: str) -> Sequence[_Choice]:
        session = self._current.session
        all_jobs = () if session is None else session.jobs.list()
        if not typed.startswith("cancel "):
            return [*_WORDS["jobs"], *((job.id, f"{job.status}: {job.label}") for job in all_jobs)]
        running = [(job.id, job.label) for job in all_jobs if job.running]
        return [*running, ("all", "All running jobs")] if running else []

    def _queue(self, typed: str) -> Sequence[_Choice]:
        verb, blank, _ = typed.partition(" ")
        session = self._current.session
        if not blank:
            return _WORDS["queue"]
        if verb not in ("edit", "drop") or session is None:
            return []
        waiting = [item for item in session.queue.waiting() if item.kind in ("steering", "followUp")]
        return [(str(number), item.text) for number, item in enumerate(waiting, start=1)]

    def _todo(self, typed: str) -> Sequence[_Choice]:
        verb, blank, words = typed.partition(" ")
        session = self._current.session
        if not blank:
            return _WORDS["todo"]
        if verb in ("import", "export"):
            folder, names = list_entries(words, self._current.cwd)
            return [(folder + name, "") for name in names if name.endswith(("/", ".md"))]
        if verb not in ("start", "done", "drop", "rm") or " " in words or session is None:
            return []
        tasks = [task for _, task in todo_list.tasks_of(session.todos.recorded)]
        return [(str(number), task.content) for number, task in enumerate(tasks, start=1)]


def _description(name: str) -> str:
    row = table.ROWS[name]
    return f"{row.usage}: {row.description}" if row.usage and len(row.usage) <= 12 else row.description


def _suggestions(start: int, typed: str, choices: Sequence[_Choice], enter: EnterMeans) -> Suggestions | None:
    """Matches for the typed text: by value first, then by meaning."""
    best = Ranker([value for value, _ in choices]).best(typed, MAX_ITEMS)
    places = [match.place for match in best]
    if typed and enter != "submit" and len(places) < MAX_ITEMS:
        places += [
            place
            for place, (_, meaning) in enumerate(choices)
            if place not in places and typed.lower() in meaning.lower()
        ]
    items = [_item(*choices[place]) for place in places[:MAX_ITEMS]]
    return Suggestions(start, items, enter) if items else None


def _item(value: str, meaning: str) -> CompletionItem:
    takes_more = value in _TAKES_ARGUMENT or value.endswith("/")
    blank = " " if value in _TAKES_ARGUMENT else ""
    return CompletionItem(value, value + blank, meaning, more=takes_more)
