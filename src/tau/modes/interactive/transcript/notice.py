"""Lines outside the conversation: the greeting, notices, and how a turn ended."""

from collections.abc import Sequence
from typing import Literal

from tau.agent.ui import NoticeLevel
from tau.ai.wire import Usage
from tau.base.late import late
from tau.base.text import sentence
from tau.base.version import VERSION
from tau.modes.interactive.screen_protocols import Display
from tau.modes.interactive.transcript.block import (
    KEPT_CHARS,
    BlockContext,
    CachedBlock,
    cut_middle,
    indent_rows,
    indent_width,
    with_sign,
    wrap_text,
)
from tau.tui.component import CachedComponent
from tau.tui.style import Theme
from tau.tui.text.clean import clean_line
from tau.tui.text.cut import truncate
from tau.tui.text.wrap import wrap

failures = late("tau.ai.apis.error_response")

End = Literal["stopped", "failed", "retried", "cut off"]

MAX_SERVERS = 20
DOT = "●"
_COMMAND_CHARS = 400
_TOKENS: dict[NoticeLevel, str] = {"info": "muted", "warning": "warning", "error": "error"}
_ERROR_CHARS = 8_000
_ANOTHER_KEY = "Add another one with /login."
"""The screen offers a shorter way than the general advice."""
_ANOTHER_MODEL = "Choose another one with /model, then /retry."
_RETRY = "Type to continue, or /retry."


class NoticeBlock(CachedBlock):
    """`command` is what it answers, shown above."""

    def __init__(
        self, context: BlockContext, text: str, level: NoticeLevel = "info", command: str = ""
    ) -> None:
        super().__init__(context)
        self._command = clean_line(command[:_COMMAND_CHARS])
        self._text = cut_middle(text, KEPT_CHARS // 4).rstrip()
        self._level: NoticeLevel = level

    def _render_rows(self, width: int) -> list[str]:
        theme = self._theme
        if not self._command:
            return notice_rows(theme, self._text, self._level, width)
        if theme.linear:
            return [*wrap_text(f"Answer to {self._command}:", width), *wrap_text(self._text, width)]
        sign, token = theme.symbols.pointer, theme[_TOKENS[self._level]]
        command = truncate(self._command, max(width - indent_width(width), 1), theme.symbols.ellipsis)
        rows = [token(row) for row in wrap_text(self._text, width)]
        return with_sign(theme["dim"](sign), [theme["dim"](command), *rows], width)


def notice_rows(theme: Theme, text: str, level: NoticeLevel, width: int) -> list[str]:
    """A text with the sign of its level, wrapped."""
    token = theme[_TOKENS[level]]
    if theme.linear:
        word = "" if level == "info" else f"{level.capitalize()}: "
        return wrap_text(f"{word}{text}", width)
    symbols = theme.symbols
    sign = {"info": symbols.bullet, "warning": "!", "error": symbols.cross}[level]
    return with_sign(token(sign), [token(row) for row in wrap_text(text, width)], width)


class Greeting(CachedComponent):
    """Says what can be typed, in three lines."""

    def __init__(self, display: Display) -> None:
        self._display = display

    def _render_rows(self, width: int) -> list[str]:
        theme, label = self._display.theme, self._display.keys.label
        hints = (
            f"Type a message and press {label('tui.input.submit')}. @ for files, / for commands, "
            "! for the shell.",
            f"{label('app.interrupt')} stops the agent. /help shows more, "
            f"{label('app.help.hotkeys')} all keys.",
        )
        title = theme["accent"](theme["strong"](f"tau {VERSION}"))
        return wrap("\n".join((title, *(theme["muted"](hint) for hint in hints))), width)


class ServerLine(CachedComponent):
    """The language servers of the first session, below the greeting: name and state."""

    def __init__(self, display: Display, servers: Sequence[tuple[str, str]]) -> None:
        self._display = display
        self._servers = servers[:MAX_SERVERS]

    def _render_rows(self, width: int) -> list[str]:
        theme = self._display.theme
        names = [clean_line(name) for name, _ in self._servers]
        if theme.linear:
            return wrap(f"Language servers: {', '.join(names)}", width)
        dots = {"running": theme["success"](DOT), "failed": theme["error"](DOT)}
        usual = theme["dim"](DOT)
        states = zip(names, self._servers, strict=True)
        row = "  ".join(f"{dots.get(state, usual)} {theme['muted'](name)}" for name, (_, state) in states)
        return wrap(row, width)


class TurnEndBlock(CachedBlock):
    """A failure stays open until it is known whether it will be retried."""

    def __init__(self, context: BlockContext, end: End, reason: str = "", *, is_open: bool = False) -> None:
        super().__init__(context)
        self._end = end
        self._is_open = is_open
        self._tries = 0
        self.reason = cut_middle(reason, _ERROR_CHARS)

    def mark_retried(self) -> None:
        """It is being retried; stay open until the outcome is known."""
        self._end = "retried"
        self._tries += 1
        self._rows = None

    @property
    def is_retried(self) -> bool:
        return self._end == "retried"

    def again(self, reason: str) -> bool:
        """The next attempt failed too; whether it failed the same way and is counted here."""
        if not self._is_open or cut_middle(reason, _ERROR_CHARS) != self.reason:
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
                return notice_rows(theme, f"Stopped. {_RETRY}", "warning", width)
            case "retried":
                times = f" {self._tries} times" if self._tries > 1 else ""
                return notice_rows(theme, f"{reason} Retried{times}.", "warning", width)
            case "cut off":
                return notice_rows(theme, f'{reason} Type "continue" for the rest.', "warning", width)
            case "failed":
                times = f" {self._tries + 1} times" if self._tries else ""
                reason = reason.replace(failures.ANOTHER_KEY, _ANOTHER_KEY)
                lacks_model = failures.ANOTHER_MODEL in reason
                reason = reason.replace(failures.ANOTHER_MODEL, "").rstrip()
                rows = notice_rows(theme, f"Failed{times}: {reason or 'no response.'}", "error", width)
                if self._is_open:
                    return rows
                then = _ANOTHER_MODEL if lacks_model else _RETRY
                hint = [theme["muted"](row) for row in wrap_text(then, width)]
                return [*rows, *indent_rows(hint, width)]


class UsageLine(CachedBlock):
    """The token usage of an answer."""

    def __init__(self, context: BlockContext, usage: Usage) -> None:
        super().__init__(context)
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
        return [self._theme["dim"](row) for row in indent_rows(wrap_text(", ".join(parts), width), width)]
