"""Probes the terminal's capabilities asynchronously and switches on what it supports."""

from collections.abc import Callable, Mapping
from typing import Literal

from tau.tui.terminal import sequences
from tau.tui.terminal.capabilities import (
    NotifyProtocol,
    choose_notify_protocol,
    detect,
    detect_multiplexer,
    guess_background,
    identify_terminal,
    read_switches,
)
from tau.tui.terminal.port import Watcher
from tau.tui.terminal.replies import (
    CellSize,
    ColorReport,
    DeviceAttributes,
    KeyboardFlags,
    ModeReport,
    NotificationSupport,
    SchemeReport,
    TerminalModel,
    TerminalReply,
    TerminalVersion,
)
from tau.tui.timer import Handle, Timer

ProbeKind = Literal["keyboard", "background", "modes", "notifications", "cell", "version"]

KEYBOARD_MS = 150
"""After this, an unanswering terminal gets modifyOtherKeys, which it ignores if unsupported."""
EXPIRY_MS = 1000
"""After this no answers are expected; late ones are still understood."""

MODE_SYNC, MODE_RESIZE, MODE_SCHEME = 2026, 2048, 2031
_SIXEL = 4
_XTERM_JS = (0, 276, 0)
"""How xterm.js identifies itself in DA2."""
_ERASE_MARKED_ROWS = ("kitty", "ghostty")

_QUESTIONS: dict[ProbeKind, str] = {
    "keyboard": sequences.ASK_KITTY_KEYS,
    "background": sequences.ASK_BACKGROUND,
    "modes": "".join(map(sequences.ask_mode, (MODE_SYNC, MODE_RESIZE, MODE_SCHEME))),
    "notifications": sequences.ASK_NOTIFICATIONS,
    "cell": sequences.ASK_CELL_SIZE,
    "version": sequences.ASK_VERSION + sequences.ASK_MODEL,
}


def choose_probes(env: Mapping[str, str], platform: str) -> tuple[ProbeKind, ...]:
    """Return the probes that are safe to send to this terminal."""
    terminal = identify_terminal(env, platform)
    if terminal in ("dumb", "linux"):
        return ()
    match detect_multiplexer(env):
        case "screen":
            return ("keyboard",)
        case "tmux" | "zellij":
            return ("keyboard", "background", "modes", "cell")
    # Terminal.app prints the end of a mode query.
    return ("keyboard", "background") if terminal == "apple" else tuple(_QUESTIONS)


class Probes:
    """One round of queries, each followed by one that every terminal answers (DA1).

    If that answer arrives before the real one, there will be none. All DA1 answers look alike, so `_waiting`
    remembers their order and purpose.
    """

    def __init__(
        self,
        write: Callable[[str], None],
        timer: Timer,
        watcher: Watcher,
        env: Mapping[str, str],
        platform: str,
    ) -> None:
        self.capabilities = detect(env, platform)
        self.notify: NotifyProtocol = choose_notify_protocol(env, platform)
        self.round_trip_s: float | None = None
        """How long the first answer took; None before it arrives."""
        self._write = write
        self._timer = timer
        self._watcher = watcher
        self._switches = read_switches(env)
        self._hint = guess_background(env)
        self._inside_mux = bool(detect_multiplexer(env))
        self._kinds = choose_probes(env, platform)
        self._waiting: list[ProbeKind] = []
        self._answered: set[ProbeKind] = set()
        self._switched_on: dict[str, str] = {}
        self._handles: list[Handle] = []
        self._asked_at = 0.0
        self._expired = False

    @property
    def waiting(self) -> bool:
        """Whether an answer may still arrive."""
        return bool(self._waiting) and not self._expired

    @property
    def unanswered(self) -> int:
        """How many DA1 answers are outstanding."""
        return len(self._waiting)

    def ask(self) -> None:
        """Send all queries in one write, without waiting for answers."""
        if not self._kinds:
            self._no_background()
            return
        self._asked_at = self._timer.time()
        self._waiting = list(self._kinds)
        self._write("".join(_QUESTIONS[kind] + sequences.ASK_ATTRIBUTES for kind in self._kinds))
        self._handles = [
            self._timer.call_later(KEYBOARD_MS / 1000, self._use_fallback, "keyboard"),
            self._timer.call_later(EXPIRY_MS / 1000, self._expire),
        ]

    def stop(self) -> str:
        """Stop waiting; returns the sequences that restore the terminal."""
        for handle in self._handles:
            handle.cancel()
        self._handles = []
        off, self._switched_on = self.undo, {}
        return off

    @property
    def undo(self) -> str:
        """Return the sequences that switch everything off."""
        return "".join(reversed(self._switched_on.values()))

    @property
    def redo(self) -> str:
        """Return the sequences that switch everything on again."""
        return "".join(self._switched_on)

    def handle(self, reply: TerminalReply) -> None:
        """Handle an answer or an unsolicited report."""
        match reply:
            case DeviceAttributes(features):
                self._sentinel(features)
            case KeyboardFlags():
                self._answered.add("keyboard")
                self._switch(sequences.OTHER_KEYS_ON, None)
                self._switch(sequences.KITTY_KEYS_ON, sequences.KITTY_KEYS_OFF)
            case ModeReport():
                self._mode(reply)
            case ColorReport(what="background"):
                self._answered.add("background")
                self._watcher.on_background(reply.shade)
            case SchemeReport(background):
                self._watcher.on_background(background)
            case NotificationSupport():
                self._answered.add("notifications")
                if self.notify != "off":
                    self.notify = "osc99"
            case TerminalVersion(text):
                self._change(reflows=self.capabilities.reflows and not text.startswith("XTerm("))
                if text.startswith("xterm.js"):
                    self._change(cursor_follows_text=False)
                erases = text.startswith(_ERASE_MARKED_ROWS)
                self._change(erases_marked_rows=erases or self.capabilities.erases_marked_rows)
            case TerminalModel(numbers) if numbers == _XTERM_JS:
                self._change(cursor_follows_text=False)
            case CellSize(height_px, width_px):
                self.cell(width_px, height_px)

    def cell(self, width_px: int, height_px: int) -> None:
        """Record the reported cell size."""
        self._answered.add("cell")
        self._change(cell_pixels=(width_px, height_px))

    def _sentinel(self, features: tuple[int, ...]) -> None:
        if self.round_trip_s is None:
            self.round_trip_s = self._timer.time() - self._asked_at
            self._change(reports_cursor=True, round_trip_s=self.round_trip_s)
        may_show = self.capabilities.images == "none" and not self._switches.images_forced
        if _SIXEL in features[1:] and may_show and not self._inside_mux:
            self._change(images="sixel")
        if not self._waiting:
            return
        kind = self._waiting.pop(0)
        self._use_fallback(kind)
        if not self._waiting:
            for handle in self._handles:
                handle.cancel()

    def _use_fallback(self, kind: ProbeKind) -> None:
        """Do without an answer, unless it has arrived."""
        if kind in self._answered:
            return
        if kind == "keyboard":
            self._switch(sequences.OTHER_KEYS_ON, sequences.OTHER_KEYS_OFF)
        elif kind == "background":
            self._no_background()

    def _no_background(self) -> None:
        if self._hint is not None:
            self._answered.add("background")
            self._watcher.on_background(self._hint)

    def _expire(self) -> None:
        self._expired = True
        for kind in self._waiting:
            self._use_fallback(kind)

    def _mode(self, report: ModeReport) -> None:
        if report.mode == MODE_SYNC and self._switches.synchronized_output is None:
            self._change(synchronized_output=report.known)
        elif report.mode == MODE_RESIZE and report.known:
            self._switch(sequences.RESIZE_REPORTS_ON, sequences.RESIZE_REPORTS_OFF)
        elif report.mode == MODE_SCHEME and report.known:
            self._switch(sequences.SCHEME_REPORTS_ON, sequences.SCHEME_REPORTS_OFF)

    def _switch(self, on: str, off: str | None) -> None:
        """Switch a protocol on, once; without `off`, switch it off."""
        if off is None:
            undo = self._switched_on.pop(on, None)
            if undo is not None:
                self._write(undo)
        elif on not in self._switched_on:
            self._switched_on[on] = off
            self._write(on)

    def _change(self, **fields: object) -> None:
        changed = self.capabilities._replace(**fields)  # type: ignore[arg-type]
        if changed != self.capabilities:
            self.capabilities = changed
            self._watcher.on_capabilities()
