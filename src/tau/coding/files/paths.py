"""Path rules for tools: resolve a model's path text, its line selector and its real target."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from tau.base.errors import ToolError
from tau.base.late import late
from tau.base.text import has_half_character, shortened

json = late("json")
unicodedata = late("unicodedata")
urllib_parse = late("urllib.parse")

MAX_SHOWN_CHARS = 300  # of a path in an error
MAX_DIGITS = 15  # of a line number
# Patterns are strings, compiled on first use: together they would cost a millisecond at startup.
_RANGE = r"L?\d+(?:-(?:L?\d+)?|\+L?\d+)?"
_SELECTOR = rf":(?:conflicts|(?:raw:)?(?:raw|{_RANGE}(?:,{_RANGE})*(?::raw)?))$"
_CONTROL = "[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]"
_ONE_RANGE = r"L?(?P<first>\d+)(?:-(?:L?(?P<last>\d+))?|\+L?(?P<count>\d+))?$"
_CLOCK_SPACE = r" (?=[AaPp][Mm]\b)"


class LineRange(Struct, frozen=True):
    """Lines `first` to `last`, 1-based and inclusive; `last` is None for "to the end"."""

    first: int
    last: int | None = None


class Selector(Struct, frozen=True):
    """The suffix of a path: sorted, disjoint line ranges; `raw` omits line numbers."""

    ranges: tuple[LineRange, ...] = ()
    raw: bool = False
    conflicts: bool = False  # show only merge conflicts

    def picks(self, total: int) -> list[int]:
        """The selected of `total` entries of a list, 1-based; all of them without ranges."""
        ranges = self.ranges or (LineRange(1),)
        return [
            number
            for span in ranges
            for number in range(span.first, min(total if span.last is None else span.last, total) + 1)
        ]


def resolve(path_text: str, cwd: Path, *, existing: bool = True) -> Path:
    """The absolute path for a model's text. A symbolic link in the last part is kept.

    With `existing`, a name that differs only in Unicode spelling finds the existing file.
    """
    path = _absolute(path_text, cwd)
    if os.path.lexists(path):
        return path
    if (quoted := _quoted(path_text)) and os.path.lexists(path := _absolute(quoted, cwd)):
        return path
    clean_text = _clean(path_text, cwd)
    cleaned = path if clean_text == path_text else _absolute(clean_text, cwd)
    if existing and (cleaned is path or not os.path.lexists(cleaned)):
        return next((variant for variant in _variants(cleaned) if os.path.lexists(variant)), cleaned)
    return cleaned


def real(path: Path) -> Path:
    """The path with every symbolic link resolved.

    Works for paths that do not exist yet (existing parents are resolved) and for dangling links (their target
    counts), so that a write can be checked in advance. A link of another process in /proc that cannot be read
    leads nowhere: the path stays as it is.
    """
    try:
        return Path(os.path.realpath(path))
    except OSError:
        return Path(os.path.normpath(path))


def is_folder(path: Path) -> bool:
    """Unlike `Path.is_dir`, false for a path that cannot be looked at."""
    return os.path.isdir(path)  # noqa: PTH112


def shown(path: Path, cwd: Path) -> str:
    """The path for display: relative inside the working folder, absolute elsewhere.

    A name with control characters, outer blanks or bytes that are not text is quoted as in JSON; `resolve`
    accepts that. So it is always one line: a line break could otherwise fake a separate row.
    """
    text = str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)
    stripped = text == text.strip()
    if stripped and (text.isprintable() or not re.search(_CONTROL, text)):
        return text
    quoted: str = json.dumps(text, ensure_ascii=False)
    return re.sub(_CONTROL, lambda found: f"\\u{ord(found[0]):04x}", quoted)


def wire_path(path: Path) -> str:
    """The whole path as text, for details; bytes that are not text are replaced."""
    text = str(path)
    return text if text.isascii() else os.fsencode(text).decode("utf-8", "replace")


def split_selector(path_text: str) -> tuple[str, Selector]:
    """`src/a.py:50-100` as a path and its selector. Text that is not a selector stays part of the path."""
    match = re.search(_SELECTOR, path_text)
    if match is None or match.start() == 0:
        return path_text, Selector()
    if match[0] == ":conflicts":
        return path_text[: match.start()], Selector(conflicts=True)
    words = match[0][1:].split(":")
    chunks = [chunk for word in words if word != "raw" for chunk in word.split(",")]
    ranges = _merge([_parse_range(chunk) for chunk in chunks])
    return path_text[: match.start()], Selector(ranges, "raw" in words)


def _parse_range(text: str) -> LineRange:
    match = re.match(_ONE_RANGE, text)
    assert match is not None, "the selector pattern has matched"
    if any(len(number or "") > MAX_DIGITS for number in match.groups()):
        raise ToolError(f"The selector :{shortened(text, 40)} is too large; no file has so many lines.")
    first = int(match["first"])
    if first == 0:
        raise ToolError("Line numbers start at 1; use :1 for the first line.")
    if match["count"] is not None:
        if int(match["count"]) == 0:
            raise ToolError(f"The selector :{text} selects no lines; the count after + must be at least 1.")
        return LineRange(first, first + int(match["count"]) - 1)
    if match["last"] is None:
        return LineRange(first)
    if int(match["last"]) < first:
        raise ToolError(f"The selector :{text} ends before it starts; write the smaller line number first.")
    return LineRange(first, int(match["last"]))


def _merge(ranges: list[LineRange]) -> tuple[LineRange, ...]:
    merged: list[LineRange] = []
    for lines in sorted(ranges, key=lambda lines: lines.first):
        previous = merged[-1] if merged else None
        if previous is None or (previous.last is not None and lines.first > previous.last + 1):
            merged.append(lines)
        elif previous.last is not None:
            last = None if lines.last is None else max(previous.last, lines.last)
            merged[-1] = LineRange(previous.first, last)
    return tuple(merged)


def _absolute(text: str, cwd: Path) -> Path:
    if not text.strip():
        raise ToolError("The path is empty; name a file, or `.` for the working directory.")
    if "\0" in text:
        raise ToolError("The path contains a NUL character, which no file name can have.")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise ToolError("The path contains a lone surrogate, which no file name can have.") from None
    path = cwd / os.path.expanduser(text)  # noqa: PTH111 - Path.expanduser raises on an unknown `~x`; this keeps it
    if ".." not in path.parts:
        return path
    # `link/..` is the parent of the link's target: only the file system knows it.
    after = len(path.parts) - path.parts[::-1].index("..")
    return Path(os.path.realpath(Path(*path.parts[:after])), *path.parts[after:])


def _clean(text: str, cwd: Path) -> str:
    """Strip what models and people put around a path: blanks, quotes, a leading @, file://."""
    text = unquote(text)
    if text[:7].lower() == "file://":
        host_and_path = text[7:]
        text = urllib_parse.unquote(host_and_path[max(host_and_path.find("/"), 0) :])
    if len(text) > 1 and text[0] == "@" and not os.path.lexists(cwd / Path(text).parts[0]):
        text = text[1:]
    return text


def _quoted(text: str) -> str:
    """The name that `shown` quoted; empty if this is something else."""
    text = text.strip()
    if text[:1] != '"' or "\0" in text:
        return ""
    try:
        name = json.loads(text)
    except ValueError:
        return ""
    usable = isinstance(name, str) and name.strip() and "\0" not in name and not has_half_character(name)
    return name if usable else ""


def unquote(text: str) -> str:
    """Strip blanks and one pair of quotes."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'`":
        text = text[1:-1].strip()
    return text


def _variants(path: Path) -> Iterator[Path]:
    """Other spellings of the last names: macOS writes a narrow no-break space before AM and PM, typographic
    apostrophes and decomposed letters."""
    text = str(path)
    spellings = [text]
    if re.search(_CLOCK_SPACE, path.name):
        spellings.append(str(path.with_name(re.sub(_CLOCK_SPACE, "\u202f", path.name))))
    if "'" in path.name:
        spellings += [spelling.replace("'", "’") for spelling in spellings]
    yield from map(Path, spellings[1:])
    if text.isascii() and len(spellings) == 1:
        return
    for spelling in spellings:
        for form in ("NFC", "NFD"):
            yield Path(unicodedata.normalize(form, spelling))


OTHER_NAMES = "It had another name (a hard link), which keeps the old content."


def failure(verb: str, where: str, error: OSError) -> ToolError:
    """The system's error as a sentence for the model: `Cannot read x: Permission denied.`"""
    return ToolError(f"Cannot {verb} {shortened(where, MAX_SHOWN_CHARS)}: {error.strerror or error}.")
