"""Format one page of matches: choose the files and rows that fit, and lay them out."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from tau.base.late import late
from tau.coding.output import Truncation
from tau.coding.prompts.system import fill

hashline_format = late("tau.hashline.format")

PAGE_FILES = 20
MATCHES_PER_FILE = 20  # when several files are searched
MATCHES_IN_ONE_FILE = 200
MAX_COLUMNS = 512
COLUMNS_BEFORE = 100  # shown before a match far to the right
MAX_BYTES = 50 * 1024


class FileHits(Struct, frozen=True, kw_only=True):
    """The matching lines of one file, with their text and context lines.

    With a `tag`, edits can refer to the rows; `capped`: more lines match. `starts` are the positions of the
    first match in its line.
    """

    name: str
    matched: Sequence[int]
    lines: Mapping[int, str]
    starts: Mapping[int, int] = {}
    tag: str | None = None
    capped: bool = False


class ResultPage(Struct, frozen=True, kw_only=True):
    """`text` is for the model, `display` for users. `matches` counts what fit, by file.

    `truncation` is set if not all rows fit.
    """

    text: str
    display: str
    matches: Mapping[str, int]
    cut_lines: bool
    truncation: Truncation | None = None


def fill_limits(description: str) -> str:
    """Fill the limits of a page into the description of a tool."""
    return fill(
        description, files=str(PAGE_FILES), each=str(MATCHES_PER_FILE), single=str(MATCHES_IN_ONE_FILE)
    )


def no_matches(files: int, skip: int) -> str:
    """The text of an empty page."""
    if files and skip >= files:
        return f"No matches from skip={skip} on: {files} files match."
    return "No matches found"


class _Row(Struct, frozen=True):
    number: int
    text: str
    is_match: bool
    start: int = 0


def around(matched: Sequence[int], before: int, after: int) -> set[int]:
    """Return the numbers of the matching lines and their context."""
    return {near for number in matched for near in range(max(number - before, 1), number + after + 1)}


def render(
    files: Sequence[FileHits], *, before: int, after: int, single: bool = False, max_bytes: int = MAX_BYTES
) -> ResultPage:
    """Format each file with its rows; for a single file without a tag, only the rows.

    If there is more than `max_bytes`, each file gets its first match, then each its second, while they fit.
    """
    chosen = _chosen(files, before, after, max_bytes)
    texts: list[str] = []
    displays: list[str] = []
    cut = False
    for file, numbers in zip(files, chosen, strict=True):
        if not numbers:
            continue
        rows = _rows(file, around(numbers, before, after))
        cut |= any(len(row.text) > MAX_COLUMNS for row in rows)
        heading = [] if single and file.tag is None else [_heading(file)]
        texts.append("\n".join([*heading, *(_model_row(row, file.tag) for row in rows)]))
        width = len(str(rows[-1].number))
        displays.append("\n".join([f"# {file.name}", *(_display_row(row, width) for row in rows)]))
    text = "\n\n".join(texts)
    is_whole = all(len(numbers) == len(file.matched) for file, numbers in zip(files, chosen, strict=True))
    return ResultPage(
        text=text,
        display="\n\n".join(displays),
        matches={file.name: len(numbers) for file, numbers in zip(files, chosen, strict=True) if numbers},
        cut_lines=cut,
        truncation=None if is_whole else _truncation(text, files, before, after),
    )


def _truncation(text: str, files: Sequence[FileHits], before: int, after: int) -> Truncation:
    """How much of all rows the text shows."""
    every = [
        [
            _heading(file),
            *(_model_row(row, file.tag) for row in _rows(file, around(file.matched, before, after))),
        ]
        for file in files
    ]
    whole = "\n\n".join("\n".join(rows) for rows in every)
    return Truncation(
        kept="head",
        ranges=[(1, text.count("\n") + 1)],
        total_lines=whole.count("\n") + 1,
        total_bytes=len(whole.encode(errors="replace")),
        shown_bytes=len(text.encode(errors="replace")),
    )


def _chosen(files: Sequence[FileHits], before: int, after: int, max_bytes: int) -> list[list[int]]:
    """Choose matches round-robin, one per file at a time, until the page is full."""
    chosen: list[list[int]] = [[] for _ in files]
    counted: list[set[int]] = [set() for _ in files]
    room = max_bytes
    for turn in range(max((len(file.matched) for file in files), default=0)):
        for index, file in enumerate(files):
            if turn >= len(file.matched):
                continue
            number = file.matched[turn]
            fresh = around([number], before, after) - counted[index]
            size = sum(
                len(_model_row(row, file.tag).encode(errors="replace")) + 1 for row in _rows(file, fresh)
            )
            size += 0 if turn else len(_heading(file).encode(errors="replace")) + 2
            if size > room and any(chosen):
                return chosen
            room -= size
            chosen[index].append(number)
            counted[index] |= fresh
    return chosen


def _rows(file: FileHits, numbers: set[int]) -> list[_Row]:
    matched = set(file.matched)
    return [
        _Row(number, file.lines[number], number in matched, file.starts.get(number, 0))
        for number in sorted(numbers)
        if number in file.lines
    ]


def _heading(file: FileHits) -> str:
    return f"# {file.name}" if file.tag is None else hashline_format.format_header(file.name, file.tag)


def _model_row(row: _Row, tag: str | None) -> str:
    return f"{'*' if row.is_match else ' '}{row.number}{'|' if tag is None else ':'}{_window(row)}"


def _display_row(row: _Row, width: int) -> str:
    return f"{'*' if row.is_match else ' '}{row.number:>{width}}│{_window(row)}"


def _window(row: _Row) -> str:
    """The line, or as much of a long one as may be shown: its beginning, or what is around the match."""
    text = row.text
    if len(text) <= MAX_COLUMNS:
        return text
    first = max(row.start - COLUMNS_BEFORE, 0) if row.start + COLUMNS_BEFORE > MAX_COLUMNS else 0
    last = first + MAX_COLUMNS
    return f"{'…' if first else ''}{text[first:last]}{'…' if last < len(text) else ''}"
