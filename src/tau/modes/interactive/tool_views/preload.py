"""Preloads what the first calls need, in a thread, while waiting for the model."""

from tau.base.late import late
from tau.modes.interactive.tool_views.registry import RENDERERS
from tau.tui.style import Theme

generic = late("tau.modes.interactive.tool_views.generic")
diff_widget = late("tau.tui.widgets.diff")
highlighting = late("tau.tui.widgets.highlight")

TOOLS = ("bash", "edit", "find", "read", "search", "write")
SAMPLES = {"bash": "ls | wc -l", "python": "import os"}
"""A language is loaded when first highlighted, which takes some hundredths of a second."""


def load() -> None:
    """Draws nothing. Call once, in a thread."""
    # Accessing a name of a late module loads it.
    _ = diff_widget.DiffView, generic.draw, [RENDERERS[name].draw for name in TOOLS]
    for language, code in SAMPLES.items():
        highlighting.highlight(code, language, Theme({}))
