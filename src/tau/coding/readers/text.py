"""Format text for the model: numbered lines under a tag, ranges, or a summary."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from tau.base.late import late
from tau.coding.files.paths import LineRange, Selector
from tau.coding.output import OutputLimits, Truncation, notice, take, with_notice
from tau.config.settings import SummarizeSettings

hashline_format = late("tau.hashline.format")
syntax = late("tau.backends.syntax.summary")

LINES_BEFORE, LINES_AFTER = 1, 3  # context around the requested lines
GAP = "[…]"
MAX_EXAMPLES = 2


class TextPage(Struct, frozen=True, kw_only=True):
    """The shown part of a text. `ranges` are its lines; `elided` the spans that a summary omits."""

    text: str
    total_lines: int
    ranges: list[tuple[int, int]] = []
    truncation: Truncation | None = None
    elided: list[tuple[int, int]] | None = None


class PageOptions(Struct, frozen=True, kw_only=True):
    """Display options. `name` appears in the header and in hints; without a `tag` there is no header."""

    name: str
    selector: Selector
    first_lines: int
    tag: str | None = None
    remark: str = ""
    summary: SummarizeSettings | None = None  # summarizes a long file


def page(text: str, shape: PageOptions) -> TextPage:
    """Return the requested part of the text, with notices about the rest."""
    separator = "\r" if "\n" not in text and "\r" in text else "\n"
    total = text.count(separator) + (not text.endswith(separator) if text else 0)
    if total == 0:
        return TextPage(text=_headed("[The file is empty]", shape), total_lines=0)
    selector = shape.selector
    if selector.ranges and selector.ranges[0].first > total:
        beyond = f"[Nothing there: {shape.name} has {total} lines, the last of them is :{total}]"
        return TextPage(text=beyond, total_lines=total)
    if shape.summary is not None and not selector.ranges and not selector.raw:
        found = _summarised(text, shape, total)
        if found is not None:
            return found
    wanted = with_context(selector.ranges, total) or [LineRange(1, min(shape.first_lines, total))]
    lines = text.split(separator, max(span.last or total for span in wanted))
    taken = take(_rows(lines, wanted, selector.raw), OutputLimits())
    ranges = _covered(wanted, len(taken.lines))
    truncation = None
    if taken.cut or ranges != [(1, total)]:
        truncation = Truncation(
            kept="head",
            ranges=ranges,
            total_lines=total,
            total_bytes=len(text.encode(errors="replace")),
            shown_bytes=sum(len(line.encode(errors="replace")) + 1 for line in taken.lines),
            cut_lines=taken.cut,
        )
    last = ranges[-1][1]
    more = f"continue with {shape.name}:{last + 1}-" if last < total else ""
    told = "\n".join(part for part in (notice(truncation, more=more), shape.remark) if part)
    shown = _headed(with_notice("\n".join(taken.lines), told), shape)
    return TextPage(text=shown, total_lines=total, ranges=ranges, truncation=truncation)


def with_context(ranges: Sequence[LineRange], total: int) -> list[LineRange]:
    """Clip the ranges to the text, add context lines, and merge neighbors."""
    result: list[LineRange] = []
    for span in ranges:
        if span.first > total:
            break
        first = max(span.first - LINES_BEFORE, 1)
        last = total if span.last is None else min(span.last + LINES_AFTER, total)
        if result and first <= (result[-1].last or total) + 1:
            first = result.pop().first
        result.append(LineRange(first, last))
    return result


def _headed(text: str, shape: PageOptions) -> str:
    if shape.tag is None or shape.selector.raw:
        return text
    return f"{hashline_format.format_header(shape.name, shape.tag)}\n{text}"


def _summarised(text: str, shape: PageOptions, total: int) -> TextPage | None:
    """Summarize a long code file as its declarations, with a hint on how to see the rest."""
    wanted = shape.summary
    assert wanted is not None
    options = syntax.SummaryOptions(
        min_body_lines=wanted.min_body_lines,
        min_comment_lines=wanted.min_comment_lines,
        min_total_lines=wanted.min_total_lines,
        unfold_until=wanted.unfold_until,
        unfold_limit=wanted.unfold_limit,
        prose=wanted.prose,
    )
    summary = syntax.summarize(shape.name, text, options)
    if summary is None:
        return None
    body = syntax.render(summary, text)
    if len(body.encode(errors="replace")) > OutputLimits().bytes:
        return None
    spans: list[tuple[int, int]] = summary.elided_spans
    examples = ",".join(f"{first}-{last}" for first, last in spans[:MAX_EXAMPLES])
    footer = f"[{summary.elided_lines} lines elided; read what you need, e.g. {shape.name}:{examples}]"
    told = "\n".join(part for part in (footer, shape.remark) if part)
    return TextPage(text=_headed(with_notice(body, told), shape), total_lines=total, elided=spans)


def _rows(lines: list[str], wanted: list[LineRange], raw: bool) -> Iterator[str]:
    for index, span in enumerate(wanted):
        if index:
            yield GAP
        for number in range(span.first, (span.last or len(lines)) + 1):
            line = lines[number - 1].removesuffix("\r")
            yield line if raw else f"{number}:{line}"


def _covered(wanted: list[LineRange], count: int) -> list[tuple[int, int]]:
    """Return the lines covered by `count` output rows; gaps between ranges are rows too."""
    covered: list[tuple[int, int]] = []
    for span in wanted:
        if count <= 0:
            break
        last = min(span.last or span.first, span.first + count - 1)
        covered.append((span.first, last))
        count -= last - span.first + 2
    return covered
