"""Keys for a program on an emulated terminal, with a clock that is moved by hand."""

from tau.tui.timer import FakeTimer
from tests.support.terminal.virtual import VirtualTerminal


class Walking:
    """Each call tells the screen as it is then."""

    def __init__(self, terminal: VirtualTerminal) -> None:
        self.timer = FakeTimer()
        self.terminal = terminal

    def press(self, *names: str) -> str:
        for name in names:
            self.terminal.press(name)
        self.timer.advance(0.1)
        return "\n".join(self.terminal.screen())

    def type(self, text: str) -> str:
        self.terminal.type(text)
        self.timer.advance(0.1)
        return "\n".join(self.terminal.screen())
