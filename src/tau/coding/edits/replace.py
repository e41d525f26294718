"""The `replace` edit mode: replace a text in a file, matched exactly or, with a note, approximately."""

import re
from pathlib import Path

from msgspec import Struct

from tau.agent.ports import ToolContext
from tau.base.errors import ToolError
from tau.base.late import late
from tau.coding.edits.change import FileChange, FileSource, text_of, update
from tau.coding.edits.diff import equal_start
from tau.coding.edits.lines import line_numbers
from tau.coding.edits.splices import Splice
from tau.coding.edits.transaction import Guard, WrittenChange, change_files
from tau.coding.files.paths import real

fuzzy_match = late("tau.coding.edits.fuzzy_match")
not_found = late("tau.coding.edits.not_found")

MAX_PLACES = 20
MAX_SPANS = 100_000
_LINE_END = re.compile("\r?\n")
_OLD_MAC_LINE_END = re.compile("\r")


class CharSpan(Struct, frozen=True, gc=False):
    """The characters of a match, from `start` up to `end`."""

    start: int
    end: int


def find(text: str, old: str) -> list[CharSpan]:
    """Find all matches of `old`, including overlapping ones, up to MAX_SPANS + 1.

    A newline in `old` matches any kind of line ending.
    """
    newline = line_end(text).pattern
    return find_pattern(text, newline.join(map(re.escape, old.replace("\r\n", "\n").split("\n"))))


def find_pattern(text: str, pattern: str) -> list[CharSpan]:
    """Find all matches of a pattern; a CRLF starts at most one match."""
    compiled = re.compile(pattern)
    spans: list[CharSpan] = []
    match = compiled.search(text)
    while match is not None and len(spans) <= MAX_SPANS:
        start = match.start()
        spans.append(CharSpan(start, match.end()))
        match = compiled.search(text, start + (2 if text.startswith("\r\n", start) else 1))
    return spans


def drop_overlaps(spans: list[CharSpan]) -> list[CharSpan]:
    """Return the spans that can be replaced together: the first of any that overlap."""
    kept: list[CharSpan] = []
    for span in spans:
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return kept


def replacements(text: str, spans: list[CharSpan], new: str) -> list[Splice]:
    """Replace every span; new lines get the line endings and indentation of their surroundings."""
    if "\n" not in new:
        return [Splice(span.start, span.end, new) for span in spans]
    ending = line_end(text)
    return [
        Splice(
            span.start,
            span.end,
            _fit_line_ends(fit_indentation(text, span, text[span.start : span.end], new), text, span, ending),
        )
        for span in spans
    ]


def fit_indentation(text: str, span: CharSpan, old: str, new: str) -> str:
    """Indent new lines below a single quoted line as much deeper as the file has that line.

    Raises ToolError if the quote has no indentation, so that theirs cannot be understood.
    """
    start = max(text.rfind("\n", 0, span.start), text.rfind("\r", 0, span.start)) + 1
    deeper = text[start : span.start]
    first, *rest = new.split("\n")
    if not deeper or not deeper.isspace() or "\n" in old.rstrip("\r\n"):
        return new
    below = [line for line in rest if line.strip()]
    if old[0] in " \t":
        return "\n".join([first, *(deeper + line if line.strip() else line for line in rest)])
    # Below a line that opens a block, a line at its own level shows that the first one was counted from zero.
    relative = bool(below) and first.rstrip().endswith(":") and indent(below[0]) == deeper
    if all(line.startswith(deeper) for line in below) and (not relative or below[0].lstrip()[0] in "-#"):
        return new
    raise ToolError(
        f"`old_text` begins after the indentation of line {line_at(text, span.start)}, so it is unclear how "
        "the lines below it in `new_text` are indented. Quote whole lines, with their indentation, in both."
    )


def indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def line_at(text: str, position: int) -> int:
    """Return the one-based number of the line with this character."""
    return len(line_end(text).findall(text, 0, position)) + 1


def line_end(text: str) -> re.Pattern[str]:
    """Return the line-ending pattern. A lone carriage return ends a line only in a file without newlines."""
    return _OLD_MAC_LINE_END if "\n" not in text and "\r" in text else _LINE_END


def _fit_line_ends(new: str, text: str, span: CharSpan, ending: re.Pattern[str]) -> str:
    """Give `new` the file's line endings: unchanged lines at top and bottom keep theirs, others follow."""
    matched = text[span.start : span.end]
    ends = ending.findall(matched)
    old_lines = ending.split(matched)
    new_lines = new.replace("\r\n", "\n").split("\n")
    wanted = len(new_lines) - 1
    top = equal_start(old_lines, new_lines)
    bottom = equal_start(old_lines[top:][::-1], new_lines[top:][::-1])
    usual = ends[0] if ends else _nearest_end(text, span, ending)
    result = [new_lines[0]]
    for index in range(wanted):
        from_bottom = wanted - index
        if index < min(top, len(ends)):
            end = ends[index]
        elif from_bottom <= min(bottom, len(ends)):
            end = ends[-from_bottom]
        else:
            end = ends[min(index, len(ends) - 1)] if ends else usual
        result += (end, new_lines[index + 1])
    return "".join(result)


def _nearest_end(text: str, span: CharSpan, ending: re.Pattern[str]) -> str:
    """Return the ending of the span's line, or of the line before it."""
    after = ending.search(text, span.end)
    if after is not None:
        return after[0]
    if ending is _OLD_MAC_LINE_END:
        return "\r"
    last = text.rfind("\n", 0, span.start)
    return "\r\n" if text.endswith("\r", 0, max(last, 0)) else "\n"


class Replacement(Struct, frozen=True):
    """`fuzzy` allows a single match that differs only in white space and look-alike characters."""

    old: str
    new: str
    replace_all: bool = False
    fuzzy: bool = True


class ReplaceMatch(Struct, frozen=True):
    """The matches as splices; `notes` describe the differences of an approximate match."""

    splices: list[Splice]
    notes: tuple[str, ...] = ()


async def replace_text(
    path: Path, wanted: Replacement, ctx: ToolContext, name: str = "", *, guard: Guard | None = None
) -> WrittenChange:
    """Edit one file, called `name`. Raises ToolError and leaves the file unchanged on failure."""
    check(wanted)
    key = real(path)
    [written] = await change_files(
        [path],
        lambda sources: [change_of(sources[key], wanted)],
        ctx,
        guard=guard,
        names={path: name} if name else None,
    )
    return written


def check(wanted: Replacement) -> None:
    """Validate a call regardless of the file. Raises ToolError."""
    if not wanted.old:
        raise ToolError("`old_text` is empty; quote the text to replace, or use write for a new file.")
    if wanted.old == wanted.new:
        raise ToolError("`old_text` and `new_text` are the same; nothing to change.")


def change_of(source: FileSource, wanted: Replacement) -> FileChange:
    """Compute the change; every byte outside the match is preserved."""
    decoded = text_of(source)
    matched = match(decoded.text, wanted, source.name)
    if all(decoded.text[one.start : one.end] == one.text for one in matched.splices):
        raise ToolError("`old_text` and `new_text` differ only in line endings, which edits preserve.")
    return update(source, decoded, matched.splices, matched.notes)


def match(text: str, wanted: Replacement, name: str) -> ReplaceMatch:
    """Find the text, exactly or approximately. Raises ToolError if it is missing or ambiguous."""
    spans = find(text, wanted.old)
    if not spans:
        almost = fuzzy_match.match(text, wanted, name) if wanted.fuzzy else None
        if almost is not None:
            return almost
        reason = not_found.why_not_found(text, wanted.old)
        raise ToolError(f"`old_text` was not found in {name}. {reason}")
    if len(spans) > MAX_SPANS:
        raise ToolError(f"`old_text` occurs over {MAX_SPANS} times in {name}; use bash, for example sed.")
    if len(spans) > 1 and not wanted.replace_all:
        lines = line_numbers([line_at(text, span.start) - 1 for span in spans[:MAX_PLACES]])
        more = f" and {len(spans) - MAX_PLACES} more" if len(spans) > MAX_PLACES else ""
        raise ToolError(
            f"`old_text` occurs {len(spans)} times in {name}, at lines {lines}{more}. "
            "Quote more context to pick one, or set `replace_all`."
        )
    spans = drop_overlaps(spans)
    times = (f"`old_text` was replaced in {len(spans)} places.",) if len(spans) > 1 else ()
    return ReplaceMatch(replacements(text, spans, wanted.new), times)
