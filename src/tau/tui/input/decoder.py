"""Decodes terminal bytes into whole keys, pastes and replies, however they are chunked."""

from collections.abc import Callable

from tau.tui.input.key import InputEvent, Key, Paste
from tau.tui.input.key_parser import parse_key
from tau.tui.input.paste_detector import PasteDetector
from tau.tui.input.scan import ESC, INCOMPLETE, sequence_end
from tau.tui.input.typed import as_paste, has_controls, is_control, typed_keys
from tau.tui.terminal.replies import TerminalReply, parse_reply
from tau.tui.timer import Handle, Timer

ESCAPE_MS = 25
"""How long a lone Escape waits for the rest of a sequence."""
PARTIAL_MS = 250
"""The same for a longer partial sequence, which nobody types by hand."""
PATIENT_MS = 1000
"""The same while a reply is due: it may come over a slow connection."""
PASTE_MS = 1000
"""How long a paste may pause before it is delivered incomplete."""
MAX_PASTE_BYTES = 32 * 1024 * 1024
"""A longer paste is delivered in pieces of this size."""

PASTE_START = b"\x1b[200~"
PASTE_END = b"\x1b[201~"
_MARKER = len(PASTE_END)


class InputDecoder:
    """Feed it bytes; it calls `on_events` with all complete events, in order.

    `escape_ms` is the timeout for a lone Escape, `backspace` what that key sends. With `bursts`, pastes are
    guessed from typing speed until the first bracketed paste. `patient` is set while replies are due.
    """

    def __init__(
        self,
        on_events: Callable[[list[InputEvent | TerminalReply]], None],
        timer: Timer,
        *,
        escape_ms: int = ESCAPE_MS,
        bursts: bool = True,
        backspace: str = "\x7f",
    ) -> None:
        self._on_events = on_events
        self._timer = timer
        self._escape_ms = escape_ms
        self.backspace = backspace
        self.bursts = bursts
        self.patient = False
        self._burst = PasteDetector()
        self._pending = b""
        self._paste: list[bytes] | None = None
        self._paste_bytes = 0
        self._paste_tail = b""
        self._deadline = 0.0
        self._partial_handle: Handle | None = None
        self._quiet_handle: Handle | None = None

    def feed(self, data: bytes) -> None:
        """Decode more bytes."""
        if not data:
            return
        events: list[InputEvent | TerminalReply] = []
        self._burst.at(self._timer.time())
        self._cancel_partial()
        if self._pending:
            data = self._pending + data
            self._pending = b""
        self._scan(data, events)
        self._arm()
        if events:
            self._on_events(events)

    def flush(self) -> None:
        """Deliver everything pending: no more bytes are expected."""
        events: list[InputEvent | TerminalReply] = []
        self._end_paste(b"", events)
        self._end_burst(events)
        self._give_up_partial(events)
        if events:
            self._on_events(events)

    def close(self) -> None:
        """Drop everything pending and cancel timers."""
        self._cancel_partial()
        if self._quiet_handle is not None:
            self._quiet_handle.cancel()
            self._quiet_handle = None
        self._pending, self._paste, self._paste_tail = b"", None, b""
        self._burst = PasteDetector()

    def _scan(self, data: bytes, events: list[InputEvent | TerminalReply]) -> None:
        at, size = 0, len(data)
        while at < size:
            if self._paste is not None:
                at = self._in_paste(data, at, events)
            elif data[at] != ESC:
                end = data.find(b"\x1b", at)
                if end < 0:
                    end = max(size - _unfinished(data), at)
                    self._pending = data[end:]
                    size = end
                self._text(data[at:end].decode("utf-8", "replace"), events)
                at = end
            elif data.startswith(PASTE_START, at):
                self._end_burst(events)
                self.bursts = False
                self._paste, self._paste_bytes, self._paste_tail = [], 0, b""
                at += _MARKER
            else:
                end = sequence_end(data, at)
                if end == INCOMPLETE:
                    self._pending = data[at:]
                    return
                self._sequence(data[at : abs(end)], events)
                at = abs(end)

    def _sequence(self, raw: bytes, events: list[InputEvent | TerminalReply]) -> None:
        """Handle a complete or aborted sequence."""
        if raw == PASTE_END:
            return  # from an abandoned paste, or hidden in one
        text = raw.decode("utf-8", "replace")
        reply = parse_reply(text)
        if reply is not None:
            events.append(reply)
            return
        self._end_burst(events)
        self._burst.interrupted()
        events.append(self._key(text))

    def _key(self, sequence: str) -> Key:
        if self.backspace == "\x08" and sequence.endswith("\x08"):
            return parse_key(f"{sequence[:-1]}\x7f")._replace(raw=sequence)
        return parse_key(sequence)

    def _text(self, text: str, events: list[InputEvent | TerminalReply]) -> None:
        """Handle characters without escape sequences; control characters are keys."""
        start = 0
        for at, char in enumerate(text) if has_controls(text) else ():
            if is_control(char):
                self._typed(text[start:at], events)
                self._end_burst(events)
                self._burst.interrupted()
                events.append(self._key(char))
                start = at + 1
        self._typed(text[start:], events)

    def _typed(self, text: str, events: list[InputEvent | TerminalReply]) -> None:
        if not text:
            return
        if not self.bursts or not self._burst.takes(text):
            events.extend(typed_keys(text))
        elif self._burst.size > MAX_PASTE_BYTES:
            self._end_burst(events)

    def _end_burst(self, events: list[InputEvent | TerminalReply]) -> None:
        if self._burst.size:
            events.extend(self._burst.end())

    def _in_paste(self, data: bytes, at: int, events: list[InputEvent | TerminalReply]) -> int:
        """Consume paste content; returns the position after it."""
        assert self._paste is not None
        chunk = self._paste_tail + data[at:]
        end = _paste_end(chunk)
        if end >= 0:
            after = at + end + _MARKER - len(self._paste_tail)
            self._paste_tail = b""
            self._end_paste(chunk[:end], events)
            return after
        # The last bytes may begin the end marker.
        cut = max(len(chunk) - _MARKER + 1, 0)
        self._paste.append(chunk[:cut])
        self._paste_tail = chunk[cut:]
        self._paste_bytes += cut
        if self._paste_bytes > MAX_PASTE_BYTES:
            self._end_paste(b"", events)
            self._paste, self._paste_bytes = [], 0
        return len(data)

    def _end_paste(self, last: bytes, events: list[InputEvent | TerminalReply]) -> None:
        if self._paste is None:
            return
        content = b"".join([*self._paste, self._paste_tail, last])
        self._paste, self._paste_tail = None, b""
        text = content.replace(PASTE_START, b"").replace(PASTE_END, b"").decode("utf-8", "replace")
        events.append(Paste(as_paste(text)))

    def _arm(self) -> None:
        """Start timers for incomplete input: a partial sequence, a paste, or the pause after a burst."""
        if self._pending:
            self._partial_handle = self._timer.call_later(self._patience() / 1000, self._expire_partial)
        waits_ms = PASTE_MS if self._paste is not None else PasteDetector.QUIET_MS if self._burst.size else 0
        if waits_ms:
            self._deadline = self._timer.time() + waits_ms / 1000
            if self._quiet_handle is None:
                self._quiet_handle = self._timer.call_later(waits_ms / 1000, self._quiet)
        elif self._quiet_handle is not None:
            self._quiet_handle.cancel()
            self._quiet_handle = None

    def _patience(self) -> int:
        if self.patient:
            return PATIENT_MS if len(self._pending) > 2 else max(self._escape_ms * 4, 100)
        if len(self._pending) == 1 and self._pending[0] == ESC:
            return self._escape_ms
        return self._escape_ms * 2 if len(self._pending) == 2 and self._pending[0] == ESC else PARTIAL_MS

    def _quiet(self) -> None:
        """Check whether the pause was long enough, else wait again: one timer serves many chunks."""
        self._quiet_handle = None
        left = self._deadline - self._timer.time()
        if left > 0.0005:
            self._quiet_handle = self._timer.call_later(left, self._quiet)
            return
        events: list[InputEvent | TerminalReply] = []
        if self._paste is not None:
            self._end_paste(b"", events)
            self.bursts = True  # its end is missing: the rest must not submit line by line
        self._end_burst(events)
        if events:
            self._on_events(events)

    def _expire_partial(self) -> None:
        self._partial_handle = None
        events: list[InputEvent | TerminalReply] = []
        self._end_burst(events)
        self._give_up_partial(events)
        if events:
            self._on_events(events)

    def _give_up_partial(self, events: list[InputEvent | TerminalReply]) -> None:
        """Deliver a partial sequence: Escapes are keys, an introducer is an alt key, the rest is unknown."""
        pending, self._pending = self._pending, b""
        while pending.startswith(b"\x1b\x1b"):
            events.append(parse_key("\x1b"))
            pending = pending[1:]
        if not pending:
            return
        text = pending.decode("utf-8", "replace")
        if text[0] != "\x1b":
            events.extend(typed_keys(text))
        else:
            events.append(parse_key(text) if len(text) <= 2 else Key("unknown", raw=text))

    def _cancel_partial(self) -> None:
        if self._partial_handle is not None:
            self._partial_handle.cancel()
            self._partial_handle = None


def _paste_end(chunk: bytes) -> int:
    """Return where the paste ends in the chunk, or -1.

    If the pasted text contains the end marker itself, the terminal's own one follows: use the last marker in
    the chunk before another start. So nothing after a smuggled marker is decoded as keys.
    """
    end = chunk.find(PASTE_END)
    while end >= 0:
        following = chunk.find(PASTE_END, end + _MARKER)
        if following < 0 or chunk.find(PASTE_START, end + _MARKER, following) >= 0:
            return end
        end = following
    return -1


def _unfinished(data: bytes) -> int:
    """Return how many trailing bytes begin an incomplete UTF-8 character."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte < 0x80:
            return 0
        if byte >= 0xC0:
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return back if back < needed and byte < 0xF5 else 0
    return 0
