"""Decodes terminal bytes into whole keys, pastes and replies, however they are chunked."""

from collections.abc import Callable

from tau.tui.input.key import InputEvent, Key, Paste
from tau.tui.input.key_parser import parse_key
from tau.tui.input.unmarked_pastes import PasteDetector, as_paste, has_controls, is_control, typed_keys
from tau.tui.terminal.replies import TerminalReply, parse_reply
from tau.tui.timer import Handle, Timer

ESC = 0x1B
_BEL = 0x07
_DIGITS = range(0x30, 0x3A)
_PARAMETERS = range(0x30, 0x40)
_INTERMEDIATES = range(0x20, 0x30)
_FINALS = range(0x40, 0x7F)
_MAX_CSI_BYTES = 256
_MAX_STRING_BYTES = 1024  # of an expected reply: the longest one has about 250

INCOMPLETE = 0
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

    `escape_ms` is the timeout for a lone Escape, `backspace` what that key sends. `patient` is set while
    replies are due.
    """

    def __init__(
        self,
        on_events: Callable[[list[InputEvent | TerminalReply]], None],
        timer: Timer,
        *,
        escape_ms: int = ESCAPE_MS,
        backspace: str = "\x7f",
    ) -> None:
        self._on_events = on_events
        self._events: list[InputEvent | TerminalReply] = []
        self._timer = timer
        self._escape_ms = escape_ms
        self.backspace = backspace
        self.patient = False
        self._burst = PasteDetector()
        self._pending = b""
        self._paste: list[bytes] | None = None
        self._paste_bytes = 0
        self._paste_tail = b""
        self._deadline = 0.0
        self._partial_handle: Handle | None = None
        self._quiet_handle: Handle | None = None

    def feed(self, data: bytes, *, early: bool = False) -> None:
        """Decode one read; `early`: typed before the program read the terminal."""
        if not data:
            return
        self._burst.early = early
        self._cancel_partial()
        if self._pending:
            data = self._pending + data
            self._pending = b""
        self._scan(data)
        self._arm()
        self._deliver()

    def flush(self) -> None:
        """Deliver everything pending: no more bytes are expected."""
        self._end_paste(b"")
        self._end_burst()
        self._give_up_partial()
        self._deliver()

    def close(self) -> None:
        """Drop everything pending and cancel timers."""
        self._cancel_partial()
        if self._quiet_handle is not None:
            self._quiet_handle.cancel()
            self._quiet_handle = None
        self._pending, self._paste, self._paste_tail = b"", None, b""
        self._burst = PasteDetector()

    def _deliver(self) -> None:
        events, self._events = self._events, []
        if events:
            self._on_events(events)

    def _scan(self, data: bytes) -> None:
        at, size = 0, len(data)
        while at < size:
            if self._paste is not None:
                at = self._in_paste(data, at)
            elif data[at] != ESC:
                end = data.find(b"\x1b", at)
                if end < 0:
                    end = max(size - _count_incomplete_bytes(data), at)
                    self._pending = data[end:]
                    size = end
                self._text(data[at:end].decode("utf-8", "replace"))
                at = end
            elif data.startswith(PASTE_START, at):
                self._end_burst()
                self._paste, self._paste_bytes, self._paste_tail = [], 0, b""
                at += _MARKER
            else:
                end = sequence_end(data, at)
                if end == INCOMPLETE:
                    self._pending = data[at:]
                    return
                self._sequence(data[at : abs(end)])
                at = abs(end)

    def _sequence(self, raw: bytes) -> None:
        """Handle a complete or aborted sequence."""
        if raw == PASTE_END:
            return  # from an abandoned paste, or hidden in one
        text = raw.decode("utf-8", "replace")
        reply = parse_reply(text)
        if reply is not None:
            self._events.append(reply)
            return
        self._end_burst()
        self._burst.interrupt()
        self._events.append(self._key(text))

    def _key(self, sequence: str) -> Key:
        if self.backspace == "\x08" and sequence.endswith("\x08"):
            return parse_key(f"{sequence[:-1]}\x7f")._replace(raw=sequence)
        return parse_key(sequence)

    def _text(self, text: str) -> None:
        """Handle characters without escape sequences; control characters are keys."""
        start = 0
        for at, char in enumerate(text) if has_controls(text) else ():
            if is_control(char):
                self._handle_text(text[start:at])
                self._end_burst()
                self._burst.interrupt()
                self._events.append(self._key(char))
                start = at + 1
        self._handle_text(text[start:])

    def _handle_text(self, text: str) -> None:
        if not text:
            return
        self._burst.note_text(self._timer.time())
        if not self._burst.hold(text):
            self._events.extend(typed_keys(text))
        elif self._burst.size > MAX_PASTE_BYTES:
            self._end_burst()

    def _end_burst(self) -> None:
        if self._burst.size:
            self._events.append(self._burst.release())

    def _in_paste(self, data: bytes, at: int) -> int:
        """Consume paste content; returns the position after it."""
        assert self._paste is not None
        chunk = self._paste_tail + data[at:]
        end = _paste_end(chunk)
        if end >= 0:
            after = at + end + _MARKER - len(self._paste_tail)
            self._paste_tail = b""
            self._end_paste(chunk[:end])
            return after
        # The last bytes may begin the end marker.
        cut = max(len(chunk) - _MARKER + 1, 0)
        self._paste.append(chunk[:cut])
        self._paste_tail = chunk[cut:]
        self._paste_bytes += cut
        if self._paste_bytes > MAX_PASTE_BYTES:
            self._end_paste(b"")
            self._paste, self._paste_bytes = [], 0
        return len(data)

    def _end_paste(self, last: bytes) -> None:
        if self._paste is None:
            return
        content = b"".join([*self._paste, self._paste_tail, last])
        self._paste, self._paste_tail = None, b""
        text = content.replace(PASTE_START, b"").replace(PASTE_END, b"").decode("utf-8", "replace")
        self._events.append(Paste(as_paste(text)))

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
        if self._paste is not None:
            self._end_paste(b"")
        self._end_burst()
        self._deliver()

    def _expire_partial(self) -> None:
        self._partial_handle = None
        self._end_burst()
        self._give_up_partial()
        self._deliver()

    def _give_up_partial(self) -> None:
        """Deliver a partial sequence: Escapes are keys, an introducer is an alt key, the rest is unknown."""
        pending, self._pending = self._pending, b""
        while pending.startswith(b"\x1b\x1b"):
            self._events.append(parse_key("\x1b"))
            pending = pending[1:]
        if not pending:
            return
        text = pending.decode("utf-8", "replace")
        if text[0] != "\x1b":
            self._events.extend(typed_keys(text))
        else:
            self._events.append(parse_key(text) if len(text) <= 2 else Key("unknown", raw=text))

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


def _count_incomplete_bytes(data: bytes) -> int:
    """Return how many trailing bytes begin an incomplete UTF-8 character."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte < 0x80:
            return 0
        if byte >= 0xC0:
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return back if back < needed and byte < 0xF5 else 0
    return 0


def sequence_end(data: bytes, at: int) -> int:
    """Return the end of the sequence that begins with the escape at `at`.

    INCOMPLETE if more bytes are needed. A negative number -n: the sequence was aborted before n, by a byte
    that cannot be in it (a key was pressed, another sequence begins) or because it is too long.
    """
    if at + 1 >= len(data):
        return INCOMPLETE
    second = data[at + 1]
    if second == 0x5B:  # [
        return _csi_end(data, at)
    if second == 0x4F:  # O
        return _ss3_end(data, at)
    if second in b"]P_^X":
        return _string_end(data, at)
    if second == ESC:
        return _double_end(data, at)
    length = 1 if second < 0xC0 else 2 if second < 0xE0 else 3 if second < 0xF0 else 4
    end = at + 1 + length
    for index in range(at + 2, min(end, len(data))):
        if not 0x80 <= data[index] < 0xC0:
            return index
    return end if end <= len(data) else INCOMPLETE


def _csi_end(data: bytes, at: int) -> int:
    index, size = at + 2, len(data)
    if index < size and data[index] == 0x4D:  # legacy mouse report: M and any three bytes
        return index + 4 if index + 4 <= size else INCOMPLETE
    if index < size and data[index] == 0x5B:  # a function key of the Linux console
        index += 1
    start = index
    while index < size and index - at < _MAX_CSI_BYTES:
        byte = data[index]
        if byte in _FINALS:
            return index + 1
        if byte == 0x24 and all(digit in _DIGITS for digit in data[start:index]) and index > start:
            return index + 1  # rxvt ends shifted keys with a dollar sign
        if byte not in _PARAMETERS and byte not in _INTERMEDIATES:
            return -index
        index += 1
    return INCOMPLETE if index >= size and index - at < _MAX_CSI_BYTES else -index


def _ss3_end(data: bytes, at: int) -> int:
    index = at + 2
    while index < len(data) and index - at < 8:
        byte = data[index]
        if byte in _FINALS or byte == 0x20:
            return index + 1
        if byte not in _DIGITS and byte != 0x3B:
            return -index
        index += 1
    return INCOMPLETE if index >= len(data) else -index


def _string_end(data: bytes, at: int) -> int:
    """Return the end of an OSC, DCS, APC, PM or SOS string: after BEL or ST."""
    index, limit = at + 2, min(len(data), at + _MAX_STRING_BYTES)
    while index < limit:
        byte = data[index]
        if byte == _BEL:
            return index + 1
        if byte == ESC:
            if index + 1 >= len(data):
                return INCOMPLETE
            return index + 2 if data[index + 1] == 0x5C else -index
        if byte < 0x20:
            return -index
        index += 1
    return INCOMPLETE if len(data) < at + _MAX_STRING_BYTES else -index


def _double_end(data: bytes, at: int) -> int:
    """Handle two Escapes: alt with a cursor or function key in rxvt, else a lone Escape and more."""
    inner = sequence_end(data, at + 1)
    if inner == INCOMPLETE:
        # Only Escapes so far: they are single keys, and only the last may begin a sequence.
        return at + 1 if at + 2 < len(data) and data[at + 2] not in b"[O" else INCOMPLETE
    if inner < 0 or data[at + 2] not in b"[O":
        return at + 1
    body = data[at + 3 : inner]
    is_key = body[-1:] in (b"~", b"^", b"$", b"@") or (len(body) == 1 and body in b"ABCDEFHPQRSZabcd")
    return inner if is_key and not body.startswith((b"200~", b"201~", b"?", b"<", b">", b"=")) else at + 1
