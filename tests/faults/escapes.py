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


class Scene:
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

    script: Callable[[Scene], list[list[FauxStep]]]
    options: Callable[[Scene], dict[str, Any]] = lambda scene: {}
    watch: Callable[[Scene], Awaitable[None]] | None = None
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

    def __init__(self, scene: Scene) -> None:
        super().__init__([])
        self._scene = scene

    async def select(self, title: str, options: Sequence[str], *, timeout: float | None = None) -> str | None:
        self._scene.reached.set()
        await asyncio.Event().wait()
        raise AssertionError


class HangingHooks(Hooks):
    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._hangs = True

    async def before_request(self, request: Request) -> Request:
        if self._hangs:
            self._hangs = False
            self._scene.reached.set()
            await asyncio.Event().wait()
        return request


def busy(**more: Any) -> Fail:
    return Fail(ProviderError("busy, come back", status=529, retryable=True, **more))


def commands(*texts: str) -> Callable[[Scene], list[list[FauxStep]]]:
    return lambda scene: [[Use("bash", command=text) for text in texts]]


def steered(scene: Scene) -> list[list[FauxStep]]:
    def steer() -> None:
        assert scene.session is not None
        scene.session.steer("and then")
        scene.session.follow_up("at last")

    return [[Say("Half"), Act(steer), scene.arrive, Wait()]]


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
    "before the first byte": State(lambda scene: [[scene.arrive, Wait()]]),
    "streaming": State(lambda scene: [[scene.arrive, *([Say("x "), Wait(0.002)] * 20_000)]]),
    "a stream that stalls": State(lambda scene: [[Say("Half"), scene.arrive, Wait()]]),
    "a call that stalls": State(lambda scene: [[Use("bash", command="echo x", cut=9), scene.arrive, Wait()]]),
    "waiting for a retry": State(
        lambda scene: [[busy()]], lambda scene: SLOW_RETRIES, event="auto_retry_start"
    ),
    "waiting as long as the server asked": State(
        lambda scene: [[busy(retry_after=80)]], lambda scene: SLOW_RETRIES, event="auto_retry_start"
    ),
    "a command runs": State(commands("touch begun; sleep 1000"), watch=lambda scene: scene.file("begun")),
    "a command that floods": State(commands("touch begun; yes"), watch=lambda scene: scene.file("begun")),
    "a command that will not be told": State(
        commands("trap '' TERM INT HUP; touch begun; while :; do sleep 1; done"),
        watch=lambda scene: scene.file("begun"),
    ),
    "several commands run": State(
        commands("sleep 1000", "sleep 1001", "touch begun; sleep 1002"),
        watch=lambda scene: scene.file("begun"),
    ),
    "messages are queued": State(steered, keeps_waiting=("and then", "at last")),
    "a question is open": State(
        lambda scene: [[Use("write", path=str(scene.folder.parent / "outside.txt"), content="x")]],
        lambda scene: {"ui": HangingUi(scene)},
    ),
    "a compaction": State(lambda scene: [[Say("Yes.")], [Say("## Go"), scene.arrive, Wait()]], start=compact),
    "a title is made": State(lambda scene: [[Say("Yes.")], [Say("Half"), scene.arrive, Wait()]], start=name),
    "a hook hangs": State(lambda scene: [[Say("x")]], lambda scene: {"hooks": (HangingHooks(scene),)}),
}


async def escape(state: State, folder: Path) -> Escaped:
    """Bring a session into the state, press Escape, wait until it is idle, then prompt it again."""
    scene = Scene(folder)
    answers = state.script(scene)
    opening, faux = scripted([*answers, [Say("Here I am.")]], folder, **state.options(scene))
    async with asyncio.timeout(GUARD_S), opening as session:
        scene.session = session

        def on_event(event: AgentEvent) -> None:
            if event.__struct_config__.tag == state.event:
                scene.reached.set()

        session.subscribe(on_event)
        async with asyncio.TaskGroup() as group:
            group.create_task(_started(state.start(session)))
            if state.watch is not None:
                group.create_task(_started(state.watch(scene)))
            await scene.reached.wait()
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
