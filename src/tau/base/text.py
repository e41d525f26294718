"""Decodes text so that it can be encoded back unchanged, and makes text safe to show on a terminal."""

import codecs
import re
from typing import NamedTuple

from tau.base.late import late
from tau.base.sizes import KIB

hidden_text = late("tau.base.hidden_text")

BINARY_PROBE_BYTES = 8 * KIB
_BLOCK = 512 * KIB
_HALF_CHARACTER = "[\ud800-\udc7f\udd00-\udfff]"
# UTF-32 first: its little-endian mark begins with the mark of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF8, "utf-8"),
)


class DecodedText(NamedTuple):  # no struct: a screen needs this module for its first frame, but not msgspec
    """Text with its encoding. `text` has its original line ends and no byte-order mark.

    If `escaped`, bytes that are not UTF-8 are lone surrogates in it.
    """

    text: str
    encoding: str = "utf-8"
    bom: bytes = b""
    escaped: bool = False


class NotText(UnicodeDecodeError):
    """The bytes have no encoding that can be written back unchanged."""

    def __str__(self) -> str:
        data: bytes = self.object
        line = data.count(b"\n", 0, self.start) + 1
        where = f"byte 0x{data[self.start]:02X} at offset {self.start} (line {line})"
        return f"Not valid {self.encoding.upper()} text: {where}: {self.reason}"


def decode(data: bytes) -> DecodedText:
    """Decode UTF-8, or UTF-8, UTF-16 or UTF-32 with a byte-order mark; raises NotText for anything else."""
    bom, encoding = _mark(data)
    try:
        text = _decode(data, len(bom), encoding)
    except UnicodeDecodeError as error:
        raise NotText(encoding, data, error.start, error.end, error.reason) from None
    return DecodedText(text=text, encoding=encoding, bom=bom)


def decode_escaped(data: bytes) -> DecodedText:
    """Decode what is mostly UTF-8 or ASCII, and keep other bytes as lone surrogates; raises NotText."""
    bom, encoding = _mark(data)
    if encoding != "utf-8":
        return decode(data)
    return DecodedText(text=_decode(data, len(bom), encoding, "surrogateescape"), bom=bom, escaped=True)


def _decode(data: bytes, start: int, encoding: str, errors: str = "strict") -> str:
    """Decode block by block: in a thread, long data does not stop the others. Raises UnicodeDecodeError."""
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    pieces = []
    for at in range(start, len(data), _BLOCK) or (start,):
        left = len(decoder.getstate()[0])  # the start of a character, from the last block
        try:
            pieces.append(decoder.decode(data[at : at + _BLOCK], final=at + _BLOCK >= len(data)))
        except UnicodeDecodeError as error:
            first = at - left
            raise UnicodeDecodeError(
                encoding, data, first + error.start, first + error.end, error.reason
            ) from None
    return "".join(pieces)


def encode(text: str, like: DecodedText) -> bytes:
    """Encode `text` with the encoding and byte-order mark of a decoded text."""
    return like.bom + text.encode(like.encoding, "surrogateescape" if like.escaped else "strict")


def show_escaped(text: str) -> str:
    """Show bytes that could not be decoded as the replacement character."""
    if text.isascii():
        return text
    blocks = (text[at : at + _BLOCK] for at in range(0, len(text), _BLOCK))
    return "".join([re.sub("[\udc80-\udcff]", "\ufffd", block) for block in blocks])


def has_half_character(text: str) -> bool:
    """Whether it has a lone surrogate that is no byte of a file name; JSON allows it, nothing can take it."""
    return not text.isascii() and re.search(_HALF_CHARACTER, text) is not None


def is_binary(data: bytes) -> bool:
    """Whether there is a NUL byte near the start, unless a byte-order mark says that NULs are text."""
    return b"\0" in data[:BINARY_PROBE_BYTES] and _mark(data)[1] == "utf-8"


def _mark(data: bytes) -> tuple[bytes, str]:
    for bom, encoding in _MARKS:
        # UTF-16 text that begins with U+0000 looks like UTF-32, except for its length or content.
        if data.startswith(bom) and (encoding != "utf-32-le" or _is_utf32(data)):
            return bom, encoding
    return b"", "utf-8"


def _is_utf32(data: bytes) -> bool:
    try:
        data.decode("utf-32-le")
    except UnicodeDecodeError:
        return False
    return True


# Compiled on first use: most runs never need it. It begins with one set of characters, so the search skips
# clean text quickly. A string (OSC, DCS, APC, PM, SOS) ends at any control character: an unfinished one takes
# linear time, and its text stays visible.
_UNSAFE = (
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"
    r"(?:(?:(?<=\x1b)[P\]X^_]|(?<=[\x90\x98\x9d-\x9f]))[^\x00-\x1f\x7f-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|(?:(?<=\x1b)\[|(?<=\x9b))[0-?]*[ -/]*[@-~]"  # CSI
    r"|(?<=\x1b)[ -/]*[0-~])?"  # two-character sequences
)


def plain(text: str) -> str:
    """Strip terminal control sequences from untrusted text and reveal what hides in it.

    Newlines and tabs stay.
    """
    return reveal_invisible(strip_controls(text))


def strip_controls(text: str) -> str:
    """Strip terminal control sequences; newlines and tabs stay."""
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return re.sub("[\ud800-\udfff]", "\ufffd", re.sub(_UNSAFE, "", text))


def strip_input(text: str) -> str:
    """Strip what a user cannot mean to type: control sequences, and characters that reverse text."""
    text = strip_controls(text)
    return text if text.isascii() else re.sub("[\u202a-\u202e\u2066-\u2069]", "", text)


def reveal(text: str) -> str:
    """Write control, bidirectional, tag and zero-width characters as `<U+202E>`.

    For text a person decides on. Newlines, tabs and the joiners of emoji and scripts that need them stay.
    """
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return hidden_text.reveal_hidden(text, controls=True)


def reveal_invisible(text: str) -> str:
    """Do the same except for control characters, for text that a model or a person reads."""
    return text if text.isascii() else hidden_text.reveal_hidden(text, controls=False)


def reveal_path(path: str) -> str:
    """Do the same and also show letters that imitate ASCII: `p<U+0430>ypal`."""
    if path.isascii() and path.isprintable():
        return path
    path = reveal(path).replace("\n", "<U+000A>").replace("\t", "<U+0009>")
    return hidden_text.reveal_lookalikes(path)


# In UTF-8: DEL and C1 controls, soft hyphens, line separators, and what hides or reverses text.
_UNSAFE_JSON = (
    rb"\x7f|\xc2[\x80-\x9f\xad]|\xd8\x9c|\xe2\x80[\x8b-\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf"
    rb"|\xf3\xa0[\x80-\x87][\x80-\xbf]"
)


def escape_json(data: bytes) -> bytes:
    """Escape characters in JSON that would control a terminal or hide in it; the meaning stays."""
    if data.isascii() and b"\x7f" not in data:
        return data
    return re.sub(_UNSAFE_JSON, lambda match: _json_escape(match[0].decode()), data)


def _json_escape(character: str) -> bytes:
    units = character.encode("utf-16-be")
    return b"".join(b"\\u%04x" % int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2))


def clean_line(text: str) -> str:
    """Strip control sequences and join the text into one line: each run of white space becomes a space."""
    return " ".join(plain(text).split())


def reveal_line(text: str) -> str:
    """Join the text into one line and reveal what hides in it, for text that could run."""
    return " ".join(reveal(text).split())


def shortened(text: str, max_chars: int) -> str:
    """Truncate text to `max_chars`, with an ellipsis."""
    return text if len(text) <= max_chars else f"{text[: max_chars - 1].rstrip()}…"


def sentence(text: str) -> str:
    """Add a period, unless the text already ends like a sentence."""
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def quantity(number: int, noun: str, plural: str = "") -> str:
    """`1 line`, `1,200 lines`."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
