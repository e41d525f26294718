"""Vim keys for the editor: insert, normal and visual mode with the most common commands."""

from collections.abc import Callable
from typing import Literal

from tau.tui.input.key import Key
from tau.tui.widgets.editor import motions
from tau.tui.widgets.editor.actions import Actions
from tau.tui.widgets.editor.document import EditorDocument, Position
from tau.tui.widgets.editor.units import next_column, previous_column
from tau.tui.widgets.editor.vim_commands import (
    Span,
    VimCommand,
    clamp,
    find_span,
    find_target,
    indent_of,
    parse,
    parse_visual,
)

VimMode = Literal["insert", "normal", "visual"]
MAX_REPEATED_KEYS = 2_000
"""A longer change cannot be repeated."""
_CHANGES = frozenset("dcxXsSDCpPoOiaIAr")


class VimKeys:
    """Handles keys before the editor does; keys that type nothing, such as arrows, keep their meaning."""

    def __init__(self, on_mode: Callable[[], None] = lambda: None) -> None:
        self.mode: VimMode = "insert"
        self._on_mode = on_mode
        self._typed = ""
        self._anchor = Position(0, 0)
        self._copied = ""
        """The last text deleted or copied as whole lines; the kill ring has it too."""
        self._change: list[Key] = []
        self._recording: list[Key] | None = None

    def claims(self, key: str) -> bool:
        """Whether this key means something else than usual now."""
        return key == "ctrl+r" and self.mode != "insert"

    def escape(self, actions: Actions) -> bool:
        """Return to normal mode or drop an unfinished command; False if there is nothing to leave."""
        if self._typed:
            self._typed = ""
            return True
        if self.mode == "normal":
            return False
        if self.mode == "insert":
            document = actions.document
            number, column = document.cursor
            document.move(Position(number, previous_column(document.line, column)))
            if self._recording is not None:
                self._change, self._recording = self._recording, None
        self._enter("normal")
        return True

    def begin(self) -> None:
        """Start a new text, in insert mode."""
        self._typed, self._recording = "", None
        self._enter("insert")

    def handle(self, key: Key, actions: Actions) -> bool:
        """Whether the key was used; otherwise the editor gets it."""
        if self.mode == "insert":
            if self._recording is not None and len(self._recording) < MAX_REPEATED_KEYS:
                self._recording.append(key)
            return False
        if key.name == "ctrl+r":
            return self._repeat(actions, "tui.editor.redo", 1)
        if key.name == "backspace":
            key = Key("h", "h")
        if not key.text or len(key.text) != 1:
            return False
        self._typed += key.text
        command = parse(self._typed) if self.mode == "normal" else parse_visual(self._typed)
        if command is not None:
            typed, self._typed = self._typed, ""
            self._run(command, typed, actions)
        return True

    def _run(self, command: VimCommand, typed: str, actions: Actions) -> None:
        document = actions.document
        if command.key == "." and not command.operator:
            for key in tuple(self._change):
                actions.handle(key)
            if self.mode == "insert":
                self.escape(actions)
            return
        starts_change = bool(command.operator and command.operator != "y") or command.key[0] in _CHANGES
        if self.mode == "visual":
            self._select(command, actions)
        else:
            if starts_change:
                self._recording = [Key(letter, letter) for letter in typed]
            if command.operator:
                self._operate(command, document, actions)
            else:
                self._act(command, document, actions)
            if starts_change and self.mode != "insert" and self._recording is not None:
                self._change, self._recording = self._recording, None
        if self.mode != "insert":
            clamp(actions.document)

    def _act(self, command: VimCommand, document: EditorDocument, actions: Actions) -> None:
        """A command without an operator."""
        times, (number, column) = command.times, document.cursor
        line = document.line
        match command.key:
            case "j" | "k" as key:
                self._repeat(actions, f"tui.editor.cursor{'Down' if key == 'j' else 'Up'}", times)
            case "i" | "a" | "I" | "A" as key:
                columns = {"i": column, "a": next_column(line, column), "I": indent_of(line), "A": len(line)}
                document.move(Position(number, columns[key]))
                self._enter("insert")
            case "o" | "O" as key:
                document.move(Position(number, len(line) if key == "o" else 0))
                document.insert("\n")
                if key == "O":
                    document.move(Position(number, 0))
                self._enter("insert")
            case "x" | "X" | "s" as key:
                motion = VimCommand(command.number, "c" if key == "s" else "d", "h" if key == "X" else "l")
                self._operate(motion, document, actions)
            case "D" | "C" | "S" | "Y" as key:
                operator, motion_key = {"D": ("d", "$"), "C": ("c", "$"), "S": ("c", "c"), "Y": ("y", "y")}[
                    key
                ]
                self._operate(VimCommand(command.number, operator, motion_key), document, actions)
            case "p" | "P" as key:
                self._put(actions, after=key == "p", times=times)
            case "u":
                self._repeat(actions, "tui.editor.undo", times)
            case "v":
                self._anchor = document.cursor
                self._enter("visual")
            case key if key[0] == "r":
                span = find_span(VimCommand(times, "c", "l"), document)
                if span is not None:
                    document.replace(span.start, span.end, key[1] * (span.end.column - span.start.column))
                    document.move(motions.left(document.buffer.lines, document.cursor))
            case _:
                document.move(find_target(command, document))

    def _operate(self, command: VimCommand, document: EditorDocument, actions: Actions) -> None:
        span = find_span(command, document)
        if span is not None:
            self._apply(command.operator, span, document, actions)

    def _apply(self, operator: str, span: Span, document: EditorDocument, actions: Actions) -> None:
        """Delete, change or copy a part of the text."""
        lines = document.buffer.lines
        (first, _), (last, _) = start, end = span.start, span.end
        if span.linewise:
            start, end = Position(first, 0), Position(last, len(lines[last]))
        text = document.buffer.between(start, end) + ("\n" if span.linewise else "")
        self._copied = text if span.linewise else ""
        actions.kills.push(text)
        if operator == "y":
            document.move(Position(first, document.cursor.column) if span.linewise else start)
            return
        if span.linewise and operator == "d":
            if last < len(lines) - 1:
                end = Position(last + 1, 0)
            elif first > 0:
                start = Position(first - 1, len(lines[first - 1]))
        document.replace(start, end, "")
        if span.linewise and operator == "d":
            number = min(first, len(document.buffer.lines) - 1)
            document.move(Position(number, indent_of(document.buffer.lines[number])))
        if operator == "c":
            self._enter("insert")

    def _select(self, command: VimCommand, actions: Actions) -> None:
        """A command in visual mode."""
        document = actions.document
        key = {"x": "d", "s": "c"}.get(command.key, command.key)
        if key in ("d", "c", "y"):
            start, end = self.selection(document)
            self._enter("normal")
            self._recording = None
            self._apply(key, Span(start, end), document, actions)
        elif key == "v":
            self._enter("normal")
        else:
            document.move(find_target(command, document))

    def selection(self, document: EditorDocument) -> tuple[Position, Position]:
        """The selected part of the text, in visual mode; empty otherwise."""
        if self.mode != "visual":
            return document.cursor, document.cursor
        start, end = sorted((self._anchor, document.cursor))
        line = document.buffer.lines[end.line]
        return start, Position(end.line, next_column(line, end.column))

    def _put(self, actions: Actions, *, after: bool, times: int) -> None:
        """Insert what was deleted or copied last."""
        document, text = actions.document, actions.kills.latest() * times
        number, column = document.cursor
        line = document.line
        if self._copied and actions.kills.latest() == self._copied:
            document.move(Position(number, len(line) if after else 0))
            document.insert(f"\n{text[:-1]}" if after else text)
            document.move(Position(number + after, indent_of(document.buffer.lines[number + after])))
        elif text:
            document.move(Position(number, next_column(line, column) if after else column))
            document.insert(text)
            document.move(motions.left(document.buffer.lines, document.cursor))

    def _repeat(self, actions: Actions, action: str, times: int) -> bool:
        for _ in range(times):
            if not actions.do(action):
                break
        return True

    def _enter(self, mode: VimMode) -> None:
        if mode != self.mode:
            self.mode = mode
            self._on_mode()
