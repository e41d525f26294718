"""A program that streams numbered lines on its terminal: `stream_program.py LINES PAUSE_MS`; q quits."""

import asyncio
import sys

from tau.tui.component import Component
from tau.tui.input.bindings import Keymap
from tau.tui.input.key import InputEvent, Key
from tau.tui.render.screen import Screen
from tau.tui.rows import Rows
from tau.tui.style import Theme
from tau.tui.terminal.process_terminal import ProcessTerminal
from tau.tui.widgets.editor.editor import Editor
from tau.tui.widgets.text import Text
from tau.tui.widgets.transcript import Block, Transcript

LINES_A_BLOCK = 40
DONE = "all lines are here"


def numbered(line: int) -> str:
    """A distinguishable line of one row or several."""
    return f"[a.{line}.0] " + "some words " * (line * 7 % 13)


class Streamed(Block):
    """Text that grows line by line until it is final."""

    def __init__(self, theme: Theme) -> None:
        self.text = Text(theme)
        self.final = False

    def is_final(self) -> bool:
        return self.final

    def render(self, width: int) -> Rows:
        return self.text.render(width)

    def invalidate(self) -> None:
        self.text.invalidate()


class Stream:
    """Lines that come one by one into the blocks of a transcript."""

    def __init__(self, theme: Theme, transcript: Transcript) -> None:
        self.sent = 0
        self._theme = theme
        self._transcript = transcript
        self._block: Streamed | None = None

    def next(self) -> None:
        """One line more."""
        if self._block is None or self.sent % LINES_A_BLOCK == 0:
            self.end()
            self._block = Streamed(self._theme)
            self._transcript.add(self._block)
        self._block.text.append(("\n" if self.sent % LINES_A_BLOCK else "") + numbered(self.sent))
        self.sent += 1

    def end(self) -> None:
        """Nothing more comes into the last block."""
        if self._block is not None:
            self._block.final = True


def furnish(screen: Screen, theme: Theme) -> tuple[Stream, Text, Component]:
    """A transcript, a status line and an editor."""
    transcript, status, editor = Transcript(), Text(theme, "streaming"), Editor(theme, Keymap())
    screen.root.add(transcript, status, editor)
    screen.focus(editor)
    return Stream(theme, transcript), status, editor


async def main(lines: int, pause_s: float) -> None:
    loop = asyncio.get_running_loop()
    theme = Theme({})
    screen = Screen(ProcessTerminal(loop=loop), theme=theme, timer=loop)
    stream, status, _ = furnish(screen, theme)
    ended = asyncio.Event()

    def listen(event: InputEvent) -> InputEvent | None:
        if isinstance(event, Key) and event.name == "q":
            ended.set()
        return event

    screen.listen(listen)
    screen.start()
    for _ in range(lines):
        stream.next()
        screen.request_render()
        await asyncio.sleep(pause_s)
    stream.end()
    status.set_text(DONE)
    screen.request_render()
    await ended.wait()
    screen.stop()
    print("after the end")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), float(sys.argv[2]) / 1000))
