"""Keys for a program on an emulated terminal, with a manual clock."""

from tests.support.fake_timer import FakeTimer
from tests.support.terminal.virtual import VirtualTerminal


class KeyScript:
    """Each call returns the screen at that time."""

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
