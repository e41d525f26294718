"""Jump to a character: one key starts the jump, the next one picks the character."""

from typing import Literal

from tau.tui.input.key import Key
from tau.tui.widgets.editor.document import EditorDocument
from tau.tui.widgets.editor.motions import jump_backward, jump_forward

Direction = Literal["", "forward", "backward"]


class Jump:
    """Whether a jump is waiting for its character, and in which direction."""

    __slots__ = ("_direction",)

    def __init__(self) -> None:
        self._direction: Direction = ""

    @property
    def is_waiting(self) -> bool:
        return self._direction != ""

    def begin(self, direction: Direction) -> bool:
        self._direction = direction
        return True

    def end(self) -> None:
        self._direction = ""

    def take(self, key: Key, document: EditorDocument) -> bool:
        """Jump to the typed character; False, without a jump, if the key types nothing."""
        jump = jump_forward if self._direction == "forward" else jump_backward
        self._direction = ""
        if not key.text:
            return False
        document.move(jump(document.buffer.lines, document.cursor, key.text))
        return True
