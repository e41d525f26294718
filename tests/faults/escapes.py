"""States of a session from which Escape must lead to idle, and how to get there. See `STATES`."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tau.agent.abort import Aborted
from tau.agent.events import AgentEvent
from tau.agent.hooks import Hooks
from tau.ai.dialect import Request
from tau.ai.faux import Act, Fail, Faux, FauxStep, Say, Use, Wait
from tau.base.errors import ProviderError
from tau.coding.session.session import Session
from tests.agent.agent_rig import until
from tests.coding.context import FakeUi
from tests.coding.session.rig import scripted

GUARD_S = 60  # far more than it takes: a hang must fail, not stall


class EscapeRun:
    """One play of a state: `reached` is set when it is time to press Escape."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.reached = asyncio.Event()
        self.session: Session | None = None

    @property
    def arrive(self) -> Act:
        return Act(self.reached.set)

    async def file(self, name: str) -> None:
        """Arrive as soon as a command has written this file."""
        await until((self.folder / name).exists)
        self.reached.set()


@dataclass(frozen=True)
class State:
    """`script` is the model's part; `watch` says when the moment has come, if not the script itself."""

    script: Callable[[EscapeRun], list[list[FauxStep]]]
    options: Callable[[EscapeRun], dict[str, Any]] = lambda run: {}
    watch: Callable[[EscapeRun], Awaitable[None]] | None = None
    event: str | None = None  # the moment is when this event arrives
    start: Callable[[Session], Awaitable[object]] = lambda session: session.prompt("go")
    keeps_waiting: Sequence[str] = ()  # what is still queued afterwards


@dataclass
class Escaped:
    session_was_busy: bool
    seconds: float
    waiting: list[str] = field(default_factory=list)
    next_request: Request | None = None


class HangingUi(FakeUi):
    """Asks a question that nobody answers."""

    def __init__(self, run: EscapeRun) -> None:
        super().__init__([])
        self._run = run

    async def select(self, title: str, options: Sequence[str], *, timeout: float | None = None) -> str | None:
        self._run.reached.set()
        await asyncio.Event().wait()
        raise AssertionError


class HangingHooks(Hooks):
    def __init__(self, run: EscapeRun) -> None:
        self._run = run
        self._hangs = True

    async def before_request(self, request: Request) -> Request:
        if self._hangs:
            self._hangs = False
            self._run.reached.set()
            await asyncio.Event().wait()
        return request


def busy(**more: Any) -> Fail:
    return Fail(ProviderError("busy, come back", status=529, retryable=True, **more))


def commands(*texts: str) -> Callable[[EscapeRun], list[list[FauxStep]]]:
    return lambda run: [[Use("bash", command=text) for text in texts]]


def steered(run: EscapeRun) -> list[list[FauxStep]]:
    def steer() -> None:
        assert run.session is not None
        run.session.steer("and then")
        run.session.follow_up("at last")

    return [[Say("Half"), Act(steer), run.arrive, Wait()]]


async def compact(session: Session) -> None:
    await session.prompt("many words " * 4_000)
    with suppress(Aborted):
        await session.compact()


async def name(session: Session) -> None:
    await session.prompt("go")
    with session.activities.begin() as abort:
        await session.names.suggest(abort)


SLOW_RETRIES = {"settings": {"retry.baseDelayMs": 60_000, "retry.maxDelayMs": 90_000}}
STATES = {
    "before the first byte": State(lambda run: [[run.arrive, Wait()]]),
    "streaming": State(lambda run: [[run.arrive, *([Say("x "), Wait(0.002)] * 20_000)]]),
    "a stream that stalls": State(lambda run: [[Say("Half"), run.arrive, Wait()]]),
    "a call that stalls": State(lambda run: [[Use("bash", command="echo x", cut=9), run.arrive, Wait()]]),
    "waiting for a retry": State(lambda run: [[busy()]], lambda run: SLOW_RETRIES, event="auto_retry_start"),
    "waiting as long as the server asked": State(
        lambda run: [[busy(retry_after=80)]], lambda run: SLOW_RETRIES, event="auto_retry_start"
    ),
    "a command runs": State(commands("touch begun; sleep 1000"), watch=lambda run: run.file("begun")),
    "a command that floods": State(commands("touch begun; yes"), watch=lambda run: run.file("begun")),
    "a command that will not be told": State(
        commands("trap '' TERM INT HUP; touch begun; while :; do sleep 1; done"),
        watch=lambda run: run.file("begun"),
    ),
    "several commands run": State(
        commands("sleep 1000", "sleep 1001", "touch begun; sleep 1002"),
        watch=lambda run: run.file("begun"),
    ),
    "messages are queued": State(steered, keeps_waiting=("and then", "at last")),
    "a question is open": State(
        lambda run: [[Use("write", path=str(run.folder.parent / "outside.txt"), content="x")]],
        lambda run: {"ui": HangingUi(run)},
    ),
    "a compaction": State(lambda run: [[Say("Yes.")], [Say("## Go"), run.arrive, Wait()]], start=compact),
    "a title is made": State(lambda run: [[Say("Yes.")], [Say("Half"), run.arrive, Wait()]], start=name),
    "a hook hangs": State(lambda run: [[Say("x")]], lambda run: {"hooks": (HangingHooks(run),)}),
}


async def escape(state: State, folder: Path) -> Escaped:
    """Bring a session into the state, press Escape, wait until it is idle, then prompt it again."""
    run = EscapeRun(folder)
    answers = state.script(run)
    opening, faux = scripted([*answers, [Say("Here I am.")]], folder, **state.options(run))
    async with asyncio.timeout(GUARD_S), opening as session:
        run.session = session

        def on_event(event: AgentEvent) -> None:
            if event.__struct_config__.tag == state.event:
                run.reached.set()

        session.subscribe(on_event)
        async with asyncio.TaskGroup() as group:
            group.create_task(_started(state.start(session)))
            if state.watch is not None:
                group.create_task(_started(state.watch(run)))
            await run.reached.wait()
            await asyncio.sleep(0.01)  # into the middle of it
            was_busy, begun = session.busy, time.perf_counter()
            session.abort()
        escaped = Escaped(was_busy, time.perf_counter() - begun)
        escaped.waiting = [item.text for item in session.queue.waiting()]
        assert not session.busy
        await _next(session, faux, escaped)
    return escaped


async def _next(session: Session, faux: Faux, escaped: Escaped) -> None:
    asked = len(faux.requests)
    outcome = await session.prompt("Are you there?")
    assert outcome.error is None and not outcome.aborted
    escaped.next_request = faux.requests[asked]


async def _started(work: Awaitable[object]) -> None:
    await work
