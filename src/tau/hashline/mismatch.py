"""The error for a patch against another version of a file, with the current tag and lines."""

from collections.abc import Iterable, Iterator

from tau.hashline.errors import MismatchError
from tau.hashline.format import TAG_MARK, format_header, format_row
from tau.hashline.lines import NumberedLines

CONTEXT_LINES = 2
MAX_ROWS = 60
MAX_ROW_CHARS = 300
GAP = "…"


def clip(text: str, limit: int = MAX_ROW_CHARS) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def context_rows(lines: NumberedLines, anchors: Iterable[int], *, limit: int = MAX_ROWS) -> Iterator[str]:
    """The lines around each anchor, anchors marked `*`, others with a blank; at most `limit` rows."""
    wanted = sorted({anchor for anchor in anchors if anchor >= 1})
    shown = previous = 0
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


def mismatch(
    *,
    path: str,
    tag: str,
    current_tag: str | None,
    recognized: bool,
    lines: NumberedLines,
    anchors: Iterable[int],
    reason: str = "",
) -> MismatchError:
    """The error, with the current tag and the lines around each anchor as they are now."""
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
    wanted = list(anchors)
    rows = "\n".join(context_rows(lines, wanted))
    beyond = [anchor for anchor in wanted if not lines.has(anchor)]
    if beyond:
        rows += f"\n[Line {min(beyond)} does not exist: the file has {lines.count} lines]"
    parts = [what, reason, "Nothing was changed.", use]
    message = " ".join(part for part in parts if part)
    header = format_header(path, current_tag)
    return MismatchError(
        f"{message}\n\n{header}\n{rows.lstrip(chr(10))}".rstrip(),
        path=path,
        tag=tag,
        current_tag=current_tag,
        recognized=recognized,
    )
