"""Converts terminal text to keys or a paste."""

from tau.base.late import late
from tau.tui.input.key import Key
from tau.tui.input.key_parser import parse_key

width = late("tau.tui.text.width")


def is_control(char: str) -> bool:
    """Whether it is a control key; tabs and line ends are text, since they may be part of a paste."""
    return (char < " " and char not in "\t\r\n") or "\x7f" <= char < "\xa0"


def has_controls(text: str) -> bool:
    """Whether the text may contain such a character."""
    return not (text.isprintable() or text.translate({9: None, 10: None, 13: None}).isprintable())


def typed_keys(text: str) -> list[Key]:
    """Return the keys that typed a text, one per grapheme."""
    if len(text) == 1:
        return [parse_key(text)]
    # A terminal in new-line mode sends two characters for Enter.
    text = text.replace("\r\n", "\r")
    if text.isascii():
        return [parse_key(char) for char in text]
    keys: list[Key] = []
    for cluster in width.graphemes(text):
        keys.append(parse_key(cluster) if len(cluster) == 1 else Key(cluster, cluster, raw=cluster))
    return keys


def as_paste(text: str) -> str:
    """Normalize line ends to newlines."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
