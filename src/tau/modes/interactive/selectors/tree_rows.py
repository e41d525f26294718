"""How an entry of the session tree looks: lines that show where it hangs, marks, its words."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from tau.coding.session.tree_rows import MAX_LEVELS, TreeRow, prefix
from tau.tui.text.cut import fit, truncate
from tau.tui.text.width import visible_width
from tau.tui.widgets.list_parts import spoken_rows

if TYPE_CHECKING:
    from tau.tui.style import Theme

COLUMNS_PER_LEVEL = 6
"""A level of branches is drawn for so many columns of the screen: the words need room too."""
_TOKENS = {"user": "accent", "assistant": "text", "toolResult": "muted", "custom": "accent"}
_NAMES = {"toolResult": "result", "bashExecution": "you ran", "pythonExecution": "you ran", "custom": "note"}
"""What stands before the words, where the name in the file is no word."""


class TreeRowStyle(NamedTuple):
    selected: bool
    folded: bool
    width: int


def in_lines(theme: "Theme", rows: Sequence[TreeRow], place: int, look: TreeRowStyle) -> list[str]:
    """Lines, a mark for a fold, a bullet on the active branch, a cross if it failed, label, words."""
    symbols, row = theme.symbols, rows[place]
    lines = prefix(rows, place, min(MAX_LEVELS, max(look.width // COLUMNS_PER_LEVEL, 1)))
    for sign, own in (("├─", symbols.tree_branch), ("└─", symbols.tree_last), ("│ ", symbols.tree_line)):
        lines = lines.replace(sign, own)
    pointer = theme["accent"](symbols.pointer) if look.selected else " " * visible_width(symbols.pointer)
    text = f"{pointer} {theme['border'](lines)}"
    text += theme["warning"](f"{symbols.folded} ") if look.folded else ""
    text += theme["accent"](f"{symbols.bullet} ") if row.active else ""
    text += theme["error"](f"{symbols.cross} ") if row.failed else ""
    text += theme["warning"](f"[{row.label}] ") if row.label else ""
    name = _NAMES.get(row.role, row.role) or row.kind
    style = theme["selected" if look.selected else _TOKENS.get(row.role, "dim")]
    text += style(f"{name}: {row.text}" if row.text else name)
    text = truncate(text, look.width, symbols.ellipsis)
    if look.selected and theme["selectedBackground"].open:
        text = theme["selectedBackground"](fit(text, look.width))
    return [text]


def in_words(theme: "Theme", rows: Sequence[TreeRow], place: int, look: TreeRowStyle) -> list[str]:
    """The same for a screen reader."""
    row = rows[place]
    notes = [f"level {row.depth + 1}", "on the way to here" if row.active else "on another branch"]
    notes += ["failed"] if row.failed else []
    notes += ["folded"] if look.folded else []
    words = f"{'Selected: ' if look.selected else ''}{row.title} ({', '.join(notes)})"
    return spoken_rows(words, look.width)
