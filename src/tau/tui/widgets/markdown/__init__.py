"""Renders Markdown as rows, also while it streams; `component.py` has the widget."""

from tau.tui.widgets.markdown.component import Markdown, preload

__all__ = ["Markdown", "preload"]
