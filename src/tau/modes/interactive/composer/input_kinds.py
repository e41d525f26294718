"""What the editor's text is: a message, a shell line, or Python."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from tau.base.late import late
from tau.tui.style import Theme

if TYPE_CHECKING:
    from tau.modes.interactive.screen_protocols import Display

vim = late("tau.tui.widgets.editor.vim")

ComposerMode = Literal["", "bash", "python"]

_TOKENS: dict[ComposerMode, str] = {"": "border", "bash": "bashMode", "python": "pythonMode"}
_SIGNS: dict[ComposerMode, str] = {"bash": "sh ", "python": "py "}
PLACEHOLDER = "Type a message, or / for commands"
_WORDS: dict[ComposerMode, str] = {"": "", "bash": "Shell: ", "python": "Python: "}


def mode_of(first_line: str) -> ComposerMode:
    """`!` runs in the shell, `$` in Python; `${` starts a message."""
    if first_line.startswith("!"):
        return "bash"
    return "python" if first_line.startswith("$") and not first_line.startswith("${") else ""


def prompt_sign(theme: Theme, mode: ComposerMode = "") -> str:
    """What comes before the text; a screen reader hears only what is not a message."""
    return _WORDS[mode] if theme.linear else _SIGNS.get(mode, f"{theme.symbols.pointer} ")


def show_mode(display: "Display", mode: ComposerMode) -> None:
    """Show the mode by the border and a sign before the text."""
    display.editor.border_token = _TOKENS[mode]
    display.editor.set_prompt(prompt_sign(display.theme, mode))
    display.request_render()


def use_vim_keys(display: "Display", on: bool, on_mode: Callable[[], None]) -> None:
    """Turn Vim keys on or off; `on_mode` is called when their mode changes."""
    actions = display.editor.actions
    if on != (actions.modal is not None):
        actions.modal = vim.VimKeys(on_mode) if on else None
        on_mode()
