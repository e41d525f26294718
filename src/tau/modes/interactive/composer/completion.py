"""Completions: files after `@`, commands after `/`, paths on Tab."""

import asyncio
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tau.base.files import typed_path
from tau.modes.interactive.composer.file_index import SLICE_S, WorkspaceFiles
from tau.modes.interactive.composer.path_search import FileIndex, PathQuery
from tau.modes.interactive.current_session import CurrentSession
from tau.modes.interactive.screen_protocols import Display, Tasks
from tau.tui.widgets.autocomplete import Answer, CompletionItem, Suggestions
from tau.tui.widgets.fuzzy import score

MAX_ENTRIES = 200
MAX_LIST_S = 0.015
"""Time limit for listing one folder, since the user is waiting."""
MIN_LISTED = 1_000
"""So many entries are always listed: on a busy machine, the limit may pass before the first one."""
MAX_WORD_CHARS = 500
"""Longer words are not typed paths."""
_OPENERS = "([{<'\"`,;"
_SHELL_BREAKS = " \t=<>|;&("
_SHELL_SPECIAL = " \t\"'\\$`!&|;<>()[]{}*?#~"
MAX_ITEMS = 50
MAX_RESOURCES = 20
MAX_LINE_CHARS = 2_000
_AS_TYPED = ("/", "~", "./", "../")
"""Mentions starting like this are resolved as paths, not in the index."""


class PathListing(NamedTuple):
    """Completions of a typed path: `folder` as typed, and its entries."""

    folder: str
    names: list[str]
    """Folders first, with a trailing slash."""


def list_entries(typed: str, cwd: Path) -> PathListing:
    """Entries that start with the last part of the typed path; else those that contain it."""
    if typed in ("~", "..", "."):
        typed = f"{typed}/"
    folder, _, part = typed.rpartition("/")
    folder = f"{folder}/" if "/" in typed else ""
    names = _names(cwd / typed_path(folder) if folder else cwd, hidden=part.startswith("."))
    part = part.lower()
    matches = [name for name in names if name.lower().startswith(part)]
    matches = matches or [name for name in names if part in name.lower()]
    matches.sort(key=lambda name: (not name.endswith("/"), name.lower(), name))
    return PathListing(folder, matches[:MAX_ENTRIES])


def _names(folder: Path, *, hidden: bool) -> list[str]:
    """As many as can be read in time."""
    names: list[str] = []
    end = time.monotonic() + MAX_LIST_S
    try:
        with os.scandir(folder) as entries:
            for number, entry in enumerate(entries):
                if entry.name.isprintable() and (hidden or not entry.name.startswith(".")):
                    names.append(f"{entry.name}/" if entry.is_dir() else entry.name)
                if number >= MIN_LISTED and time.monotonic() > end:
                    break
    except OSError:
        pass
    return names


class CursorWord(NamedTuple):
    """`start` counts from the start of the line; `text` has quotes and backslashes resolved."""

    start: int
    text: str
    quote: str = ""
    """The open quote, if any."""


def find_mention(line: str) -> CursorWord | None:
    """The `@` word before the cursor, at the end of `line`: `@src/ma`, `@"my fi`."""
    quoted = line.rfind('@"')
    if quoted >= 0 and line.find('"', quoted + 2) < 0 and _starts_mention(line, quoted):
        return CursorWord(quoted, line[quoted + 2 :], '"') if len(line) - quoted <= MAX_WORD_CHARS else None
    at = line.rfind("@")
    if at < 0 or len(line) - at > MAX_WORD_CHARS or not _starts_mention(line, at):
        return None
    text = line[at + 1 :]
    return None if any(letter.isspace() or letter == "\ufffc" for letter in text) else CursorWord(at, text)


def _starts_mention(line: str, at: int) -> bool:
    """Whether an `@` here starts a word, and is not part of an address."""
    before = line[at - 1 : at]
    return not before or before.isspace() or before in _OPENERS or before == "\ufffc"


def format_mention(path: str, *, behind: str = "") -> str:
    """How to write a mention; `behind` is the text after the cursor."""
    is_folder = path.endswith("/")
    end = "" if is_folder or behind[:1].isspace() else " "
    if not any(letter.isspace() for letter in path):
        return f"@{path}{end}"
    return f'@"{path}' if is_folder else f'@"{path}"{end}'


def last_word(line: str, *, shell: bool) -> CursorWord:
    """The last word with quotes and backslashes resolved; empty after a space."""
    start, quote, escaped = 0, "", False
    letters: list[str] = []
    breaks = _SHELL_BREAKS if shell else " \t\ufffc"
    for place, letter in enumerate(line):
        if escaped:
            letters.append(letter)
            escaped = False
        elif letter == "\\" and quote != "'":
            escaped = True
        elif quote:
            if letter == quote:
                quote = ""
            else:
                letters.append(letter)
        elif letter in breaks:
            start, letters = place + 1, []
        elif letter in "\"'" and (shell or not letters):
            quote = letter
        else:
            letters.append(letter)
    return CursorWord(start, "".join(letters), quote)


def quote_path(path: str, quote: str, *, shell: bool) -> str:
    """A path as written in the text, quoted if needed."""
    is_folder = path.endswith("/")
    if shell and not quote:
        head = "~/" if path.startswith("~/") else ""
        return head + "".join(f"\\{c}" if c in _SHELL_SPECIAL else c for c in path[len(head) :])
    if not quote and any(letter.isspace() for letter in path):
        quote = '"'
    return f"{quote}{path}{'' if is_folder else quote}"


class Completion:
    """Implements `Completions`. Answers at once with what is known, and again when more is."""

    def __init__(
        self,
        display: Display,
        current: CurrentSession,
        tasks: Tasks,
        complete_command: Callable[[str, int], Suggestions | None],
    ) -> None:
        self._editor = display.editor
        self._current = current
        self._tasks = tasks
        self._complete_command = complete_command
        self._files = WorkspaceFiles(current, display.timer, tasks, self.refresh)
        self._request: tuple[str, int] = ("", 0)
        self._mentioning = False
        self._offered = False
        self._path_start = -1
        """Start of the path being completed since Tab was pressed."""
        self._search: PathQuery | None = None
        self._search_over = True
        self._last: list[str] = []
        self._searched: tuple[FileIndex, int, str] | None = None

    def close(self) -> None:
        self._files.close()

    def complete(self, text: str, cursor: int, *, tabbed: bool = False) -> Answer:
        """`tabbed`: Tab requested it, so offer what would otherwise be in the way."""
        was_mentioning, self._mentioning = self._mentioning, False
        self._request = (text, cursor)
        answer = self._suggest(text, cursor, tabbed, was_mentioning)
        self._offered = answer is not None and bool(answer.items)
        return answer

    def refresh(self) -> None:
        """Complete again if the text is unchanged and the user is not choosing from the list."""
        completing = self._editor.completing
        if not self._mentioning or completing.is_waiting or completing.at:
            return
        if self._offered != completing.is_open or not self._is_unchanged():
            return
        completing.ask_now(lambda: self._request)

    def _suggest(self, text: str, cursor: int, tabbed: bool, was_mentioning: bool) -> Answer:
        head = text[:1]
        line_start = text.rfind("\n", 0, cursor) + 1
        line = text[line_start:cursor]
        if head == "!":
            skipped = len(line) - len(line.lstrip("!")) if line_start == 0 else 0
            return self._path(line_start + skipped, line[skipped:], tabbed, shell=True)
        if head == "$" and not text.startswith("${"):
            return None
        if head == "/" and not line_start:
            answer = self._complete_command(text, cursor)
            if answer is not None:
                return answer
        word = find_mention(line)
        if word is None:
            return self._path(line_start, line, tabbed, shell=False)
        self._mentioning = True
        paths, note = self._match_mention(word, fresh=not was_mentioning)
        behind = text[cursor : cursor + 1]
        items = [_item(path, format_mention(path, behind=behind), note) for path in paths]
        items += self._match_resources(word.text, behind)
        return Suggestions(line_start + word.start, items) if items else None

    def _match_mention(self, word: CursorWord, *, fresh: bool) -> tuple[Sequence[str], str]:
        """Matching paths, and a note about them."""
        cwd, typed = self._current.cwd, word.text
        index = None
        if not typed.startswith(_AS_TYPED):
            index = self._files.index(fresh=fresh)
        if index is None or not (typed or self._files.is_whole):
            folder, names = list_entries(typed, cwd)
            return [folder + name for name in names[:MAX_ITEMS]], ""
        search, is_over = self._look_up(index, typed)
        if search.exact and not typed.endswith("/"):
            return [], ""
        paths = search.best(MAX_ITEMS)
        if not paths and not is_over:  # keep matching earlier results until more is known
            paths = [path for path in self._last if score(typed, path) is not None]
        self._last = paths
        if not paths and is_over:  # it may exist although git ignores it
            folder, names = list_entries(typed, cwd)
            paths = [folder + name for name in names[:MAX_ITEMS] if folder + name != typed]
        return paths, index.cut

    def _match_resources(self, typed: str, behind: str) -> list[CompletionItem]:
        """Of MCP servers, behind the files."""
        session = self._current.session
        if session is None or session.servers is None or not typed:
            return []
        found = [row for row in session.servers.resource_names() if score(typed, row[0]) is not None]
        return [
            CompletionItem(uri, format_mention(uri, behind=behind), about)
            for uri, about in found[:MAX_RESOURCES]
        ]

    def _look_up(self, index: FileIndex, query: str) -> tuple[PathQuery, bool]:
        """The search, and whether it is done. A slow one continues in the background."""
        key = (index, index.settled, query)
        if self._search is None or self._searched != key:
            self._search, self._searched = PathQuery(index, query), key
            steps = self._search.steps()
            end = time.perf_counter() + SLICE_S
            self._search_over = all(time.perf_counter() < end for _ in steps)
            if not self._search_over:
                self._tasks.start(self._continue_search(self._search, steps))
        return self._search, self._search_over

    async def _continue_search(self, search: PathQuery, steps: Iterator[None]) -> None:
        end = 0.0
        for _ in steps:
            if time.perf_counter() > end:
                await asyncio.sleep(0)
                if self._search is not search:
                    return
                end = time.perf_counter() + SLICE_S
        if self._search is search:
            self._search_over = True
            self.refresh()

    def _path(self, offset: int, line: str, tabbed: bool, *, shell: bool) -> Answer:
        """Entries of the folder the word names; only after Tab was pressed in this word."""
        cut = max(len(line) - MAX_LINE_CHARS, 0)
        word = last_word(line[cut:], shell=shell)
        start = offset + cut + word.start
        begun = start == self._path_start and self._editor.completing.is_open
        self._path_start = -1
        if not (tabbed or begun) or not (word.text or shell):
            return None
        folder, names = list_entries(word.text, self._current.cwd)
        paths = [folder + name for name in names]
        items = [_item(path, quote_path(path, word.quote, shell=shell)) for path in paths]
        if not items or (len(items) == 1 and items[0].value == line[cut + word.start :]):
            return None
        self._path_start = start
        # Do not descend into a folder at once: Enter sends the text, as in a shell.
        return Suggestions(start, [item._replace(more=False) for item in items])

    def _is_unchanged(self) -> bool:
        draft = self._editor.draft()
        parts = draft["parts"]
        assert isinstance(parts, list)
        text = "".join(part if isinstance(part, str) else "\ufffc" for part in parts)
        return (text, draft["cursor"]) == self._request


def _item(path: str, value: str, note: str = "") -> CompletionItem:
    folder, _, name = path.removesuffix("/").rpartition("/")
    is_folder = path.endswith("/")
    about = "" if folder == "." else folder
    return CompletionItem(f"{name}/" if is_folder else name, value, about, note, more=is_folder)
