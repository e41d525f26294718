"""Bytes to text and back without changing one of them, and text that is safe to show on a terminal."""

import codecs
import re

from msgspec import Struct

from tau.base.sizes import KIB

_BINARY_PROBE_BYTES = 8 * KIB
# UTF-32 first: its little-endian mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF8, "utf-8"),
)


class DecodedText(Struct, frozen=True, kw_only=True):
    """Text and what it takes to write it back as it was. `text` has its own line ends, no byte-order mark."""

    text: str
    encoding: str = "utf-8"
    bom: bytes = b""


class NotText(UnicodeDecodeError):
    """The bytes are in no encoding that can be written back unchanged."""

    def __str__(self) -> str:
        data: bytes = self.object
        line = data.count(b"\n", 0, self.start) + 1
        where = f"byte 0x{data[self.start]:02X} at offset {self.start} (line {line})"
        return f"Not valid {self.encoding.upper()} text: {where}: {self.reason}"


def decode(data: bytes) -> DecodedText:
    """UTF-8, or UTF-8, UTF-16, UTF-32 with a byte-order mark; raises NotText for anything else."""
    bom, encoding = _mark(data)
    try:
        text = data[len(bom) :].decode(encoding)
    except UnicodeDecodeError as error:
        start, end = error.start + len(bom), error.end + len(bom)
        raise NotText(encoding, data, start, end, error.reason) from None
    return DecodedText(text=text, encoding=encoding, bom=bom)


def encode(text: str, like: DecodedText) -> bytes:
    """The bytes of `text` in the encoding, and with the byte-order mark, of what was decoded."""
    return like.bom + text.encode(like.encoding)


def is_binary(data: bytes) -> bool:
    """A zero byte near the start, unless a byte-order mark says that zeros are part of the text."""
    return b"\0" in data[:_BINARY_PROBE_BYTES] and _mark(data)[1] == "utf-8"


def _mark(data: bytes) -> tuple[bytes, str]:
    for bom, encoding in _MARKS:
        # UTF-16 whose first character is U+0000 looks like UTF-32, but for its length or its content.
        if data.startswith(bom) and (encoding != "utf-32-le" or _is_utf32(data)):
            return bom, encoding
    return b"", "utf-8"


def _is_utf32(data: bytes) -> bool:
    try:
        data.decode("utf-32-le")
    except UnicodeDecodeError:
        return False
    return True


# Compiled when the first unclean text comes: most runs never need it. It begins with one set of characters,
# which lets the search skip what is clean. A string (OSC, DCS, APC, PM, SOS) ends at any control character:
# an unfinished one costs linear time, and its text stays visible.
_UNSAFE = (
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"  # controls, and what turns text around
    r"(?:(?:(?<=\x1b)[P\]X^_]|(?<=[\x90\x98\x9d-\x9f]))[^\x00-\x1f\x7f-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|(?:(?<=\x1b)\[|(?<=\x9b))[0-?]*[ -/]*[@-~]"  # CSI
    r"|(?<=\x1b)[ -/]*[0-~])?"  # the short ones
)


def plain(text: str) -> str:
    """Strip terminal control sequences from untrusted text; newlines and tabs stay."""
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return re.sub("[\ud800-\udfff]", "\ufffd", re.sub(_UNSAFE, "", text))


def clean_line(text: str) -> str:
    """The same as one line: each run of white space becomes a space."""
    return " ".join(plain(text).split())


def shortened(text: str, max_chars: int) -> str:
    """Truncate text to `max_chars`, with an ellipsis."""
    return text if len(text) <= max_chars else f"{text[: max_chars - 1].rstrip()}…"


def sentence(text: str) -> str:
    """Add a period, unless the text already ends like a sentence."""
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."
