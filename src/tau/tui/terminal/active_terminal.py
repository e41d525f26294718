"""A terminal between start and stop: in raw mode, read from, and restored on every exit path."""

import atexit
import contextlib
import os
import select
import signal
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import FrameType
from typing import Any

from tau.tui.input.decoder import ESCAPE_MS, InputDecoder
from tau.tui.input.key import InputEvent, Key, Paste
from tau.tui.terminal import sequences
from tau.tui.terminal.capabilities import is_over_ssh, read_switches
from tau.tui.terminal.deferred_loop import DeferredLoop
from tau.tui.terminal.output import TerminalLoop, TerminalOutput
from tau.tui.terminal.port import Watcher
from tau.tui.terminal.probes import Probes
from tau.tui.terminal.replies import CursorReport, DeviceAttributes, FocusReport, SizeReport, TerminalReply

Attributes = list[Any]

_IFLAG, _OFLAG, _CFLAG, _LFLAG, _CC = 0, 1, 2, 3, 6
_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
_SHORT_S = 0.05
_LONGEST_S = 0.5
_UNKNOWN_S = 0.1
_SSH_ESCAPE_MS = 75
_READ_BYTES = 64 * 1024
_STOP_STILL_S = 0.5
_STOP_TOTAL_S = 3.0
_MODES_ON = sequences.PASTE_ON + sequences.FOCUS_ON
_MODES_OFF = sequences.FOCUS_OFF + sequences.PASTE_OFF
_LOOK_OFF = sequences.LINK_END + sequences.STYLES_RESET + sequences.AUTOWRAP_ON + sequences.CURSOR_SHOW

_Size = tuple[int, int]


def enter_raw(fd: int) -> Attributes | None:
    """Switch to raw mode; returns the previous settings, or None if this is not a tty.

    Earlier input stays readable. Output settings do not change. Ctrl+C and Ctrl+Z arrive as keys.
    """
    try:
        before = termios.tcgetattr(fd)
        raw = termios.tcgetattr(fd)
        raw[_IFLAG] &= ~(
            termios.BRKINT
            | termios.ICRNL
            | termios.INLCR
            | termios.IGNCR
            | termios.INPCK
            | termios.ISTRIP
            | termios.IXON
        )
        raw[_CFLAG] = (raw[_CFLAG] & ~(termios.CSIZE | termios.PARENB)) | termios.CS8
        raw[_LFLAG] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
        raw[_CC] = list(raw[_CC])
        raw[_CC][termios.VMIN] = 1
        raw[_CC][termios.VTIME] = 0
        with _from_background():
            termios.tcsetattr(fd, termios.TCSANOW, raw)
    except termios.error:
        return None
    return before


def leave_raw(fd: int, before: Attributes) -> None:
    """Restore the settings and drop unread input such as late answers and key releases.

    Do not wait for output: a terminal that does not read must not block us. A background process leaves the
    settings to the shell.
    """
    if not _in_foreground(fd):
        return
    with contextlib.suppress(termios.error), _from_background():
        termios.tcflush(fd, termios.TCIFLUSH)
        termios.tcsetattr(fd, termios.TCSANOW, before)


def erase_character(attributes: Attributes | None) -> str:
    """Return what Backspace sends, according to the tty."""
    if attributes is None:
        return "\x7f"
    erase = attributes[_CC][termios.VERASE]
    return "\x08" if erase == b"\x08" else "\x7f"


def _in_foreground(fd: int) -> bool:
    try:
        return os.tcgetpgrp(fd) == os.getpgrp()
    except OSError:
        return True  # not our controlling terminal: no foreground group


@contextlib.contextmanager
def _from_background() -> Iterator[None]:
    """Ignore SIGTTOU: changing a tty from the background would stop the process."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class SignalRestore:
    """Calls `restore` before a signal ends the process; existing handlers still run."""

    def __init__(self, restore: Callable[[], None]) -> None:
        self._restore = restore
        self._before: dict[int, Any] = {}

    def watch(self) -> None:
        """Install the handlers. Does nothing outside the main thread, where signals cannot be handled."""
        for number in _SIGNALS:
            before = signal.getsignal(number)
            if before is None or before == signal.SIG_IGN:
                continue
            try:
                signal.signal(number, self._on_signal)
            except ValueError:
                return
            self._before[number] = before

    def unwatch(self) -> None:
        """Restore the previous handlers, unless they were replaced meanwhile."""
        before, self._before = self._before, {}
        for number, previous in before.items():
            try:
                if signal.getsignal(number) == self._on_signal:
                    signal.signal(number, previous)
            except ValueError:
                return

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        previous = self._before.get(number, signal.SIG_DFL)
        if callable(previous):
            # It may end the process later, stopping the terminal itself; or it raises.
            try:
                previous(number, frame)
            except BaseException:
                self._restore()
                raise
            return
        self._restore()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


def drain(fd: int, probes: Probes) -> None:
    """Read until the answer to a final query arrives; everything sent before it has been read by then.

    Wait only for a terminal that has answered before, for a multiple of its answer time. One whose first
    answers are still due gets a moment; one that never answers gets none.
    """
    if probes.round_trip_s is not None:
        expected, limit_s = probes.unanswered + 1, min(max(3 * probes.round_trip_s, _SHORT_S), _LONGEST_S)
    elif probes.waiting:
        expected, limit_s = probes.unanswered, _UNKNOWN_S
    else:
        return
    answers = 0

    def count(events: list[InputEvent | TerminalReply]) -> None:
        nonlocal answers
        answers += sum(isinstance(event, DeviceAttributes) for event in events)

    decoder = InputDecoder(count, DeferredLoop())
    deadline = time.monotonic() + limit_s
    while answers < expected:
        left_s = deadline - time.monotonic()
        if left_s <= 0 or not select.select([fd], [], [], left_s)[0]:
            return
        try:
            data = os.read(fd, 65536)
        except OSError:
            return
        if not data:
            return
        decoder.feed(data)


class ActiveTerminal:
    """Begun once and ended once. It touches nothing before `begin`."""

    def __init__(
        self,
        fd: int,
        output: TerminalOutput,
        loop: TerminalLoop,
        watcher: Watcher,
        env: Mapping[str, str],
        platform: str,
        resized: Callable[[_Size | None], None],
    ) -> None:
        self.watcher = watcher
        self.title_off = ""
        """The sequence that restores the window title, once changed."""
        self.probes = Probes(self._write, loop, watcher, env, platform)
        self._alternate_off = ""
        """The sequences that leave the alternate screen, while it is shown."""
        self._fd = fd
        self._output = output
        self._loop = loop
        self._resized = resized
        self._before: Attributes | None = None
        self._pid = os.getpid()
        self._signal_restore = SignalRestore(self._restore_for_exit)
        chosen_ms = read_switches(env).escape_ms
        patience_ms = _SSH_ESCAPE_MS if is_over_ssh(env) else ESCAPE_MS
        self._decoder = InputDecoder(
            self._on_events, loop, escape_ms=patience_ms if chosen_ms is None else chosen_ms
        )
        self._signals: dict[int, object] = {}
        self._listening = False
        self._lost = False
        self._ended = False
        self._has_read = False

    def begin(self) -> None:
        atexit.register(self._restore_for_exit)
        self._signal_restore.watch()
        self._before = enter_raw(self._fd)
        self._decoder.backspace = erase_character(self._before)
        self._watch_signals()
        try:
            self._loop.add_reader(self._fd, self._readable)
        except OSError:  # a file, not a terminal: no input
            self.on_lost()
            return
        self._listening = True
        if self._before is not None:
            self._write(_MODES_ON)
            self.probes.ask()

    def end(self) -> None:
        """Switch everything off, drain pending replies, and return to cooked mode."""
        self._ended = True
        self._stop_listening()
        self._decoder.close()
        off = self._switch_off_sequences(self.probes.stop())
        if self._before is not None and not self._lost:
            answers = self.probes.round_trip_s is not None
            self._write(off + (sequences.ASK_ATTRIBUTES if answers else ""))
            if self._output.flush(_STOP_STILL_S, _STOP_TOTAL_S):
                drain(self._fd, self.probes)
            else:
                self._output.write_final(off.encode())
        self._leave_raw_mode()
        self._signal_restore.unwatch()
        atexit.unregister(self._restore_for_exit)

    def use_alternate(self, on: bool) -> None:
        """Each screen has its own stack of Kitty key flags."""
        if on == bool(self._alternate_off):
            return
        has_keys = sequences.KITTY_KEYS_ON in self.probes.redo
        if on:
            self._alternate_off = (sequences.KITTY_KEYS_OFF if has_keys else "") + sequences.ALTERNATE_OFF
            self._write(sequences.ALTERNATE_ON + (sequences.KITTY_KEYS_ON if has_keys else ""))
        else:
            off, self._alternate_off = self._alternate_off, ""
            self._write(off)

    def on_lost(self) -> None:
        """Handle the loss of the terminal; notify the watcher once, from the loop."""
        if not self._lost and not self._ended:
            self._lost = True
            self._stop_listening()
            self._loop.call_soon(self.watcher.on_closed)

    def _write(self, text: str) -> None:
        self._output.write(text.encode())

    def _switch_off_sequences(self, protocols: str) -> str:
        return self._alternate_off + protocols + self.title_off + _MODES_OFF + _LOOK_OFF

    def _leave_raw_mode(self) -> None:
        before, self._before = self._before, None
        if before is not None:
            leave_raw(self._fd, before)

    def _restore_for_exit(self) -> None:
        """Restore for a process that is dying: no waiting, no event loop."""
        if self._before is None or os.getpid() != self._pid:  # a forked child must not touch the terminal
            return
        frame_end = sequences.SYNC_END if self.probes.capabilities.synchronized_output else ""
        text = frame_end + self._switch_off_sequences(self.probes.undo) + sequences.BELOW_CLEAR
        self._output.write_final(text.encode())
        self._leave_raw_mode()

    def _watch_signals(self) -> None:
        for number, react in (
            (signal.SIGWINCH, partial(self._resized, None)),
            (signal.SIGCONT, self._on_continue),
        ):
            before = signal.getsignal(number)
            try:
                self._loop.add_signal_handler(number, react)
            except (ValueError, RuntimeError, NotImplementedError):
                return  # not the main thread: rely on the terminal's own reports
            self._signals[number] = before

    def _stop_listening(self) -> None:
        if self._listening:
            self._listening = False
            self._loop.remove_reader(self._fd)
        watched, self._signals = self._signals, {}
        for number, before in watched.items():
            self._loop.remove_signal_handler(number)
            if callable(before):
                signal.signal(number, before)

    def _on_continue(self) -> None:
        """Handle SIGCONT: the shell has changed the terminal's settings meanwhile."""
        if self._before is not None and enter_raw(self._fd) is not None:
            self._write(_MODES_ON + self.probes.redo)
            self.watcher.on_resize()

    def _readable(self) -> None:
        try:
            data = os.read(self._fd, _READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        early = not self._has_read
        if data and early:
            # Input typed before raw mode has newlines for Enter.
            self._has_read, data = True, data.replace(b"\n", b"\r")
        if data:
            self._decoder.patient = self.probes.waiting
            self._decoder.feed(data, early=early)
        else:
            self._decoder.flush()
            self.on_lost()

    def _on_events(self, events: list[InputEvent | TerminalReply]) -> None:
        keys: list[InputEvent] = []
        for event in events:
            if isinstance(event, Key | Paste):
                keys.append(event)
            elif not self._ended:
                self._on_reply(event)
        if keys and not self._ended:
            self.watcher.on_input(keys)

    def _on_reply(self, reply: TerminalReply) -> None:
        if isinstance(reply, FocusReport):
            self.watcher.on_focus(reply.focused)
        elif isinstance(reply, CursorReport):
            self.watcher.on_cursor(reply.row - 1, reply.column - 1)
        elif isinstance(reply, SizeReport):
            if reply.height_px >= reply.rows and reply.width_px >= reply.columns:
                self.probes.cell(reply.width_px // reply.columns, reply.height_px // reply.rows)
            self._resized((reply.columns, reply.rows))
        else:
            self.probes.handle(reply)
