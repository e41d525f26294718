"""Helpers that type, press keys and paste in an editor, and read its rows."""

from typing import Any

from hypothesis import strategies as st

from tau.tui.component import CURSOR_MARKER, Component
from tau.tui.input.bindings import Keymap
from tau.tui.input.key import Key, Paste
from tau.tui.style import Theme
from tau.tui.text.sgr import strip_escapes
from tau.tui.widgets.editor.editor import Editor

KEYS = Keymap()
PLAIN = Theme({})
ODD_TEXTS = st.text(
    st.one_of(
        st.sampled_from(
            list(
                "ab c  \n\t日本🙂é\u0301\u200d\u200b\ufe0f🇩🇪\u2028\u093f\u1100\u1161\u0600\x1b[]\x9b\r\ud800"
            )
        ),
        st.characters(),
    ),
    max_size=80,
)
"""Everything that could trip up a terminal or a grapheme splitter."""


def editor(text: str = "", theme: Theme = PLAIN, keys: Keymap = KEYS, **options: Any) -> Editor:
    made = Editor(theme, keys, **options)
    made.focused = True
    if text:
        made.set_text(text)
    return made


def typed(component: Component, text: str) -> None:
    for char in text:
        component.handle_input(Key({" ": "space"}.get(char, char), char))


def press(component: Component, *names: str) -> list[bool]:
    return [component.handle_input(Key(name)) for name in names]


def paste(component: Component, text: str) -> None:
    component.handle_input(Paste(text))


def cursor(edited: Editor) -> int:
    """The cursor as an offset in the text; a folded paste counts as one."""
    offset = edited.draft()["cursor"]
    assert isinstance(offset, int)
    return offset


def plain_rows(component: Component, width: int = 40) -> list[str]:
    """The rows as a user sees them, with `|` at the cursor."""
    return [strip_escapes(row.replace(CURSOR_MARKER, "|")) for row in component.render(width)]


def text_rows(edited: Editor, width: int = 40) -> list[str]:
    """The rows between the borders."""
    return plain_rows(edited, width)[1:-1]
