"""An input buffer with a manual clock, and its events."""

from tau.tui.input.decoder import InputDecoder
from tau.tui.input.key import InputEvent, Key, Paste
from tau.tui.terminal.replies import TerminalReply
from tests.support.fake_timer import FakeTimer

START, END = b"\x1b[200~", b"\x1b[201~"


class Typed:
    """What is typed, and when."""

    def __init__(self, **options: object) -> None:
        self.timer = FakeTimer(100.0)
        self.events: list[InputEvent | TerminalReply] = []
        self.calls = 0
        self.buffer = InputDecoder(self._take, self.timer, **options)  # type: ignore[arg-type]

    def _take(self, events: list[InputEvent | TerminalReply]) -> None:
        assert events
        self.calls += 1
        self.events += events

    def feed(self, data: bytes, then_ms: float = 0) -> "Typed":
        self.buffer.feed(data)
        self.timer.advance(then_ms / 1000)
        return self

    def slowly(self, data: bytes, each_ms: float = 50) -> "Typed":
        for byte in data:
            self.feed(bytes([byte]), each_ms)
        return self

    def wait(self, ms: float) -> "Typed":
        self.timer.advance(ms / 1000)
        return self

    @property
    def names(self) -> list[str]:
        return [event.name for event in self.events if isinstance(event, Key)]

    @property
    def pastes(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Paste)]

    @property
    def replies(self) -> list[InputEvent | TerminalReply]:
        return [event for event in self.events if not isinstance(event, Key | Paste)]
