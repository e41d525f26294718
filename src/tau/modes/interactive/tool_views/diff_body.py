"""File changes in a block: word-level diffs, and patches being written."""

from collections.abc import Iterable, Sequence

from tau.base.late import late
from tau.base.text import reveal
from tau.modes.interactive.tool_views.body_parts import LazyRows, first_lines, last_lines, more_row
from tau.tui.component import Component
from tau.tui.style import Theme
from tau.tui.text.clean import clean
from tau.tui.text.wrap import wrap_hard

diff_widget = late("tau.tui.widgets.diff")
diff_hunks = late("tau.tui.widgets.diff_hunks")

MAX_COMPARED_CHARS = 100_000
_HEADERS = ("*** ", "+++ ", "--- ", "diff ", "@@")


def diff(theme: Theme, texts: Iterable[str], max_rows: int, *, named: bool) -> Component:
    """Unified diffs, one per file. Without `named`, the name is omitted: it is in the title."""
    hunks = [hunk for text in texts for hunk in diff_hunks.parse_unified_diff(reveal(text))]
    if not named:
        hunks = [hunk._replace(path="") for hunk in hunks]
    return diff_widget.DiffView(theme, diff=hunks, max_rows=max_rows)


def replacement(theme: Theme, old: str, new: str, max_rows: int) -> Component:
    """A replacement without line numbers: its position is not known yet."""
    if len(old) + len(new) > MAX_COMPARED_CHARS:
        return changed_lines(theme, new, max_rows)
    hunks = [
        hunk._replace(lines=tuple(line._replace(old_number=None, new_number=None) for line in hunk.lines))
        for hunk in diff_hunks.diff_texts(clean(old), clean(new))
    ]
    return diff_widget.DiffView(theme, diff=hunks, max_rows=max_rows)


def changed_lines(
    theme: Theme, text: str, max_rows: int, *, sign: str = "+", from_end: bool = False
) -> Component:
    """Added or removed lines while they are written."""

    def paint(width: int) -> list[str]:
        lines, more = last_lines(text, max_rows) if from_end else first_lines(text, max_rows)
        return _limit(theme, [_styled(theme, sign, line) for line in lines], more, width, max_rows, from_end)

    return LazyRows(theme, paint)


def patch(theme: Theme, text: str, max_rows: int, *, from_end: bool = False) -> Component:
    """A patch in any format, as the model writes it."""

    def paint(width: int) -> list[str]:
        lines, more = last_lines(text, max_rows) if from_end else first_lines(text, max_rows)
        return _limit(theme, [_patch_line(theme, line) for line in lines], more, width, max_rows, from_end)

    return LazyRows(theme, paint)


def _limit(
    theme: Theme, lines: Sequence[str], more: int, width: int, max_rows: int, from_end: bool
) -> list[str]:
    """The rows of styled lines within the limit, and how many are missing above or below."""
    rows = [row for line in lines for row in wrap_hard(line, width)]
    rows = rows[-max_rows:] if from_end else rows[:max_rows]
    if more and from_end:
        rows.insert(0, more_row(theme, more, "earlier line", width))
    elif more:
        rows.append(more_row(theme, more, "more line", width))
    return rows


def _patch_line(theme: Theme, line: str) -> str:
    if line.startswith("¶"):
        line = line[1:].rpartition("#")[0] or line[1:]
        return theme["strong"](clean(line[:2000]).replace("\n", " "))
    if line.startswith(_HEADERS):
        return theme["muted"](clean(line[:2000]).replace("\n", " "))
    return _styled(theme, line[:1], line[1:]) if line[:1] in ("+", "-") else _styled(theme, "", line)


def _styled(theme: Theme, sign: str, text: str) -> str:
    shown = clean(text[:2000]).replace("\n", " ")
    style = theme[{"+": "diffAdded", "-": "diffRemoved"}.get(sign, "diffContext")]
    if theme.linear:
        word = {"+": "Added: ", "-": "Removed: "}.get(sign, "")
        return style(word + shown)
    return style(f"{sign} {shown}".rstrip() if sign else shown)


def patch_files(text: str) -> tuple[str, int]:
    """The first file a patch names and how many it names. Cheap, since it is called often."""
    places = []
    count = 0
    for mark in ("¶", "*** Update File: ", "*** Add File: ", "*** Delete File: ", "+++ "):
        at = 0 if text.startswith(mark) else text.find(f"\n{mark}") + 1
        if at or text.startswith(mark):
            places.append((at, mark))
            count += text.count(f"\n{mark}") + text.startswith(mark)
    if not places:
        return "", 0
    at, mark = min(places)
    name = text[at + len(mark) : at + len(mark) + 1000].partition("\n")[0].strip()
    if mark == "¶":
        name = name.rpartition("#")[0] or name
    return name.removeprefix("b/") if mark == "+++ " else name, count
