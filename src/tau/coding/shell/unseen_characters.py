"""Refuses commands with characters that a question to the user cannot show."""

import re

from tau.base.errors import ToolError
from tau.base.text import has_half_character

_CONTROLS = r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"


def refuse_controls(name: str, *texts: str) -> None:
    """Raises ToolError if a text has a control character other than tab and newline, or half a character."""
    for text in texts:
        if has_half_character(text):
            raise ToolError(f"{name} contains a lone surrogate, which no program can take.")
        found = re.search(_CONTROLS, text)
        if found is None:
            continue
        if found[0] == "\0":
            raise ToolError(f"{name} contains a NUL character, which no shell can take.")
        code = ord(found[0])
        raise ToolError(
            f"{name} contains the control character U+{code:04X} at offset {found.start()}, which nobody "
            f"sees when asked to approve it; write it as an escape, such as \\x{code:02x} in printf."
        )
