"""What the editor's text is: a message, a shell line, or Python."""

from typing import Literal

from tau.modes.interactive.ports import Display

ComposerMode = Literal["", "bash", "python"]

_TOKENS: dict[ComposerMode, str] = {"": "border", "bash": "bashMode", "python": "pythonMode"}
_SIGNS: dict[ComposerMode, str] = {"": "", "bash": "sh ", "python": "py "}
_WORDS: dict[ComposerMode, str] = {"": "", "bash": "Shell: ", "python": "Python: "}


def mode_of(first_line: str) -> ComposerMode:
    """`!` runs in the shell, `$` in Python; `${` starts a message."""
    if first_line.startswith("!"):
        return "bash"
    return "python" if first_line.startswith("$") and not first_line.startswith("${") else ""


def show_mode(display: Display, mode: ComposerMode) -> None:
    """Show the mode by the border and a sign before the text."""
    display.editor.border_token = _TOKENS[mode]
    display.editor.set_prompt((_WORDS if display.theme.linear else _SIGNS)[mode])
    display.request_render()
