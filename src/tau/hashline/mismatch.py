"""The error for a patch against another version of a file, with the current tag and lines."""

from collections.abc import Container, Iterable, Iterator, Sequence

from msgspec import Struct

from tau.hashline.errors import MismatchError
from tau.hashline.format import TAG_MARK, format_header, format_row
from tau.hashline.lines import NumberedLines, split_lines
from tau.hashline.recovery import UNPAIRED, pair_lines
from tau.hashline.snapshots import Snapshot

CONTEXT_LINES = 2
MAX_ROWS = 60
MAX_ROW_CHARS = 300
MAX_QUOTED = 10
GAP = "…"


def clip(text: str, limit: int = MAX_ROW_CHARS) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def context_rows(
    lines: NumberedLines,
    anchors: Iterable[int],
    *,
    marked: Container[int] | None = None,
    limit: int = MAX_ROWS,
) -> Iterator[str]:
    """The lines around each anchor, at most `limit`. Those in `marked`, or all anchors, get a `*`."""
    wanted = sorted({anchor for anchor in anchors if anchor >= 1})
    shown = previous = 0
    if marked is None:
        marked = set(wanted)
    for anchor in wanted:
        for number in range(max(anchor - CONTEXT_LINES, previous + 1, 1), anchor + CONTEXT_LINES + 1):
            if not lines.has(number):
                return
            if shown == limit:
                yield f"{GAP} (more lines not shown)"
                return
            if previous and number > previous + 1:
                yield GAP
            yield format_row(number, clip(lines.row(number)), "*" if number in marked else " ")
            previous = number
            shown += 1


class _Places(Struct, frozen=True):
    """Where to look for lines: `now` has those that are still there, `gone` what others were."""

    near: Sequence[int]
    now: frozenset[int]
    gone: Sequence[str]


def _places(lines: NumberedLines, numbers: Sequence[int], snapshot: Snapshot | None) -> _Places:
    """Find the lines of a shown text in the current one; without that text, nothing is certain."""
    if snapshot is None:
        return _Places(numbers, frozenset(), ())
    old = split_lines(snapshot.text)
    pairs = pair_lines(snapshot.text, lines.text) or [UNPAIRED] * len(old)
    near: list[int] = []
    now: set[int] = set()
    gone = []
    for number in numbers:
        if number > len(old):
            near.append(number)
        elif pairs[number - 1] != UNPAIRED:
            now.add(pairs[number - 1] + 1)
        else:
            above = next((pair for pair in reversed(pairs[: number - 1]) if pair != UNPAIRED), number - 2)
            near.append(min(above + 2, max(lines.count, 1)))
            gone.append(f"Line {number} was `{clip(old[number - 1])}`, which has changed or is gone")
    return _Places([*near, *now], frozenset(now), gone)


def mismatch(
    *,
    path: str,
    tag: str,
    current_tag: str | None,
    recognized: bool,
    lines: NumberedLines,
    numbers: Sequence[int],
    snapshot: Snapshot | None = None,
    reason: str = "",
) -> MismatchError:
    """Build the error. `numbers` are lines of the text under the tag, whose `snapshot` may be lost.

    A `*` marks where they are now; a line number alone may have become that of another line.
    """
    asked = f"{TAG_MARK}{tag}"
    if recognized:
        what = f"{path} has changed since {asked} was shown, and the edit cannot be carried over reliably."
    else:
        what = f"{asked} was never issued for {path} in this session, so its line numbers are unreliable."
    use = (
        "The file is too large to be given a tag."
        if current_tag is None
        else f"Its tag is now {TAG_MARK}{current_tag}: check the lines below, then send the edit again with "
        "that tag and with line numbers that fit, or read the file again."
    )
    places = _places(lines, numbers, snapshot)
    rows = [*context_rows(lines, places.near, marked=places.now)]
    rows += [f"[Under {asked}: {text}]" for text in places.gone[:MAX_QUOTED]]
    if len(places.gone) > MAX_QUOTED:
        rows.append(f"[… {len(places.gone) - MAX_QUOTED} more lines have changed or are gone]")
    beyond = [number for number in places.near if not lines.has(number)]
    if beyond:
        rows.append(f"[Line {max(beyond)} does not exist: the file has {lines.count} lines]")
    message = " ".join(part for part in (what, reason, "Nothing was changed.", use) if part)
    return MismatchError(
        "\n".join([f"{message}\n", format_header(path, current_tag), *rows]),
        path=path,
        tag=tag,
        current_tag=current_tag,
        recognized=recognized,
    )
