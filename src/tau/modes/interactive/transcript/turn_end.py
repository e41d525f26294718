"""How an answer ended if not normally, what to do next, and optionally its usage."""

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
_ANOTHER_KEY = "Add another one with /login."
"""The screen offers a shorter way than the general advice."""
_ANOTHER_MODEL = "Choose another one with /model, then /retry."
_NEXT = {
    "stopped": "Type to continue, or /retry.",
    "failed": "Type to continue, or /retry.",
    "cut off": 'Type "continue" for the rest.',
}


class TurnEndBlock(CachedBlock):
    """A failure stays open until it is known whether it will be retried."""

    def __init__(self, scene: BlockContext, end: End, reason: str = "", *, is_open: bool = False) -> None:
        super().__init__(scene)
        self._end = end
        self._is_open = is_open
        self._tries = 0
        self.reason = kept(reason, _ERROR_CHARS)

    def retried(self) -> None:
        """It is being retried; stay open until the outcome is known."""
        self._end = "retried"
        self._tries += 1
        self._rows = None

    @property
    def is_retried(self) -> bool:
        return self._end == "retried"

    def again(self, reason: str) -> bool:
        """The next attempt failed too; whether it failed the same way and is counted here."""
        if not self._is_open or kept(reason, _ERROR_CHARS) != self.reason:
            return False
        self._end = "failed"
        self._rows = None
        return True

    def settle(self) -> None:
        """Make it final."""
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
                return noticed(theme, f"{reason} Retried{times}.", "warning", width)
            case "cut off":
                return noticed(theme, f"{reason} {_NEXT['cut off']}", "warning", width)
            case "failed":
                times = f" {self._tries + 1} times" if self._tries else ""
                reason = reason.replace(failures.ANOTHER_KEY, _ANOTHER_KEY)
                lacks_model = failures.ANOTHER_MODEL in reason
                reason = reason.replace(failures.ANOTHER_MODEL, "").rstrip()
                rows = noticed(theme, f"Failed{times}: {reason or 'no response.'}", "error", width)
                if self._is_open:
                    return rows
                then = _ANOTHER_MODEL if lacks_model else _NEXT["failed"]
                hint = [theme["muted"](row) for row in wrapped(then, width)]
                return [*rows, *indented(hint, width)]


class UsageLine(CachedBlock):
    """The token usage of an answer."""

    def __init__(self, scene: BlockContext, usage: Usage) -> None:
        super().__init__(scene)
        self._usage = usage

    def _render_rows(self, width: int) -> list[str]:
        usage = self._usage
        parts = [f"{usage.input:,} tokens in", f"{usage.output:,} out"]
        if usage.cache_read:
            parts.append(f"{usage.cache_read:,} from cache")
        if usage.cache_write:
            parts.append(f"{usage.cache_write:,} to cache")
        if usage.cost.total:
            parts.append(f"${usage.cost.total:.4f}")
        return [self._theme["dim"](row) for row in indented(wrapped(", ".join(parts), width), width)]
