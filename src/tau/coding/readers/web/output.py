"""Shows a fetched page: its header, the beginning or the selected lines, and where the rest is."""

from msgspec import UNSET
from msgspec.structs import replace

from tau.agent.ports import ToolContext
from tau.base.sizes import format_bytes
from tau.coding.files.paths import Selector
from tau.coding.output import ARTIFACT_CAP_BYTES, OutputLimits, Truncation, notice, truncate, with_notice
from tau.coding.readers import text as text_reader
from tau.coding.readers.web.pages import WebPage

PAGE_LIMITS = OutputLimits(lines=300)


async def show_page(page: WebPage, selector: Selector, ctx: ToolContext) -> tuple[str, Truncation | None]:
    """The text for the model."""
    name = f"{page.url}:raw" if selector.raw else page.url  # its source has other lines
    if selector.ranges:
        options = text_reader.PageOptions(name=name, selector=selector, first_lines=PAGE_LIMITS.lines)
        shown = await text_reader.page(page.text, options, ctx.helpers)
        return page.header + shown.text, shown.truncation
    cut = truncate(page.text, PAGE_LIMITS)
    truncation = cut.truncation
    more = ""
    if truncation is not None:
        last = truncation.ranges[-1][1] if truncation.ranges else 0
        total = truncation.total_lines
        if total is not UNSET and last < total:
            more = f"continue with {name}:{last + 1}-"
            truncation = replace(truncation, next_offset=last + 1)
        truncation = replace(truncation, **_keep(page, ctx))
    return page.header + with_notice(cut.text, notice(truncation, more=more)), truncation


def _keep(page: WebPage, ctx: ToolContext) -> dict[str, str]:
    data = page.text.encode("utf-8", "replace")
    try:
        sink = ctx.artifacts.create("read")
        try:
            sink.write(data[:ARTIFACT_CAP_BYTES])
        finally:
            sink.close()
    except OSError as error:
        size = format_bytes(len(data))
        return {"artifact_note": f"the full text ({size}) could not be saved ({error.strerror})"}
    return {"artifact_id": sink.id}
