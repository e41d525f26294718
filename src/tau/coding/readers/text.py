"""Format text for the model: numbered lines under a tag, ranges, or a summary."""

import asyncio
from collections.abc import Iterator, Sequence

from msgspec import UNSET, Struct

from tau.base.late import late
from tau.base.run import Runner
from tau.coding.files.paths import LineRange, Selector
from tau.coding.output import OutputLimits, Truncation, notice, take, with_notice
from tau.config.tool_settings import SummarizeSettings

hashline_format = late("tau.hashline.format")
syntax = late("tau.backends.syntax.summary")
syntax_worker = late("tau.backends.syntax.worker")

LINES_BEFORE, LINES_AFTER = 1, 3  # context around the requested lines
GAP = "[…]"
MAX_EXAMPLES = 2
QUICK_CHARS = 256 * 1024  # longer texts are prepared on a thread
BLOCK_CHARS = 64 * 1024


class TextPage(Struct, frozen=True, kw_only=True):
    """The shown part of a text. `ranges` are its lines; `elided` the spans that a summary omits.

    `display` is the text without line numbers, if the lines are contiguous.
    """

    text: str
    total_lines: int
    ranges: list[tuple[int, int]] = []
    truncation: Truncation | None = None
    elided: list[tuple[int, int]] | None = None
    display: str | None = None


class PageOptions(Struct, frozen=True, kw_only=True):
    """Display options. `name` appears in the header and in hints; without a `tag` there is no header."""

    name: str
    selector: Selector
    first_lines: int
    tag: str | None = None
    remark: str = ""
    summary: SummarizeSettings | None = None  # summarizes a long file


async def page(text: str, shape: PageOptions, run: Runner) -> TextPage:
    """Return the requested part of the text, with notices about the rest, without blocking the event loop."""
    selector = shape.selector
    if shape.summary is not None and not selector.ranges and not selector.raw:
        summary = await _summarize(text, shape, shape.summary, run)
        if summary is not None:
            return summary
    return _page(text, shape) if len(text) <= QUICK_CHARS else await asyncio.to_thread(_page, text, shape)


def _page(text: str, shape: PageOptions) -> TextPage:
    separator = "\r" if "\n" not in text and "\r" in text else "\n"
    total = text.count(separator) + (not text.endswith(separator) if text else 0)
    if total == 0:
        return TextPage(text=_add_header("[The file is empty]", shape), total_lines=0)
    selector = shape.selector
    if selector.ranges and selector.ranges[0].first > total:
        beyond = f"[Nothing there: {shape.name} has {total} lines, the last of them is :{total}]"
        return TextPage(text=beyond, total_lines=total)
    wanted = with_context(selector.ranges, total) or [LineRange(1, min(shape.first_lines, total))]
    taken = take(_rows(text, separator, wanted, selector.raw), OutputLimits())
    ranges = _covered_lines(wanted, len(taken.lines))
    last = ranges[-1][1]
    truncation = None
    if taken.cut or ranges != [(1, total)]:
        truncation = Truncation(
            kept="head",
            ranges=ranges,
            total_lines=total,
            total_bytes=sum(
                len(text[at : at + BLOCK_CHARS].encode(errors="replace"))
                for at in range(0, len(text), BLOCK_CHARS)
            ),
            shown_bytes=sum(len(line.encode(errors="replace")) + 1 for line in taken.lines),
            cut_lines=taken.cut,
            next_offset=last + 1 if last < total else UNSET,
        )
    more = f"continue with {shape.name}:{last + 1}-" if last < total else ""
    notes = "\n".join(part for part in (notice(truncation, more=more), shape.remark) if part)
    shown = _add_header(with_notice("\n".join(taken.lines), notes), shape)
    return TextPage(
        text=shown,
        total_lines=total,
        ranges=ranges,
        truncation=truncation,
        display=without_numbers(taken.lines, raw=selector.raw) if len(ranges) == 1 else None,
    )


def without_numbers(rows: Sequence[str], *, raw: bool) -> str:
    return "\n".join(rows if raw else (row.partition(":")[2] for row in rows))


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


def _add_header(text: str, shape: PageOptions) -> str:
    if shape.tag is None or shape.selector.raw:
        return text
    return f"{hashline_format.format_header(shape.name, shape.tag)}\n{text}"


async def _summarize(
    text: str, shape: PageOptions, wanted: SummarizeSettings, run: Runner
) -> TextPage | None:
    """Summarize a long code file as its declarations, with a hint on how to see the rest."""
    options = syntax.SummaryOptions(
        min_body_lines=wanted.min_body_lines,
        min_comment_lines=wanted.min_comment_lines,
        min_total_lines=wanted.min_total_lines,
        unfold_until=wanted.unfold_until,
        unfold_limit=wanted.unfold_limit,
        prose=wanted.prose,
    )
    summary = await syntax_worker.summarize_in_worker(shape.name, text, options, run)
    if summary is None:
        return None
    body = syntax.render(summary, text)
    limits = OutputLimits()
    if len(body.encode(errors="replace")) > limits.bytes or body.count("\n") >= limits.lines:
        return None
    spans: list[tuple[int, int]] = summary.elided_spans
    examples = ",".join(f"{first}-{last}" for first, last in spans[:MAX_EXAMPLES])
    footer = f"[{summary.elided_lines} lines elided; read what you need, e.g. {shape.name}:{examples}]"
    notes = "\n".join(part for part in (footer, shape.remark) if part)
    return TextPage(
        text=_add_header(with_notice(body, notes), shape), total_lines=summary.lines_total, elided=spans
    )


def _rows(text: str, separator: str, wanted: list[LineRange], raw: bool) -> Iterator[str]:
    """Yield the wanted lines. Splitting the whole text would stop all other threads meanwhile."""
    start = done = 0
    for index, span in enumerate(wanted):
        if index:
            yield GAP
        start = _skip_lines(text, separator, start, span.first - done - 1)
        for number in range(span.first, (span.last or span.first) + 1):
            end = text.find(separator, start)
            line = (text[start:] if end < 0 else text[start:end]).removesuffix("\r")
            start = end + 1
            yield line if raw else f"{number}:{line}"
        done = span.last or span.first


def _skip_lines(text: str, separator: str, start: int, count: int) -> int:
    """Return the start of the line after `count` more lines."""
    while (found := text.count(separator, start, start + BLOCK_CHARS)) < count:
        count -= found
        start += BLOCK_CHARS
    for _ in range(count):
        start = text.index(separator, start) + 1
    return start


def _covered_lines(wanted: list[LineRange], count: int) -> list[tuple[int, int]]:
    """Return the lines covered by `count` output rows; gaps between ranges are rows too."""
    covered: list[tuple[int, int]] = []
    for span in wanted:
        if count <= 0:
            break
        last = min(span.last or span.first, span.first + count - 1)
        covered.append((span.first, last))
        count -= last - span.first + 2
    return covered
