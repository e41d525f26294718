"""Copies text to the user's clipboard through the terminal, also over ssh (OSC 52)."""

from binascii import b2a_base64

MAX_COPY_BYTES = 74_994
"""Many terminals refuse more: 100,000 characters encoded, including the sequence around them."""
_SCREEN_CHUNK_CHARS = 700


def copy_sequence(text: str, *, screen: bool = False) -> str | None:
    """Return the sequence that copies the text; None if it is too long to arrive reliably.

    GNU screen passes it on only inside its own strings, which have a limited length.
    """
    data = text.encode("utf-8", "replace")
    if len(data) > MAX_COPY_BYTES:
        return None
    sequence = f"\x1b]52;c;{b2a_base64(data, newline=False).decode('ascii')}\x07"
    if not screen:
        return sequence
    chunks = [sequence[at : at + _SCREEN_CHUNK_CHARS] for at in range(0, len(sequence), _SCREEN_CHUNK_CHARS)]
    return "".join(f"\x1bP{chunk}\x1b\\" for chunk in chunks)
