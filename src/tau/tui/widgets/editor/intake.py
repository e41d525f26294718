"""What becomes of text from outside before it is edited.

Line ends become newlines. Everything that could drive a terminal is taken out: C0 controls except newline and
tab, DEL, C1 controls, whole escape sequences, and the marks that turn the direction of text around. Half
characters (lone surrogates) become U+FFFD. The rest, tabs included, stays as it came.
"""

from tau.base.late import late

base_text = late("tau.base.text")


def incoming(text: str) -> str:
    """The text as it may stand in a buffer."""
    if text.isprintable():
        return text
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return base_text.plain(text)


def incoming_line(text: str) -> str:
    """The same for a field of one line: newlines and tabs become blanks, those at the ends go."""
    text = incoming(text)
    if "\n" in text or "\t" in text:
        text = text.strip("\n").replace("\n", " ").replace("\t", " ")
    return text
