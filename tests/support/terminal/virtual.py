"""An in-memory terminal: it shows output like a real one and simulates the user."""

import codecs
from collections import deque
from collections.abc import Callable, Sequence

from tau.tui.input.key import InputEvent, Key, Paste
from tau.tui.terminal import sequences
from tau.tui.terminal.clipboard import copy_sequence
from tau.tui.terminal.notify import notification
from tau.tui.terminal.port import Background, Capabilities, Watcher
from tests.support.terminal.emulator.actions import ACTIONS
from tests.support.terminal.emulator.answers import Answers
from tests.support.terminal.emulator.images import Images
from tests.support.terminal.emulator.keys import encoded
from tests.support.terminal.emulator.machine import Habits, Keyboard, Machine, Notification
from tests.support.terminal.emulator.modes import report_size
from tests.support.terminal.emulator.readout import Cell, Readout
from tests.support.terminal.emulator.resize import TakesBack

__all__ = ["Answers", "Cell", "Habits", "Notification", "VirtualTerminal"]

WRITES_KEPT = 4096
MODERN = Capabilities(
    synchronized_output=True,
    color_depth="truecolor",
    hyperlinks=True,
    images="kitty",
    kitty_placeholders=True,
)


class Person:
    """The actions of a user at the terminal, reported to the watcher."""

    watcher: Watcher | None = None

    def type(self, text: str) -> None:
        """One key after the other; a newline is the enter key."""
        self._send([_typed(char) for char in text])

    def press(self, *names: str) -> None:
        """Keys by their canonical names, such as "ctrl+c"."""
        self._send([_typed(" " if name == "space" else name) for name in names])

    def paste(self, text: str) -> None:
        self._send([Paste(text)])

    def focus(self, focused: bool) -> None:
        if self.watcher is not None:
            self.watcher.on_focus(focused)

    def background(self, background: Background) -> None:
        """The user changes the terminal's background."""
        if self.watcher is not None:
            self.watcher.on_background(background)

    def close(self) -> None:
        """The window is closed."""
        if self.watcher is not None:
            self.watcher.on_closed()

    def _send(self, events: Sequence[InputEvent]) -> None:
        if self.watcher is not None and events:
            self.watcher.on_input(list(events))


class VirtualTerminal(Readout, Person):
    """Implements `Terminal`. It works without `start` too, but then reports no user actions.

    `reflow`: rewraps lines on a width change like xterm.js, kitty and VTE; otherwise it crops like xterm.
    `takes_back`: when rows return from the history. `multiplexer`: like a tmux pane. `habits` sets the finer
    points.
    """

    def __init__(
        self,
        columns: int = 80,
        rows: int = 24,
        *,
        reflow: bool = True,
        takes_back: TakesBack = "at the bottom",
        multiplexer: bool = False,
        capabilities: Capabilities | None = None,
        scrollback_limit: int = 100_000,
        answers: bool | Answers = True,
        habits: Habits | None = None,
    ) -> None:
        super().__init__()
        if habits is None:
            habits = Habits(
                reflow=reflow,
                takes_back=takes_back,
                multiplexer=multiplexer,
                erases_history=not multiplexer,
                erases_full_row=not (reflow or multiplexer),
                any_region_saves=multiplexer,
            )
        self.capabilities = capabilities or MODERN._replace(
            multiplexer=habits.multiplexer, reflows=habits.reflow
        )
        self.bytes_written = 0
        self.writes: deque[str] = deque(maxlen=WRITES_KEPT)
        """The latest writes."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._machine = Machine(
            columns,
            rows,
            actions=ACTIONS,
            habits=habits,
            answers=(Answers() if answers is True else answers or None),
            history_limit=scrollback_limit,
        )

    @property
    def columns(self) -> int:
        return self._machine.columns

    @property
    def rows(self) -> int:
        return self._machine.height

    def start(self, watcher: Watcher) -> None:
        self.watcher = watcher

    def stop(self) -> None:
        self.watcher = None

    def write(self, text: str) -> None:
        self.bytes_written += len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        self.writes.append(text)
        self._machine.parser.feed(text)

    def feed(self, text: str) -> None:
        """The same as `write`."""
        self.write(text)

    def feed_bytes(self, data: bytes) -> None:
        """The same for bytes that may end in the middle of a character."""
        self.write(self._decoder.decode(data))

    def suspend(self) -> None:
        """The user resumes the program at once."""

    def set_title(self, text: str) -> None:
        self.write(sequences.title(text))

    def use_alternate(self, on: bool) -> None:
        self.write(sequences.ALTERNATE_ON if on else sequences.ALTERNATE_OFF)

    def notify(self, title: str, body: str = "") -> None:
        self.write(notification(title, body, "osc99"))

    def copy(self, text: str) -> bool:
        sequence = copy_sequence(text)
        if sequence is not None:
            self.write(sequence)
        return sequence is not None

    def resize(self, columns: int, rows: int) -> None:
        """The user resizes the window."""
        if (columns, rows) == (self.columns, self.rows):
            return
        self._machine.resize(columns, rows)
        report_size(self._machine)
        if self.watcher is not None:
            self.watcher.on_resize()

    @property
    def modes(self) -> dict[int, bool]:
        """The DEC private modes that were ever set or reset."""
        return self._machine.modes

    @property
    def title(self) -> str:
        return self._machine.title

    @property
    def images(self) -> Images:
        return self._machine.images

    @property
    def notifications(self) -> list[Notification]:
        return list(self._machine.notifications)

    @property
    def clipboard(self) -> list[str]:
        """The clipboard texts, the latest last."""
        return list(self._machine.clipboard)

    @property
    def replies(self) -> list[str]:
        """The terminal's answers."""
        return list(self._machine.replies)

    def on_reply(self, receive: Callable[[str], None] | None) -> None:
        """Also send answers there, immediately."""
        self._machine.on_reply = receive

    def bytes_of(self, name: str) -> str:
        """What this terminal would send for a key, in the currently enabled encoding."""
        keyboard = self._machine.keyboard
        return encoded(
            name,
            kitty=keyboard.current[self.alternate],
            modify_other_keys=keyboard.modify_other_keys,
            application_cursor=self.modes.get(1, False),
        )

    @property
    def keyboard(self) -> Keyboard:
        """The key protocols the program has enabled."""
        return self._machine.keyboard

    @property
    def bells(self) -> int:
        return self._machine.bells


_NAMES = {"\n": "enter", "\r": "enter", "\t": "tab", " ": "space", "\x7f": "backspace", "\x1b": "escape"}


def _typed(char: str) -> Key:
    """The key that types a character, or the key of that name, which types nothing."""
    name = _NAMES.get(char, char)
    return Key(name, char if char == " " or (len(char) == 1 and char not in _NAMES) else "")
