"""From characters to text, controls and sequences: a state machine with a fast path for complete ones."""

import re
from typing import Protocol

STRING_LIMIT = 16 * 1024 * 1024
"""Maximum length of a control string; a longer one is dropped completely."""
_PARAMS_LIMIT = 4096

_GROUND, _ESCAPE, _CSI, _IGNORE, _STRING = range(5)

# Complete sequences, taken in one step. Anything else goes through the states below.
_WHOLE = re.compile(
    r"([^\x00-\x1f\x7f-\x9f]+)"
    r"|\x1b\[([0-?]*)([ -/]*)([@-~])"
    r"|([\x00-\x17\x19\x1c-\x1f])"
    r"|\x1b([]P^_X])([^\x00-\x1f\x7f-\x9f]*)\x1b\\"
)
_PRINTABLE = re.compile(r"[^\x00-\x1f\x7f-\x9f]+")
_STRINGS = {"]": "OSC", "P": "DCS", "X": "SOS", "^": "PM", "_": "APC"}


class Sink(Protocol):
    """Receives what was parsed."""

    def text(self, text: str) -> None: ...
    def control(self, char: str) -> None: ...
    def escape(self, intermediates: str, final: str) -> None: ...
    def csi(self, params: str, intermediates: str, final: str) -> None:
        """`params` includes a private marker, if any."""
        ...

    def string(self, kind: str, data: str) -> None:
        """`kind` is OSC, DCS, APC, PM or SOS."""
        ...


class Parser:
    """It may be fed in chunks that end anywhere."""

    def __init__(self, sink: Sink) -> None:
        self.strings_dropped = 0
        """Control strings that were too long to keep."""
        self._sink = sink
        self._state = _GROUND
        self._params = ""
        self._intermediates = ""
        self._kind = ""
        self._pieces: list[str] = []
        self._length = 0

    def feed(self, data: str) -> None:
        sink = self._sink
        match_whole = _WHOLE.match
        position, end = 0, len(data)
        while position < end:
            found = match_whole(data, position) if self._state == _GROUND else None
            if found is None:
                position = self._step(data, position)
                continue
            position = found.end()
            index = found.lastindex
            if index == 1:
                sink.text(found[1])
            elif index == 4:
                sink.csi(found[2], found[3], found[4])
            elif index == 5:
                sink.control(found[5])
            else:
                sink.string(_STRINGS[found[6]], found[7])

    def _step(self, data: str, position: int) -> int:
        """One character, or a run of them within a string; returns the position after it."""
        if self._state == _STRING:
            run = _PRINTABLE.match(data, position)
            if run is not None:
                self._keep(run[0])
                return run.end()
        char = data[position]
        if char in "\x18\x1a":
            self._drop()
        elif char == "\x1b":
            self._end_string()
            self._state = _ESCAPE
            self._intermediates = ""
        elif "\x80" <= char <= "\x9f":
            self._eight_bit(char)
        elif char < " ":
            self._control(char)
        elif char == "\x7f":
            pass
        elif char > "\x9f":
            self._drop()
            return position
        else:
            self._printable(char)
        return position + 1

    def _printable(self, char: str) -> None:
        if self._state == _ESCAPE:
            if char < "0":
                self._intermediates += char
            else:
                self._state = _GROUND
                self._escape(char)
        elif self._state == _CSI:
            self._collect(char)
        elif self._state == _IGNORE and char >= "@":
            self._state = _GROUND

    def _collect(self, char: str) -> None:
        if char >= "@":
            self._state = _GROUND
            self._sink.csi(self._params, self._intermediates, char)
        elif char < "0":
            self._intermediates += char
        elif self._intermediates or len(self._params) >= _PARAMS_LIMIT:
            self._state = _IGNORE
        else:
            self._params += char

    def _escape(self, final: str) -> None:
        if self._intermediates or final not in "[]PX^_":
            if self._intermediates or final != "\\":
                self._sink.escape(self._intermediates, final)
        elif final == "[":
            self._state = _CSI
            self._params = self._intermediates = ""
        else:
            self._state = _STRING
            self._kind = _STRINGS[final]
            self._pieces = []
            self._length = 0

    def _eight_bit(self, char: str) -> None:
        """A C1 control equals ESC plus the character 64 places before it."""
        if char == "\x9c":
            self._end_string()
            self._state = _GROUND
        else:
            self._drop()
            self._intermediates = ""
            self._escape(chr(ord(char) - 0x40))

    def _control(self, char: str) -> None:
        if self._state != _STRING:
            self._sink.control(char)
        elif char == "\x07" and self._kind == "OSC":
            self._end_string()
            self._state = _GROUND

    def _keep(self, piece: str) -> None:
        self._length += len(piece)
        if self._length <= STRING_LIMIT:
            self._pieces.append(piece)
        else:
            self._pieces = []

    def _end_string(self) -> None:
        if self._state != _STRING:
            return
        self._state = _GROUND
        data = "".join(self._pieces)
        self._pieces = []
        if self._length <= STRING_LIMIT:
            self._sink.string(self._kind, data)
        else:
            self.strings_dropped += 1

    def _drop(self) -> None:
        self._state = _GROUND
        self._pieces = []
