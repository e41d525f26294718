"""Tags: four hexadecimal digits that identify a text, ignoring trailing white space in its lines."""

import zlib

from tau.hashline.lines import separator_of


def trimmed(text: str) -> str:
    """The text without blanks, tabs and carriage returns before its line ends: the part a tag speaks of."""
    if separator_of(text) == "\r":
        return "\r".join([line.rstrip(" \t") for line in text.split("\r")])
    # Most texts have little or nothing to cut: looking for it is cheaper than taking all lines apart.
    if "\r" in text:
        text = text.replace("\r\n", "\n")
        if "\r" in text:
            return "\n".join([line.rstrip(" \t\r") for line in text.split("\n")])
    text = _cut(text, " \n")
    if "\t" in text:
        text = _cut(text, "\t\n")
    return text.rstrip(" \t")


def _cut(text: str, ending: str) -> str:
    """Without the blanks and tabs of every line that ends so."""
    pieces = []
    position = 0
    while (found := text.find(ending, position)) >= 0:
        pieces.append(text[position:found].rstrip(" \t"))
        position = found + 1
    return "".join([*pieces, text[position:]]) if pieces else text


def checksum(text: str) -> int:
    """32 bits of the text as it is."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


def tag_from(checksum: int) -> str:
    return f"{(checksum ^ checksum >> 16) & 0xFFFF:04X}"


def tag_of(text: str) -> str:
    """The tag a text gets unless another text of the same file has it already."""
    return tag_from(checksum(trimmed(text)))
