"""Completions: files after `@`, commands after `/`, paths on Tab."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from tau.modes.interactive.composer.file_index import SLICE_S, WorkspaceFiles
from tau.modes.interactive.composer.path_completion import listed
from tau.modes.interactive.composer.path_search import FileIndex, PathQuery
from tau.modes.interactive.composer.word_at_cursor import CursorWord, last_word, mention, mentioned, written
from tau.tui.widgets.autocomplete import Answer, CompletionItem, Suggestions
from tau.tui.widgets.fuzzy import score

if TYPE_CHECKING:
    from tau.modes.interactive.current_session import CurrentSession
    from tau.modes.interactive.ports import Display, Tasks

MAX_ITEMS = 50
MAX_LINE_CHARS = 2_000
_AS_TYPED = ("/", "~", "./", "../")
"""Mentions starting like this are resolved as paths, not in the index."""


class Completion:
    """Implements `Completions`. Answers at once with what is known, and again when more is."""

    def __init__(
        self,
        display: "Display",
        current: "CurrentSession",
        tasks: "Tasks",
        complete_command: Callable[[str, int], Suggestions | None],
    ) -> None:
        self._editor = display.editor
        self._current = current
        self._tasks = tasks
        self._complete_command = complete_command
        self._files = WorkspaceFiles(current, display.timer, tasks, self.again)
        self._asked: tuple[str, int] = ("", 0)
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
        self._asked = (text, cursor)
        answer = self._answer(text, cursor, tabbed, was_mentioning)
        self._offered = answer is not None and bool(answer.items)
        return answer

    def again(self) -> None:
        """Complete again if the text is unchanged and nobody is choosing from the list."""
        completing = self._editor.completing
        if not self._mentioning or completing.is_waiting or completing.at:
            return
        if self._offered != completing.is_open or not self._still_asked():
            return
        completing.ask_now(lambda: self._asked)

    def _answer(self, text: str, cursor: int, tabbed: bool, was_mentioning: bool) -> Answer:
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
        word = mention(line)
        if word is None:
            return self._path(line_start, line, tabbed, shell=False)
        self._mentioning = True
        found, note = self._mentioned(word, fresh=not was_mentioning)
        behind = text[cursor : cursor + 1]
        items = [_item(path, mentioned(path, behind=behind), note) for path in found]
        return Suggestions(line_start + word.start, items) if items else None

    def _mentioned(self, word: CursorWord, *, fresh: bool) -> tuple[Sequence[str], str]:
        """Matching paths, and a note about them."""
        cwd, typed = self._current.cwd, word.text
        index = None
        if not typed.startswith(_AS_TYPED):
            index = self._files.index(fresh=fresh)
        if index is None or not (typed or self._files.is_whole):
            folder, names = listed(typed, cwd)
            return [folder + name for name in names[:MAX_ITEMS]], ""
        search, is_over = self._looked_up(index, typed)
        if search.exact and not typed.endswith("/"):
            return [], ""
        found = search.best(MAX_ITEMS)
        if not found and not is_over:  # keep matching earlier results until more is known
            found = [path for path in self._last if score(typed, path) is not None]
        self._last = found
        if not found and is_over:  # it may exist although git ignores it
            folder, names = listed(typed, cwd)
            found = [folder + name for name in names[:MAX_ITEMS] if folder + name != typed]
        return found, index.cut

    def _looked_up(self, index: FileIndex, query: str) -> tuple[PathQuery, bool]:
        """The search, and whether it is done. A slow one continues in the background."""
        wanted = (index, index.settled, query)
        if self._search is None or self._searched != wanted:
            self._search, self._searched = PathQuery(index, query), wanted
            steps = self._search.steps()
            end = time.perf_counter() + SLICE_S
            self._search_over = all(time.perf_counter() < end for _ in steps)
            if not self._search_over:
                self._tasks.start(self._go_on(self._search, steps))
        return self._search, self._search_over

    async def _go_on(self, search: PathQuery, steps: Iterator[None]) -> None:
        end = 0.0
        for _ in steps:
            if time.perf_counter() > end:
                await asyncio.sleep(0)
                if self._search is not search:
                    return
                end = time.perf_counter() + SLICE_S
        if self._search is search:
            self._search_over = True
            self.again()

    def _path(self, offset: int, line: str, tabbed: bool, *, shell: bool) -> Answer:
        """Entries of the folder the word names; only after Tab was pressed in this word."""
        cut = max(len(line) - MAX_LINE_CHARS, 0)
        word = last_word(line[cut:], shell=shell)
        start = offset + cut + word.start
        begun = start == self._path_start and self._editor.completing.is_open
        self._path_start = -1
        if not (tabbed or begun) or not (word.text or shell):
            return None
        folder, names = listed(word.text, self._current.cwd)
        paths = [folder + name for name in names]
        items = [_item(path, written(path, word.quote, shell=shell)) for path in paths]
        if not items or (len(items) == 1 and items[0].value == line[cut + word.start :]):
            return None
        self._path_start = start
        # Do not descend into a folder at once: Enter sends the text, as in a shell.
        return Suggestions(start, [item._replace(more=False) for item in items])

    def _still_asked(self) -> bool:
        draft = self._editor.draft()
        parts = draft["parts"]
        assert isinstance(parts, list)
        text = "".join(part if isinstance(part, str) else "\ufffc" for part in parts)
        return (text, draft["cursor"]) == self._asked


def _item(path: str, value: str, note: str = "") -> CompletionItem:
    folder, _, name = path.removesuffix("/").rpartition("/")
    is_folder = path.endswith("/")
    return CompletionItem(f"{name}/" if is_folder else name, value, folder, note, more=is_folder)
