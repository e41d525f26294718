"""Foreign text cannot control the terminal, whichever component shows it."""

from collections.abc import Callable, Sequence

import pytest

from tau.tui.component import CURSOR_MARKER, Component
from tau.tui.input.bindings import Keymap
from tau.tui.input.key import Key, Paste
from tau.tui.render.screen import Screen
from tau.tui.style import Theme
from tau.tui.widgets.autocomplete import Answer, CompletionItem, Suggestions
from tau.tui.widgets.diff import DiffView
from tau.tui.widgets.editor.editor import Editor
from tau.tui.widgets.image import Image
from tau.tui.widgets.input_field import InputField
from tau.tui.widgets.loader import CancellableLoader, Loader
from tau.tui.widgets.markdown.component import Markdown
from tau.tui.widgets.select_items import SelectItem
from tau.tui.widgets.select_list import SelectList
from tau.tui.widgets.settings_list import SettingRow, SettingsList
from tau.tui.widgets.tab_bar import Tab, TabBar
from tau.tui.widgets.text import Text
from tau.tui.widgets.toast import ToastStack
from tau.tui.widgets.transcript import Transcript
from tests.support.fake_timer import FakeTimer
from tests.support.palettes import DARK_TOKENS
from tests.support.soak import is_soaking
from tests.support.terminal.virtual import VirtualTerminal
from tests.tui.stress.bytes_rules import ByteRules
from tests.tui.stress.hostile import corpus, fuzz
from tests.tui.stress.mismatch import Mismatch
from tests.tui.stress.parts import png
from tests.tui.stress.scan import scan

THEME = Theme(DARK_TOKENS)
LINEAR = Theme(DARK_TOKENS, linear=True)
KEYS = Keymap()
TIMER = FakeTimer()
SAFE_LINKS = ("https://", "http://", "mailto:", "file://")
WIDTHS = (1, 2, 7, 40)
TEXTS = [*corpus(), *fuzz(1, 1200 if is_soaking() else 40)]


class Raw(Component):
    """A component that cleans nothing: the renderer must do it."""

    def __init__(self, text: str) -> None:
        self._rows = [text, f"\x1b[31m{text}", *text.split("\n")]

    def render(self, width: int) -> Sequence[str]:
        return self._rows


class Completions:
    """Suggests one thing."""

    def __init__(self, text: str) -> None:
        self._text = text

    def complete(self, text: str, cursor: int) -> Answer:
        return Suggestions(0, [CompletionItem(self._text, self._text, self._text, self._text)])


def ignore(component: Component) -> None:
    """Nobody draws."""


def arriving(text: str) -> Markdown:
    markdown = Markdown(THEME)
    for at in range(0, len(text), 3):
        markdown.append(text[at : at + 3])
        markdown.render(20)
    return markdown


def growing(text: str) -> Text:
    component = Text(THEME)
    for at in range(0, len(text), 3):
        component.append(text[at : at + 3])
    return component


def pasted(text: str) -> Editor:
    editor = Editor(THEME, KEYS, prompt=text, placeholder=text)
    editor.focused = True
    editor.handle_input(Paste(text))
    editor.handle_input(Key("x", text[:1]))
    editor.set_border_text(text, text)
    return editor


def completed(text: str) -> Editor:
    editor = Editor(THEME, KEYS, completions=Completions(text))
    editor.focused = True
    editor.handle_input(Key("/", "/"))
    editor.handle_input(Key("tab"))
    return editor


def filled(text: str) -> InputField:
    field = InputField(THEME, KEYS, text, prompt=text, placeholder=text, validate=lambda _: text)
    field.focused = True
    field.handle_input(Paste(text))
    field.handle_input(Key("enter"))
    return field


def detailed(text: str) -> Loader:
    loader = Loader(THEME, text, timer=TIMER, request_render=ignore)
    loader.detail = text
    return loader


def toasted(text: str) -> ToastStack:
    toasts = ToastStack(THEME, timer=TIMER, request_render=ignore)
    toasts.show(text, "error", seconds=0)
    return toasts


def filtered(text: str) -> SelectList[str]:
    items = [SelectItem(text, text, text, text, text), SelectItem("b", "b")]
    chooser = SelectList(THEME, KEYS, items, empty_text=text)
    chooser.focused = True
    chooser.handle_input(Paste(text))
    return chooser


def edited(text: str) -> SettingsList:
    settings = [
        SettingRow("a", text, text, "text", text, text),
        SettingRow("b", text, text, "choice", text, text, (text, "other"), (text, "other")),
    ]
    chooser = SettingsList(THEME, KEYS, settings)
    chooser.focused = True
    chooser.handle_input(Key("enter"))
    chooser.handle_input(Paste(text))
    return chooser


PLACES: dict[str, Callable[[str], Component]] = {
    "Text": lambda text: Text(THEME, text, "accent"),
    "Text with styles": lambda text: Text(THEME, text, styled=True),
    "Text that grows": growing,
    "Markdown": lambda text: Markdown(THEME, text, show_urls=True),
    "Markdown that arrives": arriving,
    "Markdown in code": lambda text: Markdown(THEME, f"```python\n{text}\n```"),
    "Markdown linear": lambda text: Markdown(LINEAR, text),
    "SelectList": lambda text: SelectList(THEME, KEYS, [SelectItem(text, text, text, text, text)]),
    "SelectList with a filter": filtered,
    "SettingsList": edited,
    "InputField": filled,
    "Editor": pasted,
    "Editor with completions": completed,
    "TabBar": lambda text: TabBar(THEME, KEYS, [Tab(text, text, text), Tab("b", "b")]),
    "ToastStack": toasted,
    "Loader": detailed,
    "CancellableLoader": lambda text: CancellableLoader(
        THEME, KEYS, text, timer=TIMER, request_render=ignore
    ),
    "DiffView": lambda text: DiffView(THEME, f"def f():\n    {text}\n", f"def g():\n    {text}!\n"),
    "DiffView of a patch": lambda text: DiffView(THEME, diff=f"@@ -1 +1 @@ {text}\n-{text}\n+{text}x\n"),
    "Image": lambda text: Image(THEME, png(2, 2), text, "none", alt=text),
    "Image that is none": lambda text: Image(THEME, text.encode("utf-8", "replace"), text, "kitty", alt=text),
    "Transcript": lambda text: Transcript([Text(THEME, text), Markdown(THEME, text)]),
}

SHOWS_A_PART = ("InputField", "SelectList with a filter", "SettingsList", "Image that is none")
"""Only a part of the text, or a fallback when nothing is found."""


def unsafe_parts(row: str) -> list[str]:
    """What a row contains beside text, colors, safe links and the cursor mark."""
    found = []
    for token in scan(row.replace(CURSOR_MARKER, "", 1)):
        if token.kind == "text" or (token.kind == "csi" and token.final == "m" and not token.private):
            continue
        if token.kind == "osc" and token.body.startswith("8;"):
            url = token.body.split(";", 2)[2]
            if not url or url.startswith(SAFE_LINKS):
                continue
        found.append(token.raw)
    return found


@pytest.mark.parametrize("place", PLACES)
def test_rows_hold_only_text_colors_and_safe_links(place: str) -> None:
    for text in TEXTS:
        for width in WIDTHS:
            for row in PLACES[place](text).render(width):
                assert not unsafe_parts(row), (text, width, row)


def state(terminal: VirtualTerminal) -> dict[str, object]:
    """What foreign text could try to change."""
    names = ("title", "clipboard", "notifications", "bells", "replies", "alternate", "modes")
    return {**{name: getattr(terminal, name) for name in names}, "images": dict(terminal.images.transmitted)}


@pytest.mark.parametrize("place", [*PLACES, "Raw"])
def test_output_to_the_terminal_is_harmless(place: str) -> None:
    terminal = VirtualTerminal(30, 10)
    screen = Screen(terminal, theme=THEME, timer=TIMER)
    screen.root.add(Text(THEME, "begin"))
    screen.start()
    screen.render_now()
    before = {**state(terminal), "modes": dict(terminal.modes)}
    rules = ByteRules(sync=terminal.capabilities.synchronized_output)
    build = PLACES.get(place, Raw)
    for text in TEXTS:
        terminal.writes.clear()
        component = build(text)
        screen.root.clear()
        screen.root.add(component)
        screen.focus(component)
        screen.render_now()
        try:
            rules.frame(list(terminal.writes))
        except Mismatch as mismatch:
            raise AssertionError(f"{text!r}: {mismatch}") from mismatch
        after = state(terminal)
        after["modes"] = {**terminal.modes, 25: before["modes"][25]}  # type: ignore[index]
        assert after == before, text
    screen.stop()


@pytest.mark.parametrize("place", [place for place in PLACES if place not in SHOWS_A_PART])
def test_plain_words_around_the_attacks_stay_readable(place: str) -> None:
    """Cleaning removes attacks, not the text beside them."""
    shown = "".join(PLACES[place]("before\x1b[2Jafter").render(60))
    assert "before" in shown
    assert "after" in shown


@pytest.mark.soak
@pytest.mark.parametrize("place", PLACES)
def test_rows_hold_only_text_colors_and_safe_links_in_long_fuzzing(place: str) -> None:
    for text in fuzz(2, 4000):
        for row in PLACES[place](text).render(17):
            assert not unsafe_parts(row), (text, row)
