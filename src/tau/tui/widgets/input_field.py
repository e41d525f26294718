"""A one-line field: it scrolls sideways, can mask its text, and validates before submitting."""

from collections.abc import Callable

from tau.tui.component import CURSOR_MARKER, LiveComponent
from tau.tui.input.bindings import Keymap
from tau.tui.input.key import InputEvent, Paste
from tau.tui.style import Theme
from tau.tui.text.clean import clean_line, clean_row
from tau.tui.text.cut import cut, truncate
from tau.tui.text.width import visible_width
from tau.tui.text.wrap import wrap
from tau.tui.widgets.editor.bindings import ActionKeys
from tau.tui.widgets.editor.commands import COMMANDS, Jump
from tau.tui.widgets.editor.document import EditorDocument
from tau.tui.widgets.editor.input_sanitizer import clean_input_line
from tau.tui.widgets.editor.layout import WrapLayout
from tau.tui.widgets.editor.pastes import Pastes
from tau.tui.widgets.editor.units import measure_if_needed

MAX_CHARS = 100_000
_ENDLESS_CELLS = 10**9
_MIN_CELLS_BESIDE_PROMPT = 4
_SUBMIT, _CANCEL = "tui.input.submit", "tui.select.cancel"
_JUMP_FORWARD, _JUMP_BACKWARD = "tui.editor.jumpForward", "tui.editor.jumpBackward"
# Word boundaries of masked text must not leak: word motions go to the ends.
_MASKED = {
    "tui.editor.cursorWordLeft": "tui.editor.cursorLineStart",
    "tui.editor.cursorWordRight": "tui.editor.cursorLineEnd",
    "tui.editor.deleteWordBackward": "tui.editor.deleteToLineStart",
    "tui.editor.deleteWordForward": "tui.editor.deleteToLineEnd",
    _JUMP_FORWARD: "",
    _JUMP_BACKWARD: "",
}


class InputField(LiveComponent):
    """One line of text with an error message below.

    `on_submit` gets the text when Enter is pressed and `validate` returns no error message; the text stays
    until it is replaced. With `mask`, a dot is shown for each character.
    """

    def __init__(
        self,
        theme: Theme,
        keys: Keymap,
        text: str = "",
        *,
        prompt: str = "",
        placeholder: str = "",
        mask: bool = False,
        draw_cursor: bool = False,
        validate: Callable[[str], str | None] | None = None,
        on_submit: Callable[[str], None] | None = None,
        on_cancel: Callable[[], None] | None = None,
        on_change: Callable[[str], None] | None = None,
    ) -> None:
        self._theme = theme
        self._prompt = clean_row(prompt)
        self._placeholder = clean_line(placeholder)
        self.mask = mask
        self.draw_cursor = draw_cursor
        self.validate = validate
        self.on_submit = on_submit
        self.on_cancel = on_cancel
        self.on_change = on_change
        self._message = ""
        self._actions = ActionKeys(keys, (_SUBMIT, _CANCEL, _JUMP_FORWARD, _JUMP_BACKWARD, *COMMANDS))
        self._document = EditorDocument(clean_input_line(text)[:MAX_CHARS])
        self._layout = WrapLayout(Pastes(), _ENDLESS_CELLS)
        self._jump = Jump()
        self._scroll = 0
        self._rows: list[str] = []
        self._rows_key: tuple[object, ...] = ()

    @property
    def text(self) -> str:
        return self._document.buffer.lines[0]

    @property
    def message(self) -> str:
        """The error message; a change of the text clears it."""
        return self._message

    def set_message(self, message: str) -> None:
        self._message = clean_line(message)

    def set_text(self, text: str) -> None:
        """Replace the text and move the cursor to its end; one undo restores the old text."""
        self._apply_change(lambda: self._document.set_text(clean_input_line(text)[:MAX_CHARS]))

    def render(self, width: int) -> list[str]:
        width = max(width, 1)
        document = self._document
        place = (document, document.buffer.version, document.cursor)
        key = (width, place, self.focused, self.mask, self.draw_cursor, self._message, self._theme.linear)
        if key != self._rows_key:
            self._rows = [self._field(width)]
            if self._message:
                self._rows += wrap(self._theme["error"](self._message), width)
            self._rows_key = key
        return self._rows

    def handle_input(self, event: InputEvent) -> bool:
        if isinstance(event, Paste):
            return self._apply_change(lambda: self._insert(event.text))
        if event.kind == "release":
            return False
        if self._jump.is_waiting and self._jump.handle(event, self._document):
            return True
        action = self._actions.get(event.name)
        if self.mask:
            action = _MASKED.get(action, action)
        if action in COMMANDS:
            return self._apply_change(lambda: COMMANDS[action](self._document)) or bool(self.text)
        match action:
            case "tui.input.submit":
                return self._submit()
            case "tui.select.cancel":
                return self._cancel()
            case "tui.editor.jumpForward" | "tui.editor.jumpBackward":
                return self._jump.begin("forward" if action == _JUMP_FORWARD else "backward")
        return bool(event.text) and self._apply_change(lambda: self._insert(event.text, typed=True))

    def invalidate(self) -> None:
        self._rows_key = ()

    def _insert(self, text: str, *, typed: bool = False) -> bool:
        text = clean_input_line(text)
        room = MAX_CHARS - len(self.text)
        done = self._document.insert(text[:room], "type" if typed else "other")
        if len(text) > room:
            self._message = f"A field holds at most {MAX_CHARS:,} characters; the rest was dropped."
        return done

    def _submit(self) -> bool:
        problem = self.validate(self.text) if self.validate is not None else None
        if problem:
            self.set_message(problem)
            return True
        if self.on_submit is None:
            return False
        self.on_submit(self.text)
        return True

    def _cancel(self) -> bool:
        if self.on_cancel is None:
            return False
        self.on_cancel()
        return True

    def _apply_change(self, change: Callable[[], bool]) -> bool:
        version, self_message = self._document.buffer.version, self._message
        done = change()
        if self._document.buffer.version != version:
            if self._message is self_message:
                self._message = ""
            if self.on_change is not None:
                self.on_change(self.text)
        return done

    def _field(self, width: int) -> str:
        prompt = self._prompt
        cells = width - visible_width(prompt)
        if cells < _MIN_CELLS_BESIDE_PROMPT:
            prompt, cells = "", width
        marker = CURSOR_MARKER if self.focused else ""
        cursor = self._theme["cursor"] if self.focused and self.draw_cursor else None
        shown, at = self._shown()
        if not shown and self._placeholder:
            text = truncate(self._placeholder, cells, self._theme.symbols.ellipsis)
            style = self._theme["placeholder"]
            under = (cursor(cut(text, 0, 1)) + style(cut(text, 1, cells))) if cursor else style(text)
            return prompt + marker + under
        total = visible_width(shown)
        scroll = min(max(min(self._scroll, at), at - cells + 1), max(total - cells + 1, 0))
        self._scroll = scroll
        left, right = cut(shown, scroll, at), cut(shown, at, scroll + cells)
        if cursor:
            size = visible_width(right[:1]) or 1
            right = cursor(cut(right, 0, size) or " ") + cut(right, size, cells)
        return prompt + left + marker + right

    def _shown(self) -> tuple[str, int]:
        """Return the displayed text and the cursor's cell."""
        line, column = self.text, self._document.cursor.column
        if not self.mask:
            return self._layout.shown(line, 0, len(line)), self._layout.cell_of(line, 0, column)
        units = measure_if_needed(line)
        count = len(line) if units is None else len(units.cells)
        at = column if units is None else units.starts.index(column)
        return ("•" if not self._theme.symbols.bullet.isascii() else "*") * count, at
