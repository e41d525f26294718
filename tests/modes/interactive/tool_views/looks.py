"""Themes for tests, tool calls, and what holds for every row."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tau.ai.wire import TextContent
from tau.modes.interactive.tool_views import registry
from tau.modes.interactive.tool_views.view import CallState, RenderedCall, ToolCallView
from tau.tui.images.marks import image_rows
from tau.tui.style import Theme
from tau.tui.text.sgr import strip_escapes
from tau.tui.text.width import visible_width
from tools.gallery.widgets.printed import theme_of

CWD = Path("/home/ada/shop")
LOOKS: dict[str, Theme] = {
    "dark": theme_of("dark"),
    "light": theme_of("light"),
    "none": theme_of("none"),
    "ascii": theme_of("none", ascii_only=True),
    "linear": theme_of("none", linear=True),
}
PLAIN = LOOKS["none"]
WIDTHS = (20, 40, 80, 200)
STYLES = re.compile(r"\x1b\[[0-9;:]*m|\x1b\]8;[^\x07\x1b]*(?:\x1b\\|\x07)")
BOXES = re.compile("[\u2500-\u259f]")


def check(rows: Iterable[str], width: int, look: str) -> None:
    """Every row fits and contains only text and styles."""
    for row in rows:
        row = image_rows.without_images(row)
        assert visible_width(row) <= width, (width, row)
        text = STYLES.sub("", row)
        assert not [letter for letter in text if ord(letter) < 32 or 127 <= ord(letter) < 160], row
        assert look not in ("none", "ascii", "linear") or "\x1b" not in row, row


def view(name: str, args: Any = None, state: CallState = "done", text: str = "", **more: Any) -> ToolCallView:
    content = [TextContent(text)] if text else []
    return ToolCallView(name, {} if args is None else args, state, CWD, content, **more)


def drawn(
    name: str, args: Any = None, state: CallState = "done", text: str = "", **more: Any
) -> RenderedCall:
    return registry.draw(view(name, args, state, text, **more), PLAIN)


def title(found: RenderedCall) -> str:
    return strip_escapes(found.title)


def body(found: RenderedCall, width: int = 80) -> str:
    return "\n".join(strip_escapes(row) for part in found.body for row in part.render(width))


def whole(found: RenderedCall, width: int = 80) -> str:
    """Title, note and body."""
    return f"{title(found)}  {strip_escapes(found.note)}\n{body(found, width)}"
