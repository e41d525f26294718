"""Specimens of the editor and input fields."""

from tau.tui.component import Component
from tau.tui.input.key import Paste
from tau.tui.widgets.autocomplete import Answer, CompletionItem, Suggestions
from tau.tui.widgets.editor.editor import Editor
from tau.tui.widgets.input_field import InputField
from tests.support.memory_history import MemoryHistory
from tools.gallery.widgets.specimen import Bench, Specimen, focused, pressed

LETTER = """Dear reader,

this is a text of several lines. One of them is long enough to be wrapped at the edge of most windows, \
since it goes on and on.

\tA tab, 漢字 and a family 👩‍👩‍👧 are in it too."""


class Commands:
    """Completes words that begin with a slash."""

    ITEMS = (
        CompletionItem("/compact", "/compact ", "Shrink the session", "Session"),
        CompletionItem("/copy", "/copy ", "Copy the last answer", "Session"),
        CompletionItem("/colors", "/colors ", "Choose a theme", "Look"),
    )

    def complete(self, text: str, cursor: int) -> Answer:
        start = text.rfind(" ", 0, cursor) + 1
        word = text[start:cursor]
        found = [item for item in self.ITEMS if word and item.label.startswith(word)]
        return Suggestions(start, found) if found else None


def _editor(bench: Bench, text: str = "", *, max_rows: int = 12, placeholder: str = "") -> Editor:
    editor = Editor(
        bench.theme,
        bench.keys,
        history=MemoryHistory(["an earlier text"]),
        max_rows=max_rows,
        placeholder=placeholder,
        draw_cursor=True,
        request_render=bench.request_render,
    )
    editor.set_text(text)
    focused(editor)
    return editor


def _empty(bench: Bench) -> Component:
    return _editor(bench, placeholder="Say what you want to be done")


def _bordered(bench: Bench) -> Component:
    editor = _editor(bench, "Rename the parser")
    editor.set_border_text("main", "12k tokens")
    editor.border_token = "borderActive"
    return editor


def _pasted(bench: Bench) -> Component:
    editor = _editor(bench, "Look at this: ")
    editor.handle_input(Paste("\n".join(f"line {number} of a log" for number in range(200))))
    return editor


def _completing(bench: Bench) -> Component:
    editor = Editor(bench.theme, bench.keys, completions=Commands(), draw_cursor=True)
    return pressed(focused(editor), "/", "c", "o")


def _field(bench: Bench, text: str = "", *, mask: bool = False, placeholder: str = "") -> Component:
    return focused(
        InputField(bench.theme, bench.keys, text, prompt="Name: ", mask=mask, placeholder=placeholder)
    )


def _refused(bench: Bench) -> Component:
    field = InputField(
        bench.theme,
        bench.keys,
        "no blanks please",
        validate=lambda text: "A name has no blanks; write an underscore." if " " in text else None,
    )
    return pressed(focused(field), "enter")


SPECIMENS = [
    Specimen("editor/empty", "A placeholder waits.", _empty),
    Specimen("editor/lines", "Several lines, wrapped.", lambda b: _editor(b, LETTER)),
    Specimen("editor/scrolled", "More lines than room.", lambda b: _editor(b, LETTER * 3, max_rows=4)),
    Specimen("editor/border", "Texts in its border.", _bordered),
    Specimen("editor/paste", "A large paste is one mark.", _pasted),
    Specimen("editor/completing", "What could come next.", _completing),
    Specimen("input-field/empty", "A placeholder.", lambda b: _field(b, placeholder="how to call it")),
    Specimen("input-field/text", "A text.", lambda b: _field(b, "a text of one line")),
    Specimen("input-field/masked", "A secret.", lambda b: _field(b, "secret", mask=True)),
    Specimen("input-field/refused", "What is wrong with it.", _refused),
]
