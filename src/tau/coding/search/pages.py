"""Format one page of matches: choose the files and rows that fit, and lay them out."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

PAGE_FILES = 20
MATCHES_PER_FILE = 20  # when several files are searched
MATCHES_IN_ONE_FILE = 200
MAX_COLUMNS = 512
MAX_BYTES = 50 * 1024


class FileHits(Struct, frozen=True, kw_only=True):
    """The matching lines of one file, with their text and context lines.

    With a `tag`, edits can refer to the rows; `capped`: more lines match.
    """

    name: str
    matched: Sequence[int]
    lines: Mapping[int, str]
    tag: str | None = None
    capped: bool = False


class ResultPage(Struct, frozen=True, kw_only=True):
    """`text` is for the model, `display` for users. `matches` counts what fit, by file."""

    text: str
    display: str
    matches: Mapping[str, int]
    cut_lines: bool


class _Row(Struct, frozen=True):
    number: int
    text: str
    is_match: bool


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
    return ResultPage(
        text="\n\n".join(texts),
        display="\n\n".join(displays),
        matches={file.name: len(numbers) for file, numbers in zip(files, chosen, strict=True) if numbers},
        cut_lines=cut,
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
        _Row(number, file.lines[number], number in matched)
        for number in sorted(numbers)
        if number in file.lines
    ]


def _heading(file: FileHits) -> str:
    return f"# {file.name}" if file.tag is None else f"¶{file.name}#{file.tag}"


def _model_row(row: _Row, tag: str | None) -> str:
    return f"{'*' if row.is_match else ' '}{row.number}{'|' if tag is None else ':'}{_cut(row.text)}"


def _display_row(row: _Row, width: int) -> str:
    return f"{'*' if row.is_match else ' '}{row.number:>{width}}│{_cut(row.text)}"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_COLUMNS else f"{text[:MAX_COLUMNS]}…"
