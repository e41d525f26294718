"""Cleans text from outside before editing.

Line ends become newlines. Everything that could control a terminal is removed: C0 controls except newline and
tab, DEL, C1 controls, whole escape sequences, and bidirectional controls. Lone surrogates become U+FFFD. The
rest, including tabs, is unchanged.
"""

from tau.base.late import late

base_text = late("tau.base.text")


def clean_input(text: str) -> str:
    """Clean text for a buffer."""
    if text.isprintable():
        return text
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return base_text.strip_input(text)


def clean_input_line(text: str) -> str:
    """Clean text for a one-line field: newlines and tabs become spaces, trimmed at the ends."""
    text = clean_input(text)
    if "\n" in text or "\t" in text:
        text = text.strip("\n").replace("\n", " ").replace("\t", " ")
    return text
