"""Sets up a named screen: its own home, a frozen clock, a scripted model."""

import json
import os
import re
import secrets
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from string import ascii_lowercase
from types import FrameType
from typing import Any, NamedTuple
from unittest.mock import patch

from tau.ai.faux import FauxStep
from tau.ai.model import Model, Price
from tau.base.errors import TauError
from tau.base.version import VERSION
from tau.modes.interactive.dialogs.dialog_host import Dialogs
from tau.tui.render.screen import Screen as TuiScreen
from tau.tui.style import UNICODE
from tests.modes.interactive.clock import ScreenClock
from tests.modes.interactive.rig import Rig, rigged
from tests.support import memory
from tests.support.idle import rest
from tests.support.terminal.virtual import VirtualTerminal

HOME = "/home/adalovelace"
"""How the home folder is displayed; the real path has the same length, so that nothing moves."""
PROJECT = "greeting"
LARGE = Model(
    id="example-large",
    name="Example Large",
    api="openai-completions",
    provider="example",
    base_url="http://127.0.0.1:9/v1",
    reasoning=True,
    input=("text", "image"),
    cost=Price(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75),
    context_window=200_000,
    max_tokens=8_192,
)
MODELS = [
    {"id": LARGE.id, "name": LARGE.name, "reasoning": True, "contextWindow": LARGE.context_window},
    {"id": "example-small", "name": "Example Small", "contextWindow": 64_000},
]
SETTINGS: dict[str, Any] = {"titles.enabled": False, "local.discover": False, "local.embedded": False}
FILES = {
    "greeting.py": 'def greet(name):\n    return "Hello, " + nmae\n',
    "README.md": "# Greeting\n\nSays hello.\n",
    "tests/test_greeting.py": "from greeting import greet\n\n\n"
    'def test_greeting():\n    assert greet("Ada") == "Hello, Ada"\n',
}
ROWS = 24
QUIET_ROUNDS = 3
ROUND_S = 0.015
START_S = 1000.0
ID = "01970000-0000-7000-8000-000000000000"
_OURS = "tau.modes.interactive."
_MASKS = (
    (re.compile(f"[{''.join(UNICODE.spinner)}]"), UNICODE.spinner[0]),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"), ID),
    (re.compile(r"T\d\d-\d\d-\d\d-\d{3}Z"), "T12-00-00-000Z"),
    (re.compile(r"20\d\d-\d\d-\d\d \d\d:\d\d"), "2026-01-31 12:00"),
    (re.compile(r"20\d\d-\d\d-\d\d"), "2026-01-31"),
    # Durations of commands vary, and are shown only above a threshold.
    (re.compile(r"(?:  |, )\d[\d.]* m?s$", re.MULTILINE), ""),
    (re.compile(r" {2,}\d[\d.]* m?s(?=  )"), "  0 ms"),
)


class StillClock(ScreenClock):
    """A frozen clock: time passes only when skipped, while scheduled calls still run."""

    def time(self) -> float:
        return START_S + self._skipped_s


class Stage(Rig):
    """A rig driven by a screen's script."""

    project: Path
    home: Path
    opened: list[str]
    """The functions that opened the dialogs shown, as `module.function`."""

    @property
    def linear(self) -> bool:
        return self.front.theme.linear

    def tape(self) -> str:
        """The history and the screen; only the screen while it is the alternate one."""
        return self.screen() if self.terminal.alternate else super().tape()

    async def show(self, text: str) -> str:
        """Wherever it is wrapped, even if it has scrolled away."""
        await self.until(lambda: flat(text) in flat(self.tape()), f"{text!r} on the screen")
        return self.tape()

    async def ask(self, text: str, then: str) -> None:
        """Send it, and wait for the outcome and the end of the run."""
        await self.send(text)
        await self.show(then)
        await self.until(
            lambda: self.current.session is not None and not self.current.session.busy, "the end of the run"
        )

    async def wait(self, seconds: float) -> None:
        """Let this much screen time pass."""
        self.skip(seconds)
        if not self.linear:
            await self.show(f"({seconds:.0f} s,")

    async def settled(self) -> None:
        """Wait until the screen stops changing."""
        same, before = 0, ""
        while same < (1 if await rest(ROUND_S) else QUIET_ROUNDS):
            self.front.screen.render_now()
            now = masked(self.tape(), self.home)
            same, before = (same + 1 if now == before else 0), now


Play = Callable[[Stage], Awaitable[None]]
Script = Sequence[Sequence[FauxStep]]


class Screen(NamedTuple):
    """The model's script, the keyboard input, and what must be visible at the end.

    `shows` is visible from 40 columns on, in every look, and announced to a screen reader; `wide` from 80
    columns on, but not to a screen reader, which gets `announced`. `opens` names the functions that open the
    dialog, `command` the command it is a screen of. `typed` is the text before the cursor; None: no cursor.
    """

    play: Play
    shows: tuple[str, ...]
    answers: Script = ()
    wide: tuple[str, ...] = ()
    announced: tuple[str, ...] = ()
    opens: str = ""
    command: str = ""
    settings: Mapping[str, Any] = {}
    files: Mapping[str, str] = {}
    own: str = ""
    """Characters typed by users, beside those of answers and files."""
    varies: str = ""
    """A pattern of numbers that depend on the wording of prompts; captured as zeros."""
    golden: bool = True
    """False: its text differs between machines or releases."""
    refusals: tuple[TauError, ...] = ()
    typed: str | None = ""
    before: Callable[[Path], None] | None = None
    """Runs in the project folder before the program starts."""


@contextmanager
def a_home() -> Iterator[Path]:
    """A home folder whose path is as long as `HOME`, and an environment with nothing else."""
    folder = Path("/tmp").resolve()
    # Only letters: an estimate of tokens counts digits for more, and the path is in the prompt.
    letters = (secrets.choice(ascii_lowercase) for _ in range(len(HOME) - len(str(folder)) - 1))
    home = folder / "".join(letters)
    home.mkdir(mode=0o700)
    memory.keep(home)
    environ = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "TAU_BROWSER_PATH": "/nonexistent/chromium",
        "TERM": "xterm-kitty",
        "LC_ALL": "C.UTF-8",
        "TAU_HOME": str(home / ".tau" / "agent"),
        "XDG_RUNTIME_DIR": str(home / ".run"),
        "SHELL": "/bin/sh",
    }
    try:
        with patch.dict(os.environ, environ, clear=True):
            yield home
    finally:
        memory.forget(home)
        shutil.rmtree(home, ignore_errors=True)


def furnish(home: Path, files: Mapping[str, str]) -> Path:
    """The project with its files, and a provider with two models."""
    project = home / PROJECT
    for name, content in {**FILES, **files}.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    agent = home / ".tau" / "agent"
    agent.mkdir(parents=True)
    provider = {"baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions", "apiKey": "x"}
    models = {"providers": {"example": {**provider, "models": MODELS}}}
    (agent / "models.json").write_text(json.dumps(models), encoding="utf-8")
    return project


@asynccontextmanager
async def staged(
    screen: Screen, terminal: VirtualTerminal, settings: Mapping[str, Any] | None = None
) -> AsyncIterator[Stage]:
    """The screen at the end of its script, once nothing changes."""
    opened: list[str] = []
    with a_home() as home, _noted(opened):
        project = furnish(home, screen.files)
        if screen.before is not None:
            screen.before(project)
        clock = StillClock()
        async with rigged(
            project,
            screen.answers,
            terminal=terminal,
            clock=clock,
            refusals=screen.refusals,
            settings={**SETTINGS, **screen.settings, **(settings or {})},
        ) as rig:
            stage = Stage(rig.app, rig.front, rig.terminal, rig.faux, clock)
            stage.project, stage.home, stage.opened = project, home, opened
            if not screen.refusals:
                stage.session.use_model(LARGE)
                stage.parts.status_line.refresh()
            await screen.play(stage)
            await stage.settled()
            yield stage


@contextmanager
def _noted(opened: list[str]) -> Iterator[None]:
    """Record who opens dialogs."""
    ask, show = Dialogs.ask, TuiScreen.show_alternate

    def note(frame: FrameType | None) -> None:
        while frame is not None:
            module = str(frame.f_globals.get("__name__", ""))
            if module.startswith(_OURS):
                opened.append(f"{module.removeprefix(_OURS)}.{frame.f_code.co_qualname}")
            frame = frame.f_back

    async def asking(*args: Any, **options: Any) -> Any:
        note(sys._getframe(1))
        return await ask(*args, **options)

    def showing(*args: Any) -> None:
        note(sys._getframe(1))
        show(*args)

    with patch.object(Dialogs, "ask", asking), patch.object(TuiScreen, "show_alternate", showing):
        yield


def masked(text: str, home: Path) -> str:
    """The text without variable parts: paths, ids, dates, spinners. Widths stay."""
    text = text.replace(str(home), HOME).replace(_slug(str(home)), _slug(HOME))
    text = text.replace(f"tau {VERSION}", "tau 0.0.0")
    for pattern, instead in _MASKS:
        text = pattern.sub(instead, text)
    return text


def _slug(path: str) -> str:
    """The name of the session folder for a working folder."""
    return path.strip("/").replace("/", "-")


def flat(text: str) -> str:
    """The text without blanks and frames, so that wrapped text is found."""
    return re.sub(r"[\s│┃|─╭╮╰╯]+", "", text)
