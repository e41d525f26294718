"""Answers of numbered lines on a terminal that is resized while frames are on their way to it."""

import re
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

from tau.tui.component import CommitBoundary
from tau.tui.input.bindings import Keymap
from tau.tui.render.screen import Screen
from tau.tui.style import Theme
from tau.tui.terminal.port import Capabilities, Watcher
from tau.tui.widgets.editor.editor import Editor
from tau.tui.widgets.markdown import Markdown
from tau.tui.widgets.text import Text
from tau.tui.widgets.transcript import Block, Transcript
from tests.support.fake_timer import FakeTimer
from tests.tui.second_opinion.recording import Recording, RecordingTerminal

LINES = 300
SHELL_LINES = 100
STATUS = "STATUS of the agent"
_LINE, _SHELL = (re.compile(rf"{word}[^\w\n]*\n?[^\w\n]*(\d+)(?!\d)") for word in ("LINE", "SHELL"))


def _words(line: int) -> str:
    return "and some more words " * (line * 7 % 6)


KINDS = {
    "lines": lambda line: f"LINE {line}\n",
    "wide": lambda line: f"LINE {line} {'x' * 60}\n",
    "paragraphs": lambda line: f"LINE {line} {_words(line)}\n\n",
    "prose": lambda line: f"LINE {line} {_words(line)}{'' if line % 12 else chr(10) * 2}",
    "code": lambda line: (
        ("```python\n" if line == 1 else "") + f"    print('LINE {line}', {line * 13 % 70 * 'y'!r})\n"
    ),
    "list": lambda line: f"- LINE {line} {_words(line)}\n" + ("\nText.\n\n" if line % 40 == 0 else ""),
    "table": lambda line: (
        ("| name | text |\n|---|---|\n" if line % 40 == 1 else "")
        + f"| LINE {line:03} | {_words(line)} |\n"
        + ("\n" if line % 40 == 0 else "")
    ),
    "one table": lambda line: (
        ("| name | text |\n|---|---|\n" if line == 1 else "") + f"| LINE {line:03} | {_words(line)} |\n"
    ),
}
"""What each line adds to the answer."""


class Answer(Block):
    """Markdown that streams until it is final."""

    def __init__(self, theme: Theme) -> None:
        self.markdown = Markdown(theme)

    def is_final(self) -> bool:
        return self.markdown.is_finished

    def render(self, width: int) -> Sequence[str]:
        return self.markdown.render(width)

    def commit_boundary(self) -> CommitBoundary | None:
        return self.markdown.commit_boundary()


class LateTerminal(RecordingTerminal):
    """Has its new size at once, but the program learns it only with `report`."""

    def __init__(self, columns: int, rows: int, **options: Any) -> None:
        super().__init__(columns, rows, **options)
        self._reported = (columns, rows)
        self._watcher: Watcher | None = None

    @property
    def columns(self) -> int:
        return self._reported[0]

    @property
    def rows(self) -> int:
        return self._reported[1]

    def start(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def resize(self, columns: int, rows: int) -> None:
        self.recording.events.append(("resize", columns, rows))
        self._machine.resize(columns, rows)

    def report(self) -> None:
        size = self._machine.columns, self._machine.height
        if size != self._reported:
            self._reported = size
            if self._watcher is not None:
                self._watcher.on_resize()


class Plan(NamedTuple):
    """How an answer arrives, and how the terminal is resized meanwhile."""

    kind: str
    seed: int
    resizes: int = 20
    streaming: bool = True
    latest: int = 4
    """At most this many frames are written before the program learns of a new size."""
    typing: bool = False
    """Keys come meanwhile."""


def recorded(plan: Plan, capabilities: Capabilities, **options: Any) -> Recording:
    """What a terminal gets to see."""
    random = Random(plan.seed)
    terminal = LateTerminal(80, 24, capabilities=capabilities, **options)
    terminal.write("".join(f"SHELL {number}\r\n" for number in range(1, SHELL_LINES + 1)))
    timer, theme = FakeTimer(), Theme({})
    screen = Screen(terminal, theme=theme, timer=timer, hardware_cursor=False)
    transcript, activity, editor = Transcript([Text(theme, "> go")]), Text(theme), Editor(theme, Keymap())
    editor.set_border_text("model", "2% of 200k")
    screen.root.add(transcript, activity, editor)
    screen.focus(editor)
    screen.start()
    timer.advance(0.1)
    answer = Answer(theme)
    transcript.add(answer)
    activity.set_text(f"\n{STATUS}")
    made = 0

    def line() -> None:
        nonlocal made
        if made < LINES:
            made += 1
            answer.markdown.append(KINDS[plan.kind](made))
            screen.request_render()
            if plan.typing:
                screen.on_input([])
            timer.advance(0.035)

    def end() -> None:
        answer.markdown.finish()
        activity.set_text("")
        screen.request_render()
        timer.advance(1)

    for _ in range(5 if plan.streaming else LINES):
        line()
    if not plan.streaming:
        end()
    for number in range(plan.resizes):
        terminal.resize(random.randint(60, 140), random.randint(15, 40))
        for _ in range(random.randint(0, plan.latest) if random.random() < 0.5 else 0):
            line()
        terminal.report()
        for _ in range(random.randint(2, max(2, 2 * (LINES - made) // (plan.resizes - number)))):
            line()
        timer.advance(0.2 if not plan.streaming else 0)
    while made < LINES:
        line()
    end()
    return terminal.recording


class Outcome(NamedTuple):
    missing: list[int]
    repeated: list[int]
    shell: int
    statuses: int
    is_ordered: bool


def judge(rows: Sequence[str]) -> Outcome:
    """What the terminal holds in the end."""
    text = "\n".join(rows)
    found = [int(number) for number in _LINE.findall(text)]
    counts = Counter(found)
    once = [number for number in found if counts[number] == 1]
    shell = [int(number) for number in _SHELL.findall(text)]
    return Outcome(
        [number for number in range(1, LINES + 1) if number not in counts],
        [number for number, count in counts.items() if count > 1],
        len(shell) if shell == sorted(set(shell)) else -len(shell),
        text.count(STATUS),
        once == sorted(once),
    )
