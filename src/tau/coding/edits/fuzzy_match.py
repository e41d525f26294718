"""Approximate text matching: only where a single place fits, and always reported."""

import re
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from tau.base.errors import ToolError
from tau.base.late import late
from tau.coding.edits.diff import equal_start
from tau.coding.edits.hunks import HunkPlacement, HunkRow, PatchHunk, splices_of
from tau.coding.edits.lines import LINE_ENDS, LOOKALIKES, TextLines, line_numbers
from tau.coding.edits.replace import (
    CharSpan,
    ReplaceMatch,
    Replacement,
    find_pattern,
    fit_indentation,
    indent,
    line_at,
    line_end,
)
from tau.coding.edits.splices import Splice

difflib = late("difflib")

MIN_CHARACTERS = 10
MAX_SHOWN = 6
_ANY_LINE_END = r"(?:\r\n|\r|\n)"
_TRAILING = r"[^\S\r\n]*"
_WORD = re.compile(r"\w+")
_TOKEN = re.compile(r"\w+|[^\w\s]+")
# A single line of only these words is too generic for an approximate match.
_COMMON = frozenset(
    _WORD.findall(
        "as async await begin break case catch class continue def default do done elif else end endif except "
        "export false fi final finally for from func function if import in int is let match new nil none not "
        "null or pass private protected public return self static str string super switch then this throw "
        "true try val var void while with yield"
    )
)
Shift = Callable[[str], str | None]
"""Maps an old indentation to the new one; None where the rule does not apply."""
_UNITS = (4, 2, 8, 3)


class _Quote(Struct, frozen=True):
    """`old_text` and `new_text` as lines, without the final newline if both have one."""

    old: list[str]
    new: list[str]


def match(text: str, wanted: Replacement, name: str) -> ReplaceMatch | None:
    """Find the only approximate match, or None. Raises ToolError if there are several."""
    old, new = wanted.old.replace("\r\n", "\n"), wanted.new.replace("\r\n", "\n")
    if is_generic(old):
        return None
    if "\n" not in text:
        old, new = old.replace("\r", "\n"), new.replace("\r", "\n")
    for what, find in _PIECEWISE:
        spans = find(text, old)
        if spans:
            _refuse_several([line_at(text, span.start) - 1 for span in spans], what, name)
            return _replace_span(text, spans[0], old, fit_indentation(text, spans[0], old, new), what)
    quote = _quote(old, new)
    if quote is None:
        return None
    lines = TextLines(text)
    for what, fold in _LINEWISE:
        starts = [at for at in _stripped_places(lines, quote.old, fold) if _rows(lines, at, quote)]
        if starts:
            _refuse_several(starts, what, name)
            return _replace_lines(lines, starts[0], quote, what)
    return None


def is_generic(old: str) -> bool:
    """Whether the text is too short or too generic to match approximately."""
    if len("".join(old.split())) < MIN_CHARACTERS:
        return True
    if "\n" in old.strip():
        return False
    return all(word.lower() in _COMMON or word.isdigit() for word in _WORD.findall(old))


def _refuse_several(indexes: list[int], what: str, name: str) -> None:
    if len(indexes) > 1:
        raise ToolError(
            f"`old_text` was not found exactly in {name}, but {len(indexes)} places differ only in "
            f"{what}, at lines {line_numbers(indexes)}. Quote the right one exactly, with more context."
        )


def _line_ends(text: str, old: str) -> list[CharSpan]:
    """Match any line ending with any other, and ignore a final newline that the file lacks."""
    lines = list(map(re.escape, old.replace("\r", "\n").split("\n")))
    spans = find_pattern(text, _ANY_LINE_END.join(lines))
    if not spans and old.endswith("\n"):
        spans = find_pattern(text, _ANY_LINE_END.join(lines[:-1]) + r"\Z")
    return spans


def _trailing(text: str, old: str) -> list[CharSpan]:
    first, *rest = [re.escape(line.rstrip()) for line in old.split("\n")]
    newline = line_end(text).pattern
    # A match starts with searchable text and excludes trailing space after its last line.
    pattern = first + (_TRAILING if first else "") + newline if rest else first
    return find_pattern(text, pattern + (_TRAILING + newline).join(rest))


def _lookalikes(text: str, old: str) -> list[CharSpan]:
    if text.isascii() and old.isascii():
        return []
    return _trailing(text.translate(LOOKALIKES), old.translate(LOOKALIKES))


_PIECEWISE: tuple[tuple[str, Callable[[str, str], list[CharSpan]]], ...] = (
    ("line ends", _line_ends),
    ("trailing whitespace", _trailing),
    ("look-alike characters (quotes, dashes, spaces)", _lookalikes),
)


def _replace_span(text: str, span: CharSpan, old: str, new: str, what: str) -> ReplaceMatch | None:
    """Replace a span line by line; lines that `new_text` does not change keep the file's text."""
    matched = text[span.start : span.end]
    pattern = re.compile(_ANY_LINE_END) if what == "line ends" else line_end(text)
    lines, ends = pattern.split(matched), pattern.findall(matched)
    if what == "line ends":
        old, new = old.replace("\r", "\n"), new.replace("\r", "\n")
    old_lines, new_lines = old.split("\n"), new.split("\n")
    if len(lines) < len(old_lines):
        # The file lacks the quoted final newline.
        old_lines.pop()
        if new_lines[-1]:
            return None
        new_lines.pop()
    usual = ends[0] if ends else (pattern.findall(text) or ["\n"])[0]
    rebuilt: list[tuple[str, str]] = []
    for tag, i, j, k, m in _steps(old_lines, new_lines):
        if tag == "equal":
            rebuilt += [(lines[at], ends[at] if at < len(ends) else usual) for at in range(i, j)]
            continue
        for step in range(m - k):
            line = new_lines[k + step]
            if j - i == m - k:
                line = _kept_characters(lines[i + step], old_lines[i + step], line)
            rebuilt.append((line, ends[i + step] if i + step < min(j, len(ends)) else usual))
    pieces = [piece for pair in rebuilt for piece in pair][:-1]  # the span excludes the last line ending
    at = line_at(text, span.start)
    pairs = list(zip(old_lines, lines, strict=True))
    note = _note(what, at, pairs[:-1] if len(pairs) > 1 and pairs[-1] == ("", "") else pairs)
    return ReplaceMatch([Splice(span.start, span.end, "".join(pieces))], (note,))


def _steps(old: list[str], new: list[str]) -> Iterator[tuple[str, int, int, int, int]]:
    """Yield difflib opcodes from old to new lines, with equal lines at both ends always aligned."""
    top = equal_start(old, new)
    bottom = equal_start(old[top:][::-1], new[top:][::-1])
    old_end, new_end = len(old) - bottom, len(new) - bottom
    yield "equal", 0, top, 0, top
    matcher = difflib.SequenceMatcher(None, old[top:old_end], new[top:new_end], False)
    for tag, i, j, k, m in matcher.get_opcodes():
        yield tag, i + top, j + top, k + top, m + top
    yield "equal", old_end, len(old), new_end, len(new)


def _kept_characters(line: str, old: str, new: str) -> str:
    """Return the new line with the file's characters wherever old and new agree at either end."""
    if len(line) != len(old) or line == old:
        return new
    most = min(len(old), len(new))
    head = next((index for index in range(most) if old[index] != new[index]), most)
    tail = next((index for index in range(most - head) if old[-1 - index] != new[-1 - index]), most - head)
    return line[:head] + new[head : len(new) - tail] + line[len(line) - tail :]


def _quote(old: str, new: str) -> _Quote | None:
    """Split both texts into whole lines, or return None if they are not whole lines."""
    if old.startswith("\n") and new.startswith("\n"):
        old, new = old[1:], new[1:]
    if old.endswith("\n"):
        if new and not new.endswith("\n"):
            return None
        old, new_lines = old[:-1], new.split("\n")[:-1]
    else:
        new_lines = new.split("\n")
    return _Quote(old.split("\n"), new_lines)


def _fold(line: str) -> str:
    return line.translate(LOOKALIKES).rstrip()


def _words(line: str) -> str:
    """The words and operators of a line: white space between them does not count, all else does."""
    return " ".join(_TOKEN.findall(line.translate(LOOKALIKES)))


_LINEWISE: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("indentation", str.rstrip),
    ("indentation and look-alike characters", _fold),
    ("white space and look-alike characters", _words),
)


def _stripped_places(lines: TextLines, old: list[str], fold: Callable[[str], str]) -> Iterator[int]:
    """Find the lines, ignoring indentation."""
    wanted = [fold(line).lstrip() for line in old]
    hay = "\n" + "".join([f"{fold(line).lstrip()}\n" for line in lines.bodies])
    needle = "\n" + "".join([f"{line}\n" for line in wanted])
    position = hay.find(needle)
    while position >= 0:
        yield hay.count("\n", 0, position)
        position = hay.find(needle, position + 1)


def _rows(lines: TextLines, at: int, quote: _Quote) -> tuple[HunkRow, ...] | None:
    """Build the rows for the lines at `at`, or None if the new lines cannot be indented to fit."""
    there = lines.bodies[at : at + len(quote.old)]
    rule = shift(quote.old, there)
    if rule is None:
        return None
    rows: list[HunkRow] = []
    for tag, i, j, k, m in _steps(quote.old, quote.new):
        if tag == "equal":
            rows += [HunkRow(" ", line) for line in there[i:j]]
            continue
        new = shifted(quote.new[k:m], rule)
        if new is None:
            return None
        rows += [HunkRow("-", line) for line in there[i:j]]
        rows += [HunkRow("+", line) for line in new]
    return tuple(rows)


def _replace_lines(lines: TextLines, at: int, quote: _Quote, what: str) -> ReplaceMatch:
    rows = _rows(lines, at, quote)
    assert rows is not None, "checked by the caller"
    place = HunkPlacement(PatchHunk(number=1, rows=rows), at, LINE_ENDS, rows)
    there = lines.bodies[at : at + len(quote.old)]
    note = _note(what, at + 1, list(zip(quote.old, there, strict=True)))
    return ReplaceMatch(splices_of(lines, [place]), (note,))


def _note(what: str, line: int, pairs: Sequence[tuple[str, str]]) -> str:
    """Describe the match: where it is and how the file differs from the quoted text."""
    last = line + len(pairs) - 1
    differing = [(index, pair) for index, pair in enumerate(pairs) if pair[0] != pair[1]]
    rows = [
        f"{line + index}: quoted {old[:100]!r}, the file has {there[:100]!r}"
        for index, (old, there) in differing[:MAX_SHOWN]
    ]
    if len(differing) > MAX_SHOWN:
        rows.append(f"[… {len(differing) - MAX_SHOWN} more lines differ]")
    where = f"line {line}" if last == line else f"lines {line}-{last}"
    return "\n".join([f"The match at {where} is approximate: `old_text` differs in {what}.", *rows])


def shift(old: Sequence[str], new: Sequence[str]) -> Shift | None:
    """Find the rule that maps the indentation of the old lines to that of the new ones, or None.

    Rules: add or remove a fixed prefix, spaces to tabs, tabs to spaces, scale the spaces.
    """
    pairs = {(indent(one), indent(other)) for one, other in zip(old, new, strict=True) if one.strip()}
    if not pairs:
        return lambda text: text
    for rule in (*_fixed(pairs), *_units(pairs), _scaled(pairs)):
        if rule is not None and all(rule(one) == other for one, other in pairs):
            return rule
    return None


def shifted(lines: Sequence[str], rule: Shift) -> list[str] | None:
    """Apply the rule to all lines, or return None if it does not cover one of them."""
    result: list[str] = []
    for line in lines:
        if not line.strip():
            result.append(line)
            continue
        before = indent(line)
        after = rule(before)
        if after is None:
            return None
        result.append(after + line[len(before) :])
    return result


def _is_mixed(space: str) -> bool:
    return " " in space and "\t" in space


def _fixed(pairs: set[tuple[str, str]]) -> list[Shift]:
    one, other = min(pairs)
    rules: list[Shift] = []
    if other.endswith(one):
        more = other.removesuffix(one)
        mixed = any(_is_mixed(there) for _, there in pairs)
        rules.append(lambda text: None if _is_mixed(more + text) and not mixed else more + text)
    if one.endswith(other):
        less = one.removesuffix(other)
        rules.append(lambda text: text.removeprefix(less) if text.startswith(less) else None)
    return rules


def _units(pairs: set[tuple[str, str]]) -> list[Shift]:
    """Rules between tabs and spaces, plus the extra indentation of the outermost line."""
    one, other = min(pairs)
    rules: list[Shift] = []
    for unit in _UNITS:
        for rule in (_tabs(unit), _blanks(unit)):
            start = rule(one)
            if start is not None and other.endswith(start):
                rules.append(_after(other.removesuffix(start), rule))
    return rules


def _after(more: str, rule: Shift) -> Shift:
    def longer(text: str) -> str | None:
        rest = rule(text)
        return None if rest is None else more + rest

    return longer


def _tabs(unit: int) -> Shift:
    return lambda text: None if "\t" in text else "\t" * (len(text) // unit) + " " * (len(text) % unit)


def _blanks(unit: int) -> Shift:
    return lambda text: None if " " in text else " " * unit * len(text)


def _scaled(pairs: set[tuple[str, str]]) -> Shift | None:
    deep = next(((len(one), len(other)) for one, other in sorted(pairs, reverse=True) if one), None)
    if deep is None or not deep[1] or any("\t" in one + other for one, other in pairs):
        return None
    before, after = deep

    def rule(text: str) -> str | None:
        return None if "\t" in text or len(text) * after % before else " " * (len(text) * after // before)

    return rule
