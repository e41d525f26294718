"""How an answer ended where it did not simply end, and what to do next; what it cost, if that is wanted."""

from typing import Literal

from tau.ai.wire import Usage
from tau.base.text import sentence
from tau.modes.interactive.blocks.notice import noticed
from tau.modes.interactive.blocks.piece import Piece, indented, kept, wrapped
from tau.modes.interactive.blocks.scene import Scene

End = Literal["stopped", "failed", "retried", "cut off"]

_ERROR_CHARS = 8_000
_NEXT = {
    "stopped": "Type to go on, or /retry.",
    "failed": "Type to go on, or /retry to send it again.",
    "cut off": 'Type "go on" for the rest.',
}


class TurnEnd(Piece):
    """One that failed is open until it is known whether the same is tried again."""

    def __init__(self, scene: Scene, end: End, reason: str = "", *, is_open: bool = False) -> None:
        super().__init__(scene)
        self._end = end
        self._is_open = is_open
        self.reason = kept(reason, _ERROR_CHARS)

    def retried(self) -> None:
        """It was tried again."""
        self._end = "retried"
        self.settle()

    def settle(self) -> None:
        """It stays as it is."""
        if self._is_open:
            self._is_open = False
            self._rows = None

    def is_final(self) -> bool:
        return not self._is_open

    def _drawn(self, width: int) -> list[str]:
        theme, reason = self._theme, sentence(self.reason.strip()) if self.reason.strip() else ""
        match self._end:
            case "stopped":
                return noticed(theme, f"Stopped. {_NEXT['stopped']}", "warning", width)
            case "retried":
                return noticed(theme, f"{reason} It was tried again.", "warning", width)
            case "cut off":
                return noticed(theme, f"{reason} {_NEXT['cut off']}", "warning", width)
            case "failed":
                rows = noticed(theme, f"Failed: {reason or 'no answer came.'}", "error", width)
                if self._is_open:
                    return rows
                hint = [theme["muted"](row) for row in wrapped(_NEXT["failed"], width)]
                return [*rows, *indented(hint, width)]


class UsageLine(Piece):
    """The tokens of an answer."""

    def __init__(self, scene: Scene, usage: Usage) -> None:
        super().__init__(scene)
        self._usage = usage

    def _drawn(self, width: int) -> list[str]:
        usage = self._usage
        parts = [f"{usage.input:,} tokens in", f"{usage.output:,} out"]
        if usage.cache_read:
            parts.append(f"{usage.cache_read:,} from the cache")
        if usage.cache_write:
            parts.append(f"{usage.cache_write:,} into it")
        if usage.cost.total:
            parts.append(f"${usage.cost.total:.4f}")
        return [self._theme["dim"](row) for row in indented(wrapped(", ".join(parts), width), width)]
