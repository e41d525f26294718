"""Short notes that disappear automatically, stacked with the newest at the bottom."""

from collections.abc import Callable, Sequence
from typing import Literal

from tau.tui.component import CachedComponent, Component, LiveComponent
from tau.tui.style import Theme
from tau.tui.text.clean import clean
from tau.tui.text.cut import truncate
from tau.tui.text.wrap import wrap
from tau.tui.timer import Handle, Timer

ToastLevel = Literal["info", "success", "warning", "error"]

MAX_ROWS_PER_TOAST = 4
MAX_TOASTS = 50
_SECONDS: dict[ToastLevel, float] = {"info": 4.0, "success": 4.0, "warning": 8.0, "error": 12.0}
_TOKENS: dict[ToastLevel, str] = {
    "info": "toastInfo",
    "success": "success",
    "warning": "toastWarning",
    "error": "toastError",
}


class Toast:
    """One note in a stack."""

    __slots__ = ("handle", "level", "text")

    def __init__(self, text: str, level: ToastLevel) -> None:
        self.text = text
        self.level: ToastLevel = level
        self.handle: Handle | None = None


class ToastStack(CachedComponent, LiveComponent):
    """A stack of notes. Without notes it has no rows and no timer."""

    def __init__(
        self, theme: Theme, *, timer: Timer, request_render: Callable[[Component], None], max_shown: int = 3
    ) -> None:
        self._theme = theme
        self._timer = timer
        self._request_render = request_render
        self._max_shown = max(max_shown, 1)
        self._toasts: list[Toast] = []

    @property
    def toasts(self) -> Sequence[Toast]:
        """The visible notes, oldest first."""
        return tuple(self._toasts)

    def show(self, text: str, level: ToastLevel = "info", seconds: float | None = None) -> Toast:
        """Show a note for some seconds, by default depending on its level; 0 keeps it until dismissed.

        Repeating a note restarts its time instead of showing it twice.
        """
        toast = Toast(clean(text).strip(), level)
        same = [old for old in self._toasts if (old.text, old.level) == (toast.text, toast.level)]
        for old in same or self._toasts[: max(len(self._toasts) + 1 - MAX_TOASTS, 0)]:
            self._remove(old)
        self._toasts.append(toast)
        delay = _SECONDS[level] if seconds is None else seconds
        if delay > 0:
            toast.handle = self._timer.call_later(delay, self.dismiss, toast)
        self._notify_change()
        return toast

    def dismiss(self, toast: Toast) -> None:
        """Remove a note, if still shown."""
        if self._remove(toast):
            self._notify_change()

    def clear(self) -> None:
        for toast in list(self._toasts):
            self._remove(toast)
        self._notify_change()

    def _remove(self, toast: Toast) -> bool:
        if toast not in self._toasts:
            return False
        self._toasts.remove(toast)
        if toast.handle is not None:
            toast.handle.cancel()
            toast.handle = None
        return True

    def _notify_change(self) -> None:
        self._rows = None
        self._request_render(self)

    def _render_rows(self, width: int) -> list[str]:
        hidden = len(self._toasts) - self._max_shown
        rows = [self._theme["dim"](row) for row in wrap(f"{hidden} more", width)] if hidden > 0 else []
        for toast in self._toasts[-self._max_shown :]:
            rows += self._toast_rows(toast, width)
        return rows

    def _toast_rows(self, toast: Toast, width: int) -> list[str]:
        theme = self._theme
        style = theme[_TOKENS[toast.level]]
        if theme.linear:
            return wrap(f"{toast.level.capitalize()}: {toast.text}", width)
        symbols = theme.symbols
        sign = {"success": symbols.check, "error": symbols.cross, "warning": "!"}.get(
            toast.level, symbols.bullet
        )
        indent = 2 if width > 4 else 0
        rows = wrap(toast.text, width - indent)
        if len(rows) > MAX_ROWS_PER_TOAST:
            rows = [*rows[: MAX_ROWS_PER_TOAST - 1], truncate(symbols.ellipsis, width - indent, "")]
        first = f"{sign} " if indent else ""
        return [style((" " * indent if number else first) + row) for number, row in enumerate(rows)]
