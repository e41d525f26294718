"""Tests of extensions without a model: a scripted model, a scripted user, and what the extension did.

with run(extension, [[Use("my_tool", text="hi")], [Say("done")]]) as tau:
    assert tau.prompt("go") == "done"
    assert tau.tool_results == ["..."]
"""

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from heapq import heappop, heappush
from pathlib import Path
from typing import Any, cast

from tau.agent.events import AgentEvent, ExtensionFault, ToolEnd
from tau.agent.ui import NoticeLevel
from tau.ai.dialect import Request
from tau.ai.faux import Act, Count, Fail, Faux, FauxStep, Say, Stop, Think, Use, Wait
from tau.base.errors import TauError
from tau.coding.session.session import Session
from tau.ext.extensions.api import ExtensionAPI
from tau.ext.extensions.calls import DaemonThreads
from tau.ext.extensions.host import ExtensionHost
from tau.sdk import SessionOptions, create_session

__all__ = [
    "Act",
    "Count",
    "ExtensionTest",
    "Fail",
    "Say",
    "ScriptedUi",
    "Stop",
    "Think",
    "Use",
    "Wait",
    "run",
]


MAX_WAIT_S = 5.0
SLEEPS_S = 1.0
"""A handler that runs for longer, but not in a thread, sleeps."""


class ScriptedUi:
    """Answers dialogs from a list, in order; `asked` are their titles. Without an answer, it cancels."""

    def __init__(self, answers: Sequence[Any] = ()) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.notices: list[str] = []
        self.statuses: dict[str, str] = {}
        self.widgets: dict[str, list[str]] = {}
        self.titles: list[str] = []

    async def select(self, title: str, options: Sequence[str], *, timeout: float | None = None) -> str | None:
        answer = self._answer(title)
        if answer is not None and answer not in options:
            raise AssertionError(f'"{answer}" is not an option of "{title}": {list(options)}')
        return answer if answer is None else str(answer)

    async def confirm(self, title: str, message: str, *, timeout: float | None = None) -> bool | None:
        answer = self._answer(title)
        return None if answer is None else bool(answer)

    async def input(self, title: str, placeholder: str = "", *, timeout: float | None = None) -> str | None:
        return self._text(title)

    async def editor(self, title: str, prefill: str = "") -> str | None:
        return self._text(title)

    def notify(self, message: str, level: NoticeLevel = "info") -> None:
        self.notices.append(message)

    def status(self, key: str, text: str | None) -> None:
        self._keep(self.statuses, key, text)

    def widget(self, key: str, lines: Sequence[str] | None) -> None:
        self._keep(self.widgets, key, None if lines is None else list(lines))

    def title(self, text: str) -> None:
        self.titles.append(text)

    async def custom(self, component: Any) -> Any:
        return self._answer("custom")

    def _answer(self, title: str) -> Any:
        self.asked.append(title)
        return self.answers.pop(0) if self.answers else None

    def _text(self, title: str) -> str | None:
        answer = self._answer(title)
        return None if answer is None else str(answer)

    @staticmethod
    def _keep(texts: dict[str, Any], key: str, value: Any) -> None:
        name = key.partition(":")[2] or key
        if value is None:
            texts.pop(name, None)
        else:
            texts[name] = value


class _Face:
    mode = "interactive"
    screen = None

    def __init__(self, test: "ExtensionTest") -> None:
        self._test = test
        self.display = test.ui

    def prompt(self, text: str) -> None:
        self._test.sent.append(text)

    def wake(self) -> None:
        self._test.sent.append("")

    def set_editor(self, text: str) -> None:
        self._test.editor = text

    def shutdown(self) -> None:
        self._test.is_shut_down = True

    async def change_session(self, change: Any) -> bool:
        self._test.changes.append(change)
        return True


class ExtensionTest:
    """A session with one extension. `sent` are messages that it sent as the user, "" a turn it started."""

    def __init__(self, session: Session, faux: Faux, ui: ScriptedUi, loop: asyncio.Runner) -> None:
        assert session.extensions is not None
        self.session, self.ui = session, ui
        self.sent: list[str] = []
        self.changes: list[Any] = []
        self.editor = ""
        self.is_shut_down = False
        self.events: list[AgentEvent] = []
        self._faux, self._loop = faux, loop
        session.subscribe(self.events.append)
        session.extensions.attach(_Face(self))

    def prompt(self, text: str) -> str:
        """Send a message; the text of the last answer. Raises TauError if the run fails."""
        outcome = self._loop.run(self.session.prompt(text))
        self.settle()
        if outcome.error is not None:
            raise outcome.error
        return "" if outcome.message is None else outcome.message.text

    def command(self, text: str) -> None:
        """Run `/name arguments`. Raises TauError if there is no such command."""
        assert self.session.extensions is not None
        if not self._loop.run(self.session.extensions.run_command(text)):
            raise TauError(f"No extension has the command {text}.")
        self.settle()

    def shortcut(self, key: str) -> None:
        """Press a key that the extension bound."""
        assert self.session.extensions is not None
        for shortcut in self.session.extensions.shortcuts():
            if shortcut.key == key:
                self._loop.run(_awaited(shortcut.run()))
                self.settle()
                return
        raise TauError(f"No extension has the shortcut {key}.")

    def skip(self, seconds: float) -> None:
        """Let time pass at once: what waits on the event loop runs, in its order."""
        clock, extensions = self._loop.get_loop(), cast(ExtensionHost, self.session.extensions)
        assert isinstance(clock, SkippingLoop)
        end = clock.time() + seconds
        while (due := clock.next_due(end)) is not None:
            clock.skipped += max(due - clock.time(), 0)
            self._loop.run(_let_run(extensions.calls.threads))
        clock.skipped += max(end - clock.time(), 0)

    def settle(self) -> None:
        """Wait until the handlers of all past events have run; those that sleep need `skip`."""
        self._loop.run(_settle(cast(ExtensionHost, self.session.extensions)))

    def rows(self, component: Any, width: int = 80) -> list[str]:
        """The rows of a component, without styles. Raises AssertionError for rows that tau would not show."""
        rows = [str(row) for row in component.render(width)]
        for row in rows:
            assert len(row) <= 20 * width and "\n" not in row and "\t" not in row, f"unclean row: {row!r}"
        return rows

    @property
    def requests(self) -> list[Request]:
        """What the model was sent."""
        return self._faux.requests

    @property
    def tool_results(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, ToolEnd)]

    @property
    def faults(self) -> list[str]:
        """Failures of the extension, as `event: error`."""
        return [f"{one.event}: {one.error}" for one in self.events if isinstance(one, ExtensionFault)]


class SkippingLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock can be put forward."""

    skipped = 0.0

    def __init__(self) -> None:
        super().__init__()
        self._due: list[float] = []

    def time(self) -> float:
        return super().time() + self.skipped

    def call_at(  # type: ignore[override]
        self, when: float, callback: Any, *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        heappush(self._due, when)
        return super().call_at(when, callback, *args, context=context)

    def next_due(self, end: float) -> float | None:
        """When the next timer was to run, until `end`."""
        return heappop(self._due) if self._due and self._due[0] <= end else None


async def _settle(extensions: ExtensionHost) -> None:
    await extensions.facts.settle(SLEEPS_S)
    while extensions.calls.threads.running:
        await extensions.facts.settle(SLEEPS_S)


async def _let_run(threads: DaemonThreads) -> None:
    """Run what is due, and what it calls in threads, which need real time."""
    give_up = time.monotonic() + MAX_WAIT_S
    for _ in range(10):  # a timer, its task, and what that wakes
        await asyncio.sleep(0)
        while threads.running and time.monotonic() < give_up:  # noqa: ASYNC110
            await asyncio.sleep(0)


def _nothing(tau: ExtensionAPI) -> None:
    """The extension of a test that is about a plugin."""


async def _awaited(work: Any) -> Any:
    return await work


@contextmanager
def run(
    extension: Callable[..., Any] | Path,
    replies: Sequence[Sequence[FauxStep]] = ((Say("ok"),),),
    *,
    answers: Sequence[Any] = (),
    cwd: Path | None = None,
    flags: dict[str, str] | None = None,
    settings: dict[str, Any] | None = None,
) -> Iterator[ExtensionTest]:
    """A session in `cwd`, or a temporary folder, with its own home; everything is allowed.

    `extension` is a function, or the folder of a plugin, which is used with all it has. `replies` are the
    model's answers, `answers` those of the user to dialogs.
    """
    plugin, function = (extension, _nothing) if isinstance(extension, Path) else (None, extension)
    ui, faux = ScriptedUi(answers), Faux([list(reply) for reply in replies])
    with (
        tempfile.TemporaryDirectory(prefix="tau-test-") as home,
        asyncio.Runner(loop_factory=SkippingLoop) as loop,
    ):
        folder = cwd or Path(home, "work")
        folder.mkdir(exist_ok=True)
        options = SessionOptions(
            cwd=folder,
            stream=faux.stream,
            session_dir=Path(home, "sessions"),
            settings={"tools.approvalMode": "yolo", "sandbox.mode": "off", **(settings or {})},
            extension_functions=(function,),
            plugin_dirs=() if plugin is None else (plugin.resolve(),),
            no_extensions=plugin is None,
            flags=flags or {},
            ui=ui,
        )
        services = AsyncExitStack()
        environ = {"TAU_HOME": str(Path(home, "agent")), "HOME": home, "PATH": "/usr/local/bin:/usr/bin:/bin"}
        session = loop.run(services.enter_async_context(create_session(options, environ)))
        try:
            test = ExtensionTest(session, faux, ui, loop)
            test.settle()
            yield test
        finally:
            loop.run(services.aclose())
