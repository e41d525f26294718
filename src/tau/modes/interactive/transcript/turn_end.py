"""How an answer ended where it did not simply end, and what to do next; what it cost, if that is wanted."""

from typing import Literal

from tau.ai.wire import Usage
from tau.base.late import late
from tau.base.text import sentence
from tau.modes.interactive.transcript.block import CachedBlock, indented, kept, wrapped
from tau.modes.interactive.transcript.block_context import BlockContext
from tau.modes.interactive.transcript.notice import noticed

failures = late("tau.ai.apis.error_response")

End = Literal["stopped", "failed", "retried", "cut off"]

_ERROR_CHARS = 8_000
_ANOTHER_KEY = "/login gives tau another one."
"""On the screen there is a shorter way than the one that holds everywhere."""
_ANOTHER_MODEL = "/model chooses another one; /retry sends it again then."
_NEXT = {
    "stopped": "Type to go on, or /retry.",
    "failed": "Type to go on, or /retry to send it again.",
    "cut off": 'Type "go on" for the rest.',
}


class TurnEndBlock(CachedBlock):
    """One that failed is open until it is known whether the same is tried again."""

    def __init__(self, scene: BlockContext, end: End, reason: str = "", *, is_open: bool = False) -> None:
        super().__init__(scene)
        self._end = end
        self._is_open = is_open
        self._tries = 0
        self.reason = kept(reason, _ERROR_CHARS)

    def retried(self) -> None:
        """It is tried again; it stays open until that brings something else."""
        self._end = "retried"
        self._tries += 1
        self._rows = None

    @property
    def is_retried(self) -> bool:
        return self._end == "retried"

    def again(self, reason: str) -> bool:
        """The next attempt failed too; whether it did so in the same way and is told here."""
        if not self._is_open or kept(reason, _ERROR_CHARS) != self.reason:
            return False
        self._end = "failed"
        self._rows = None
        return True

    def settle(self) -> None:
        """It stays as it is."""
        if self._is_open:
            self._is_open = False
            self._rows = None

    def is_final(self) -> bool:
        return not self._is_open

    def _render_rows(self, width: int) -> list[str]:
        theme, reason = self._theme, sentence(self.reason.strip()) if self.reason.strip() else ""
        match self._end:
            case "stopped":
                return noticed(theme, f"Stopped. {_NEXT['stopped']}", "warning", width)
            case "retried":
                times = f" {self._tries} times" if self._tries > 1 else ""
                return noticed(theme, f"{reason} It was tried again{times}.", "warning", width)
            case "cut off":
                return noticed(theme, f"{reason} {_NEXT['cut off']}", "warning", width)
            case "failed":
                times = f" {self._tries + 1} times" if self._tries else ""
                reason = reason.replace(failures.ANOTHER_KEY, _ANOTHER_KEY)
                lacks_model = failures.ANOTHER_MODEL in reason
                reason = reason.replace(failures.ANOTHER_MODEL, "").rstrip()
                rows = noticed(theme, f"Failed{times}: {reason or 'no answer came.'}", "error", width)
                if self._is_open:
                    return rows
                then = _ANOTHER_MODEL if lacks_model else _NEXT["failed"]
                hint = [theme["muted"](row) for row in wrapped(then, width)]
                return [*rows, *indented(hint, width)]


class UsageLine(CachedBlock):
    """The tokens of an answer."""

    def __init__(self, scene: BlockContext, usage: Usage) -> None:
        super().__init__(scene)
        self._usage = usage

    def _render_rows(self, width: int) -> list[str]:
        usage = self._usage
        parts = [f"{usage.input:,} tokens in", f"{usage.output:,} out"]
        if usage.cache_read:
            parts.append(f"{usage.cache_read:,} from the cache")
        if usage.cache_write:
            parts.append(f"{usage.cache_write:,} into it")
        if usage.cost.total:
            parts.append(f"${usage.cost.total:.4f}")
        return [self._theme["dim"](row) for row in indented(wrapped(", ".join(parts), width), width)]
