"""Screens to measure: a terminal that only counts, a transcript of many blocks, an editor, an answer."""

import sys
from collections.abc import Callable
from pathlib import Path

from tau.tui.input.bindings import Keymap
from tau.tui.input.key import Key
from tau.tui.render.screen import Screen
from tau.tui.style import Theme
from tau.tui.terminal.port import Capabilities, Watcher
from tau.tui.timer import Timer
from tau.tui.widgets.editor.editor import Editor
from tau.tui.widgets.markdown.component import Markdown
from tau.tui.widgets.text import Text
from tau.tui.widgets.transcript import Block, Transcript

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.fake_timer import FakeTimer
from tests.support.palettes import DARK_TOKENS

FRAME_S = 0.034


class Sink:
    """An 80x24 terminal that only counts what is written."""

    columns, rows = 80, 24
    capabilities = Capabilities(synchronized_output=True, color_depth="truecolor", hyperlinks=True)

    def __init__(self) -> None:
        self.bytes = 0
        self.watcher: Watcher | None = None
        self.on_write: Callable[[], None] | None = None

    def start(self, watcher: Watcher) -> None:
        self.watcher = watcher

    def stop(self) -> None:
        self.watcher = None

    def write(self, text: str) -> None:
        self.bytes += len(text.encode())
        if self.on_write is not None:
            self.on_write()

    def type(self, char: str) -> None:
        assert self.watcher is not None
        self.watcher.on_input([Key(char, char)])


class Answer(Block):
    """A streaming Markdown message."""

    def __init__(self, theme: Theme) -> None:
        self.markdown = Markdown(theme)
        self.render = self.markdown.render  # type: ignore[method-assign]
        self.commit_boundary = self.markdown.commit_boundary  # type: ignore[method-assign]

    def is_final(self) -> bool:
        return self.markdown.is_finished

    def invalidate(self) -> None:
        self.markdown.invalidate()


class Desk:
    """A typical application screen: transcript, status line, focused editor."""

    def __init__(self, blocks: int = 0, timer: Timer | None = None) -> None:
        self.theme = Theme(DARK_TOKENS)
        self.terminal = Sink()
        self.clock = FakeTimer()
        self.screen = Screen(self.terminal, theme=self.theme, timer=timer or self.clock)
        self.transcript = Transcript(
            Text(self.theme, f"Block {number}\nwith a second line\nand a third one")
            for number in range(blocks)
        )
        self.status = Text(self.theme, "ready")
        self.editor = Editor(self.theme, Keymap())
        self.screen.root.add(self.transcript, self.status, self.editor)
        self.screen.focus(self.editor)
        self.screen.start()

    def answer(self) -> Answer:
        """Append a new message."""
        answer = Answer(self.theme)
        self.transcript.add(answer)
        return answer

    def frame(self) -> None:
        """Draw one frame on the fake clock."""
        self.screen.request_render()
        self.clock.advance(FRAME_S)
