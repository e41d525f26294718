"""Gives the editor what it cannot be given when it is made, before there are settings and a history."""

from tau.tui.widgets.autocomplete import Completions
from tau.tui.widgets.editor.editor import Editor
from tau.tui.widgets.editor.history import History


def equip(editor: Editor, *, history: History, completions: Completions, popup_rows: int) -> None:
    """From now on it has a history, completions, and a list of them of this height."""
    editor.completing.completions = completions
    editor._model.recall.history = history
    editor._actions.popup_rows = popup_rows
    editor._look = editor._look._replace(popup_height=popup_rows)
