"""Random editing compared with a simple model: a list of units, and a cursor among them."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tau.tui.component import CURSOR_MARKER
from tau.tui.input.key import Key
from tau.tui.text.width import graphemes, visible_width
from tau.tui.widgets.editor.input_sanitizer import clean_input
from tests.support.soak import examples
from tests.tui.widgets.editor.editor_rig import editor, paste, press

LETTERS = [
    "a",
    "b",
    " ",
    "\\",
    "é",
    "e\u0301",
    "\u0301",
    "日",
    "本",
    "か",
    "🙂",
    "👩‍👩‍👧",
    "🇩🇪",
    "🇫",
    "\u200b",
    "\t",
    "_",
    ".",
]
TEXTS = st.lists(
    st.sampled_from([*LETTERS, "\n", "word ", "\x1b[31m", "\x07", "\r\n", "\ud800"]), max_size=12
).map("".join)
STEPS = 40
LARGE = st.sampled_from(["x" * 1_001, "\n".join("0123456789ab"), "日\n" * 11])


class Folded:
    """A large paste in the model: one unit."""

    def __init__(self, text: str) -> None:
        self.text = text


Unit = str | Folded


def split(units: list[Unit]) -> list[Unit]:
    """The same text in units, after neighbors may have joined."""
    found: list[Unit] = []
    run = ""
    for unit in [*units, Folded("")]:
        if isinstance(unit, str) and unit not in ("\n", "\t"):
            run += unit
            continue
        found += graphemes(run)
        run = ""
        found.append(unit)
    return found[:-1]


class Model:
    def __init__(self) -> None:
        self.units: list[Unit] = []
        self.at = 0
        self.kills: list[list[Unit]] = []
        self.killed = False

    def put(self, start: int, end: int, units: list[Unit]) -> None:
        """Replace units; the cursor goes behind the new ones, and behind what they joined with."""
        left = sum(1 if isinstance(unit, Folded) else len(unit) for unit in [*self.units[:start], *units])
        self.units = split([*self.units[:start], *units, *self.units[end:]])
        size = 0
        for number, unit in enumerate([*self.units, ""]):
            if size >= left:
                self.at = number
                break
            size += 1 if isinstance(unit, Folded) else len(unit)

    def kill(self, start: int, end: int) -> None:
        cut = self.units[start:end]
        if not cut:
            return
        if not self.killed:
            self.kills.append(cut)
        elif start < self.at:
            self.kills[-1] = cut + self.kills[-1]
        else:
            self.kills[-1] = self.kills[-1] + cut
        self.put(start, end, [])
        self.killed = True

    @property
    def line_start(self) -> int:
        return next((at for at in range(self.at, 0, -1) if self.units[at - 1] == "\n"), 0)

    @property
    def line_end(self) -> int:
        return next((at for at in range(self.at, len(self.units)) if self.units[at] == "\n"), len(self.units))

    @property
    def text(self) -> str:
        return "".join(unit.text if isinstance(unit, Folded) else unit for unit in self.units)

    @property
    def offset(self) -> int:
        return sum(1 if isinstance(unit, Folded) else len(unit) for unit in self.units[: self.at])


class EditingMachine(RuleBasedStateMachine):
    @initialize(text=TEXTS)
    def begin(self, text: str) -> None:
        self.editor = editor(text)
        self.model = Model()
        self.model.put(0, 0, [clean_input(text)])
        self.width = 20

    def settle(self) -> None:
        self.model.killed = False

    @rule(letter=st.sampled_from(LETTERS))
    def types(self, letter: str) -> None:
        if letter == "\t":
            press(self.editor, "tab")
        else:
            self.editor.handle_input(Key(letter, letter))
        self.model.put(self.model.at, self.model.at, [letter])
        self.settle()

    @rule(text=TEXTS)
    def pastes(self, text: str) -> None:
        paste(self.editor, text)
        cleaned = clean_input(text)
        if cleaned:
            self.model.put(self.model.at, self.model.at, [*cleaned])
            self.settle()

    @rule(text=LARGE)
    def pastes_a_lot(self, text: str) -> None:
        paste(self.editor, text)
        self.model.put(self.model.at, self.model.at, [Folded(text)])
        self.settle()

    @rule()
    def begins_a_line(self) -> None:
        press(self.editor, "shift+enter")
        self.model.put(self.model.at, self.model.at, ["\n"])
        self.settle()

    @rule()
    def erases_backward(self) -> None:
        press(self.editor, "backspace")
        if self.model.at > 0:
            self.model.put(self.model.at - 1, self.model.at, [])
            self.settle()

    @rule()
    def erases_forward(self) -> None:
        press(self.editor, "delete")
        if self.model.at < len(self.model.units):
            self.model.put(self.model.at, self.model.at + 1, [])
            self.settle()

    @rule()
    def goes_left(self) -> None:
        press(self.editor, "left")
        self.model.at = max(self.model.at - 1, 0)
        self.settle()

    @rule()
    def goes_right(self) -> None:
        press(self.editor, "right")
        self.model.at = min(self.model.at + 1, len(self.model.units))
        self.settle()

    @rule()
    def goes_to_line_start(self) -> None:
        press(self.editor, "home")
        self.model.at = self.model.line_start
        self.settle()

    @rule()
    def goes_to_line_end(self) -> None:
        press(self.editor, "end")
        self.model.at = self.model.line_end
        self.settle()

    @rule(
        key=st.sampled_from(["up", "down", "pageUp", "alt+b", "alt+f", "ctrl+up", "ctrl+down", "ctrl+home"])
    )
    def goes_elsewhere(self, key: str) -> None:
        press(self.editor, key)
        self.model.at = self.at_of(self.editor.draft()["cursor"])
        self.settle()

    @rule()
    def kills_to_line_end(self) -> None:
        press(self.editor, "ctrl+k")
        end = self.model.line_end
        self.model.kill(self.model.at, min(end + (end == self.model.at), len(self.model.units)))

    @rule()
    def kills_to_line_start(self) -> None:
        press(self.editor, "ctrl+u")
        start = self.model.line_start
        self.model.kill(max(start - (start == self.model.at), 0), self.model.at)

    @rule()
    def yanks(self) -> None:
        press(self.editor, "ctrl+y")
        if self.model.kills:
            self.model.put(self.model.at, self.model.at, self.model.kills[-1])
            self.settle()

    @rule()
    def undoes_and_redoes(self) -> None:
        before = self.editor.draft()
        if press(self.editor, "ctrl+-") == [True] and self.editor.draft() != before:
            self.settle()
            press(self.editor, "alt+-")
            assert self.editor.draft()["parts"] == before["parts"]
            self.model.at = self.at_of(self.editor.draft()["cursor"])

    def at_of(self, offset: object) -> int:
        places = [0]
        for unit in self.model.units:
            places.append(places[-1] + (1 if isinstance(unit, Folded) else len(unit)))
        return places.index(offset)  # type: ignore[arg-type]

    @rule(text=TEXTS)
    def sets_text(self, text: str) -> None:
        self.editor.set_text(text)
        cleaned = clean_input(text)
        self.model.units = split([*cleaned])
        self.model.at = len(self.model.units)
        self.settle()

    @rule(width=st.integers(1, 30))
    def resizes(self, width: int) -> None:
        self.width = width

    @invariant()
    def text_and_cursor_are_those_of_the_model(self) -> None:
        assert self.editor.text == self.model.text
        assert self.editor.draft()["cursor"] == self.model.offset
        assert self.editor.is_empty == (not self.model.units)

    @invariant()
    def rows_fit_and_hold_the_cursor_once(self) -> None:
        rows = self.editor.render(self.width)
        assert rows is self.editor.render(self.width)
        assert all(visible_width(row) <= self.width for row in rows)
        marked = [row for row in rows if CURSOR_MARKER in row]
        assert len(marked) == 1
        left, marker, right = marked[0].partition(CURSOR_MARKER)
        assert marker and CURSOR_MARKER not in right
        assert visible_width(left) < self.width
        assert not any("\x1b" in row.replace(CURSOR_MARKER, "") for row in rows)

    def teardown(self) -> None:
        if not hasattr(self, "editor"):
            return
        last = self.editor.draft()["parts"]
        press(self.editor, *["ctrl+-"] * 3 * STEPS)
        assert self.editor.is_empty
        press(self.editor, *["alt+-"] * 3 * STEPS)
        assert self.editor.draft()["parts"] == last


TestEditing = EditingMachine.TestCase
TestEditing.settings = examples(30, stateful_step_count=STEPS)
