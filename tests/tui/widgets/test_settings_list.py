"""The settings list: every kind of value, search, groups, and validated values."""

from collections.abc import Callable

import pytest

from tau.tui.component import CURSOR_MARKER, Component
from tau.tui.input.bindings import Keymap
from tau.tui.input.key import InputEvent, Key, Paste
from tau.tui.style import Theme
from tau.tui.text.sgr import strip_escapes
from tau.tui.text.width import visible_width
from tau.tui.widgets.settings_list import SettingDone, SettingRow, SettingsList, Value
from tests.support.palettes import DARK_TOKENS

KEYS = Keymap()
PLAIN = Theme({}, depth="none")


class Confirm(Component):
    """A submenu: y says "yes", anything else cancels."""

    def __init__(self, done: SettingDone) -> None:
        self._done = done

    def render(self, width: int) -> list[str]:
        return ["Sure?"[:width]]

    def handle_input(self, event: InputEvent) -> bool:
        self._done("yes" if isinstance(event, Key) and event.name == "y" else None)
        return True


def confirm(setting: SettingRow, done: SettingDone) -> Component:
    return Confirm(done)


SETTINGS = [
    SettingRow("compact", "Auto-compact", True, "toggle", "Shrinks a long session.", "Session"),
    SettingRow("theme", "Theme", "dark", "choice", "Colours.", "Look", choices=["dark", "light", "none"]),
    SettingRow("limit", "Output lines", 50, "number", "At most.", "Look", minimum=1, maximum=100, step=10),
    SettingRow("name", "Name", "", "text", "What it is called.", "Session"),
    SettingRow("reset", "Reset", "no", "submenu", "Asks first.", "Session", submenu=confirm),
]


class Stage:
    def __init__(self, *settings: SettingRow, theme: Theme = PLAIN, max_rows: int = 20) -> None:
        self.reported: list[tuple[str, Value]] = []
        self.seen: list[tuple[str, Value]] = []
        self.left = 0
        self.list = SettingsList(
            theme,
            KEYS,
            settings or SETTINGS,
            max_rows,
            on_change=lambda key, value: self.reported.append((key, value)),
            on_preview=lambda key, value: self.seen.append((key, value)),
            on_cancel=self._leave,
        )

    def _leave(self) -> None:
        self.left += 1

    def press(self, *names: str) -> None:
        for name in names:
            assert self.list.handle_input(Key(name, name if len(name) == 1 else ""))

    def shown(self, width: int = 50) -> list[str]:
        return [strip_escapes(row).rstrip() for row in self.list.render(width)]


def test_settings_are_grouped_with_their_values_and_a_description() -> None:
    assert Stage().shown() == [
        "Filter: type to search the settings",
        "Session",
        "❯ Auto-compact  on",
        "  Name          not set",
        "  Reset         no ▸",
        "Look",
        "  Theme         dark",
        "  Output lines  50",
        "",
        "  Shrinks a long session.",
        "",
    ]


def test_toggle_flips_at_once() -> None:
    stage = Stage()
    stage.press("enter")
    assert stage.list.handle_input(Key("space", " "))
    stage.press("right")
    assert stage.reported == [("compact", False), ("compact", True), ("compact", False)]
    assert stage.shown()[2] == "❯ Auto-compact  off"
    assert stage.list.value("compact") is False


def test_choices_step_or_open_with_a_preview() -> None:
    stage = Stage()
    assert stage.list.select("theme")
    stage.press("right", "left")
    assert stage.reported == [("theme", "light"), ("theme", "dark")]
    stage.press("enter")
    assert stage.shown() == ["Theme", "❯ dark ✓", "  light", "  none"]
    stage.press("down", "escape")
    assert stage.seen == [("theme", "light"), ("theme", "dark")]
    assert len(stage.reported) == 2
    stage.press("enter", "up", "enter")
    assert stage.reported[2:] == [("theme", "none")]
    assert stage.left == 0


def test_two_choices_just_swap() -> None:
    stage = Stage(SettingRow("a", "A", 1, "choice", choices=[1, 2], names=["one", "two"]))
    assert stage.shown()[1] == "❯ A  one"
    stage.press("enter")
    assert stage.reported == [("a", 2)]
    assert stage.shown()[1] == "❯ A  two"


def test_number_is_edited_in_place_and_checked() -> None:
    stage = Stage()
    stage.list.focused = True
    assert stage.list.select("limit")
    stage.press("right", "right")
    assert stage.reported == [("limit", 60), ("limit", 70)]
    stage.press("enter", "ctrl+u", "9", "9", "9", "enter")
    text = stage.shown()
    assert text[7] == "❯ Output lines  999"
    assert "maximum is 100" in " ".join(text[8:10])
    assert CURSOR_MARKER in stage.list.render(50)[7]
    assert CURSOR_MARKER not in stage.list.render(50)[0]
    stage.press("backspace", "enter")
    assert stage.reported[2:] == [("limit", 99)]
    stage.press("right")
    assert stage.reported[3:] == [("limit", 100)]
    stage.press("right")
    assert len(stage.reported) == 4


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("", "not a number"),
        ("abc", "not a number"),
        ("nan", "not a valid number"),
        ("0", "minimum"),
        ("1.5", "whole"),
    ],
)
def test_invalid_number_is_refused_with_a_sentence(typed: str, message: str) -> None:
    stage = Stage(SettingRow("n", "N", 5, "number", minimum=1))
    stage.press("enter", "ctrl+u")
    if typed:
        assert stage.list.handle_input(Paste(typed))
    stage.press("enter")
    assert message in "\n".join(stage.shown())
    stage.press("escape")
    assert stage.reported == []
    assert stage.list.value("n") == 5


def test_fractions_are_kept_where_steps_are_fractions() -> None:
    stage = Stage(SettingRow("t", "T", 0.3, "number", minimum=0, maximum=1, step=0.1))
    stage.press("right", "right")
    assert stage.reported == [("t", 0.4), ("t", 0.5)]


def test_text_is_cleaned_and_a_secret_is_hidden() -> None:
    stage = Stage(
        SettingRow("s", "Key", "sk-123", "text", secret=True), SettingRow("t", "Text", "a\x1b[2Jb", "text")
    )
    assert stage.shown()[1:] == ["❯ Key   set", "  Text  ab"]
    stage.press("enter")
    assert stage.list.handle_input(Paste("new\x1b]0;x\x07 key"))
    assert "new" not in "\n".join(stage.shown())
    stage.press("enter")
    assert stage.reported == [("s", "new key")]


def test_submenu_takes_over_until_it_is_done() -> None:
    stage = Stage()
    assert stage.list.select("reset")
    stage.press("enter")
    assert stage.shown() == ["Reset", "Sure?"]
    stage.press("n")
    assert stage.reported == []
    stage.press("enter", "y")
    assert stage.reported == [("reset", "yes")]


def test_letters_search_and_escape_cancels() -> None:
    stage = Stage()
    stage.press("o", "u", "t")
    assert stage.shown()[:3] == ["Filter: out", "Look", "❯ Output lines  50"]
    stage.press("x", "z")
    assert stage.shown() == ["Filter: outxz", "No setting matches outxz."]
    stage.press("ctrl+u", "end", "escape")
    assert stage.left == 1
    assert stage.list.selected is not None
    assert stage.list.selected.key == "limit"
    assert not stage.list.handle_input(Key("f7"))


def test_new_values_keep_the_selection() -> None:
    stage = Stage()
    assert stage.list.select("theme")
    stage.list.set_settings([s._replace(value="light") if s.key == "theme" else s for s in SETTINGS])
    assert stage.list.selected is not None
    assert stage.list.selected.key == "theme"
    stage.list.set_settings([s._replace(value="no such theme") if s.key == "theme" else s for s in SETTINGS])
    assert stage.list.value("theme") == "dark"
    assert stage.reported == []
    assert Stage().list.select("nobody") is False
    empty = SettingsList(PLAIN, KEYS)
    assert "There are no settings." in empty.render(50)


def test_unchanged_list_returns_the_same_rows() -> None:
    stage = Stage()
    rows = stage.list.render(50)
    assert stage.list.render(50) is rows
    assert stage.list.select("limit")
    stage.press("enter")
    rows = stage.list.render(50)
    assert stage.list.render(50) is rows
    stage.press("7")
    assert stage.list.render(50) is not rows


def test_screen_reader_gets_words() -> None:
    stage = Stage(theme=Theme({}, linear=True))
    assert stage.shown(80)[1:4] == [
        "Session",
        "Selected: Auto-compact: on (1 of 5). Shrinks a long session.",
        "Name: not set",
    ]
    assert stage.list.select("limit")
    stage.press("enter")
    assert stage.shown(80)[-2:] == ["Selected: Output lines, new value:", "50"]


def widest(rows: Callable[[int], object], width: int) -> int:
    return max(visible_width(row) for row in rows(width))  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [1, 2, 3, 9, 17, 80])
@pytest.mark.parametrize("linear", [False, True])
def test_rows_never_exceed_the_width(width: int, linear: bool) -> None:
    wide = SettingRow("w", "漢字 👩‍👩‍👧", "値" * 30, "text", "説明 " * 20, "組")
    stage = Stage(*SETTINGS, wide, theme=Theme(DARK_TOKENS, linear=linear), max_rows=4)
    for _ in range(len(SETTINGS) + 1):
        assert widest(stage.list.render, width) <= width
        stage.press("enter")
        assert widest(stage.list.render, width) <= width
        stage.press("escape" if stage.list.selected and stage.list.selected.key != "compact" else "enter")
        stage.press("down")
