"""Notices, errors and hints outside the conversation."""

from collections.abc import Sequence

from tau.agent.ui import NoticeLevel
from tau.base.late import late
from tau.modes.interactive.event_controller import EventController
from tau.modes.interactive.screen_protocols import Display
from tau.modes.interactive.transcript.notice import notice_rows
from tau.tui.component import CachedComponent, LiveComponent

toasts = late("tau.tui.widgets.toast")

MAX_HINTS = 2
MAX_ERROR_ROWS = 8
_MAX_ERROR_CHARS = 4000


class ScreenNotices:
    """Implements `Notices`: lines in the transcript, errors in a banner, hints as toasts."""

    def __init__(self, display: Display, transcript: EventController) -> None:
        self._display = display
        self._transcript = transcript
        self._banner = Banner(display)
        self._hints: toasts.ToastStack | None = None

    def say(self, text: str, level: NoticeLevel = "info") -> None:
        self._transcript.notice(text, level)

    def show_error(self, text: str) -> None:
        """Skip what the transcript has just shown."""
        if text != self._transcript.reported_failure:
            self._banner.show(text)

    def clear_error(self) -> None:
        self._banner.hide()

    def hint(self, text: str, level: NoticeLevel = "info", seconds: float | None = None) -> None:
        """A line below the editor, or above a dialog, that disappears after a while."""
        if self._hints is None:
            self._hints = toasts.ToastStack(
                self._display.theme,
                timer=self._display.timer,
                request_render=lambda component: self._display.request_render(),
                max_shown=MAX_HINTS,
            )
            self._display.layout.hints.add(_HintsPlace(self._display, self._hints, in_dialog=True))
            self._display.screen.root.add(_HintsPlace(self._display, self._hints, in_dialog=False))
        for toast in self._hints.toasts:  # the latest hint wins; errors stay for their full time
            if toast.level == "info":
                self._hints.dismiss(toast)
        self._hints.show(text, level, seconds)

    def clear_hints(self) -> None:
        if self._hints is not None:
            self._hints.clear()


class _HintsPlace(LiveComponent):
    """One of two places of the hints: below the editor, or above a dialog."""

    def __init__(self, display: Display, hints: "toasts.ToastStack", *, in_dialog: bool) -> None:
        self._display = display
        self._hints = hints
        self._in_dialog = in_dialog

    def render(self, width: int) -> Sequence[str]:
        is_dialog = self._display.editor not in self._display.layout.slot.children
        return self._hints.render(width) if is_dialog == self._in_dialog else ()

    def invalidate(self) -> None:
        self._hints.invalidate()


class Banner(CachedComponent, LiveComponent):
    """An error above the editor, one at a time."""

    def __init__(self, display: Display) -> None:
        self._display = display
        self._text = ""

    def show(self, text: str) -> None:
        if not text.strip():
            return
        self._text, self._rows = text.strip()[:_MAX_ERROR_CHARS], None
        box = self._display.layout.banner
        if not box.children:
            box.add(self)
        self._display.request_render()

    def hide(self) -> None:
        if self._display.layout.banner.children:
            self._display.layout.banner.clear()
            self._display.request_render()

    def _render_rows(self, width: int) -> list[str]:
        theme = self._display.theme
        rows = notice_rows(theme, self._text, "error", width)
        if len(rows) > MAX_ERROR_ROWS:
            rows = [*rows[: MAX_ERROR_ROWS - 1], theme.symbols.ellipsis[:width]]
        return rows if theme.linear else ["", *rows]
