"""Finds the end of an escape sequence: complete, incomplete, or aborted."""

ESC = 0x1B
_BEL = 0x07
_DIGITS = range(0x30, 0x3A)
_PARAMETERS = range(0x30, 0x40)
_INTERMEDIATES = range(0x20, 0x30)
_FINALS = range(0x40, 0x7F)
_MAX_CSI_BYTES = 256
_MAX_STRING_BYTES = 1024  # of an expected reply: the longest one has about 250

INCOMPLETE = 0


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
