"""The terminal as the engine sees it: something to write to, of a size, that reports keys and changes."""

from typing import Literal, NamedTuple, Protocol

from tau.tui.input.key import InputEvent

ImageProtocol = Literal["kitty", "iterm2", "sixel", "none"]
ColorDepth = Literal["truecolor", "256", "16", "none"]
Background = Literal["dark", "light"]


class Capabilities(NamedTuple):
    """What a terminal can do. A miss is cosmetic: nothing that keeps our rows correct depends on it."""

    synchronized_output: bool = False
    multiplexer: bool = False
    """Inside tmux, screen or zellij, which tell a program late that its pane has another size."""
    color_depth: ColorDepth = "256"
    hyperlinks: bool = False
    images: ImageProtocol = "none"
    kitty_placeholders: bool = False
    rectangular_fill: bool = False
    """DECCARA, with which a background is filled without writing blanks."""
    screen_to_scrollback: bool = False
    """ED 22: the shell's screen is kept in the history when we paint for the first time."""
    reflows: bool = False
    """Known to wrap anew what it shows when its width changes; not so xterm, nor those that nobody knows."""
    resize_lag_s: float = 0.3
    """How late a program may learn of another size: up to a quarter of a second in tmux; elsewhere the time
    that bytes need to the terminal and back."""
    cell_pixels: tuple[int, int] = (9, 18)
    """Width and height of a cell, for the size of images."""


class Watcher(Protocol):
    """Who is told what happens at the terminal. Called from the event loop, never during `write`."""

    def on_input(self, events: list[InputEvent]) -> None:
        """All that came at once, in order."""
        ...

    def on_resize(self) -> None: ...
    def on_background(self, background: Background) -> None:
        """The terminal told its colours, or changed them."""
        ...

    def on_focus(self, focused: bool) -> None: ...
    def on_capabilities(self) -> None:
        """A probe was answered: `capabilities` differ now."""
        ...

    def on_closed(self) -> None:
        """The terminal is gone (hang-up or end of input): nothing can be shown any more."""
        ...


class Terminal(Protocol):
    """`start` and `stop` come in pairs and may be repeated (suspend and resume)."""

    @property
    def columns(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def capabilities(self) -> Capabilities: ...
    def start(self, watcher: Watcher) -> None: ...
    def stop(self) -> None:
        """The terminal as it was found: cooked mode, no protocol left on, the cursor visible."""
        ...

    def write(self, text: str) -> None:
        """Bytes for the terminal, whole or not at all; never an exception for a terminal that is gone."""
        ...

    def suspend(self) -> None:
        """Stop the process as Ctrl+Z does in other programs; returns, started again, when it goes on."""
        ...

    def set_title(self, text: str) -> None:
        """The title of the window, until `stop`; nothing where there is no window."""
        ...

    def notify(self, title: str, body: str = "") -> None:
        """A message for a person who looks elsewhere, in the way that the terminal knows."""
        ...

    def copy(self, text: str) -> bool:
        """Text to the clipboard, through the terminal; False if it is too long for that."""
        ...
