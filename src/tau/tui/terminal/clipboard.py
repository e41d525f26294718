"""Text to the clipboard of the person at the terminal, also over ssh (OSC 52)."""

from binascii import b2a_base64

MAX_COPY_BYTES = 74_994
"""More than this many terminals refuse: 100,000 characters when encoded, with the sequence around them."""
_SCREEN_CHUNK_CHARS = 700


def copy_sequence(text: str, *, screen: bool = False) -> str | None:
    """The sequence that copies the text; None if it is too long to be sure that all of it arrives.

    GNU screen passes it on only inside strings of its own, of a limited length.
    """
    data = text.encode("utf-8", "replace")
    if len(data) > MAX_COPY_BYTES:
        return None
    sequence = f"\x1b]52;c;{b2a_base64(data, newline=False).decode('ascii')}\x07"
    if not screen:
        return sequence
    chunks = [sequence[at : at + _SCREEN_CHUNK_CHARS] for at in range(0, len(sequence), _SCREEN_CHUNK_CHARS)]
    return "".join(f"\x1bP{chunk}\x1b\\" for chunk in chunks)
