"""A terminal between start and stop: in raw mode, read from, and restored on every exit path."""

import atexit
import os
import signal
from collections.abc import Callable, Mapping

from tau.tui.input.decoder import ESCAPE_MS, InputDecoder
from tau.tui.input.key import InputEvent, Key, Paste
from tau.tui.terminal import sequences
from tau.tui.terminal.capabilities import is_over_ssh, read_switches
from tau.tui.terminal.drain import drain
from tau.tui.terminal.output import TerminalLoop, TerminalOutput
from tau.tui.terminal.port import Watcher
from tau.tui.terminal.probes import Probes
from tau.tui.terminal.raw import Attributes, enter_raw, erase_character, leave_raw
from tau.tui.terminal.replies import FocusReport, SizeReport, TerminalReply
from tau.tui.terminal.signal_restore import SignalRestore

_SSH_ESCAPE_MS = 75
_READ_BYTES = 64 * 1024
_STOP_STILL_S = 0.5
_STOP_TOTAL_S = 3.0
_MODES_ON = sequences.PASTE_ON + sequences.FOCUS_ON
_MODES_OFF = sequences.FOCUS_OFF + sequences.PASTE_OFF
_LOOK_OFF = sequences.LINK_END + sequences.STYLES_RESET + sequences.AUTOWRAP_ON + sequences.CURSOR_SHOW

_Size = tuple[int, int]


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
        self._fd = fd
        self._output = output
        self._loop = loop
        self._resized = resized
        self._before: Attributes | None = None
        self._pid = os.getpid()
        self._deaths = SignalRestore(self._restore_for_exit)
        chosen_ms = read_switches(env).escape_ms
        patience_ms = _SSH_ESCAPE_MS if is_over_ssh(env) else ESCAPE_MS
        self._buffer = InputDecoder(
            self._on_events, loop, escape_ms=patience_ms if chosen_ms is None else chosen_ms
        )
        self._signals: dict[int, object] = {}
        self._listening = False
        self._lost = False
        self._ended = False
        self._has_read = False

    def begin(self) -> None:
        atexit.register(self._restore_at_exit)
        self._deaths.watch()
        self._before = enter_raw(self._fd)
        self._buffer.backspace = erase_character(self._before)
        self._watch_signals()
        try:
            self._loop.add_reader(self._fd, self._readable)
        except OSError:  # a file, not a terminal: no input
            self.lost()
            return
        self._listening = True
        if self._before is not None:
            self._write(_MODES_ON)
            self.probes.ask()

    def end(self) -> None:
        """Switch everything off, drain pending replies, and return to cooked mode."""
        self._ended = True
        self._stop_listening()
        self._buffer.close()
        off = self._off(self.probes.stop())
        if self._before is not None and not self._lost:
            answers = self.probes.round_trip_s is not None
            self._write(off + (sequences.ASK_ATTRIBUTES if answers else ""))
            if self._output.flush(_STOP_STILL_S, _STOP_TOTAL_S):
                drain(self._fd, self.probes)
            else:
                self._output.write_final(off.encode())
        self._cooked()
        self._deaths.unwatch()
        atexit.unregister(self._restore_at_exit)

    def lost(self) -> None:
        """Handle the loss of the terminal; notify the watcher once, from the loop."""
        if not self._lost and not self._ended:
            self._lost = True
            self._stop_listening()
            self._loop.call_soon(self.watcher.on_closed)

    def _write(self, text: str) -> None:
        self._output.write(text.encode())

    def _off(self, protocols: str) -> str:
        return protocols + self.title_off + _MODES_OFF + _LOOK_OFF

    def _cooked(self) -> None:
        before, self._before = self._before, None
        if before is not None:
            leave_raw(self._fd, before)

    def _restore_for_exit(self) -> None:
        """Restore for a process that is dying: no waiting, no event loop."""
        if self._before is None:
            return
        frame_end = sequences.SYNC_END if self.probes.capabilities.synchronized_output else ""
        text = frame_end + self._off(self.probes.undo) + sequences.BELOW_CLEAR
        self._output.write_final(text.encode())
        self._cooked()

    def _restore_at_exit(self) -> None:
        if os.getpid() == self._pid:
            self._restore_for_exit()

    def _watch_signals(self) -> None:
        for number, react in ((signal.SIGWINCH, self._measure), (signal.SIGCONT, self._continued)):
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

    def _measure(self) -> None:
        self._resized(None)

    def _continued(self) -> None:
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
        if data and not self._has_read:
            # Input typed before raw mode has newlines for Enter.
            self._has_read, data = True, data.replace(b"\n", b"\r")
        if data:
            self._buffer.patient = self.probes.waiting
            self._buffer.feed(data)
        else:
            self._buffer.flush()
            self.lost()

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
        elif isinstance(reply, SizeReport):
            if reply.height_px >= reply.rows and reply.width_px >= reply.columns:
                self.probes.cell(reply.width_px // reply.columns, reply.height_px // reply.rows)
            self._resized((reply.columns, reply.rows))
        else:
            self.probes.take(reply)
            self._buffer.bursts = self._buffer.bursts and not self.probes.marks_pastes
