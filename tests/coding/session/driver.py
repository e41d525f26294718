"""The runner and its recovery with the scripted model and a fake compaction."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tau.agent.abort import Abort
from tau.agent.events import AgentEvent, Notice
from tau.agent.hooks import Hooks
from tau.agent.loop import Outcome
from tau.ai.faux import FAUX_MODEL, Faux, FauxStep
from tau.ai.model import Model
from tau.ai.wire import ImageContent, TextContent, UserMessage
from tau.base.errors import ProviderError
from tau.base.run import LocalRunner
from tau.coding.context import ModelRoles
from tau.coding.session.activities import Activities
from tau.coding.session.fallback import Fallbacks
from tau.coding.session.recovery import CompactContext, RoomReason, RunRecovery
from tau.coding.session.runner import AgentRunner, RequestSetup
from tau.coding.session.storage.log import SessionLog
from tau.config.settings import RetrySettings, Settings
from tau.sdk.environment import make_environment
from tests.agent.agent_rig import Echo, names
from tests.support.limits import HANG_S

QUICK = RetrySettings(max_retries=2, base_delay_ms=1)
PICTURE = ImageContent("iVBORw0KGgo=", "image/png")


def busy(**fields: Any) -> ProviderError:
    return ProviderError("busy, come back", **{"status": 529, "retryable": True, **fields})


def other_model(name: str) -> Model:
    return replace(FAUX_MODEL, id=name, provider="other")


class Driver:
    """`asked` lists the reasons of compactions; `room` answers them in turn, its last item repeatedly.

    `compact` replaces the fake.
    """

    def __init__(
        self,
        script: Sequence[Sequence[FauxStep]],
        *,
        retry: RetrySettings = QUICK,
        log: SessionLog | None = None,
        model: Model = FAUX_MODEL,
        find: Callable[[str], Model | None] = other_model,
        room: Sequence[bool] | None = None,
        compact: CompactContext | None = None,
        roles: Mapping[str, Model] | None = None,
    ) -> None:
        self.faux = Faux(script)
        self.log = log or SessionLog.new(None, Path("/"))
        self.models = ModelRoles(model, roles)
        self.events: list[AgentEvent] = []
        self.asked: list[RoomReason] = []
        self._room = list(room or ())
        if room is not None:
            compact = self._make_room

        async def resolve(pattern: str) -> Model | None:
            return find(pattern)

        settings = Settings(retry=retry)
        environment = make_environment(self.log, Path("/"), LocalRunner(), self.models, settings)
        self.bus = environment.events
        self.plan = environment.plan
        setup = RequestSetup(
            log=self.log,
            models=self.models,
            thinking="off",
            system=lambda model: "",
            tools=[Echo()],
            settings=settings,
            plan=environment.plan,
        )
        self.fallbacks = Fallbacks(
            retry,
            self.log,
            model=setup.model,
            use_model=setup.switch_model,
            emit=self.bus.emit,
            resolve=resolve,
            roles=self.models.names,
        )
        self.recovery = RunRecovery(
            log=self.log,
            settings=retry,
            model=setup.model,
            limits=setup.limits,
            emit=self.bus.emit,
            compact=compact,
            fallbacks=self.fallbacks if retry.fallback_chains else None,
        )
        self.runner = AgentRunner(
            log=self.log,
            queue=environment.queue,
            hooks=Hooks(),
            next_request=setup,
            recovery=self.recovery,
            stream=self.faux.stream,
            world=environment.world,
            emit=self.bus.emit,
            activities=Activities(),
        )
        self.bus.subscribe(self.events.append)
        self.bus.watch(self.recovery.observe)

    @property
    def notices(self) -> list[str]:
        return [event.message for event in self.events if isinstance(event, Notice)]

    def events_about(self, word: str) -> list[str]:
        """The names of the events that contain this word."""
        return [name for name in names(self.events) if word in name]

    async def prompt(self, text: str = "go", *images: ImageContent, abort: Abort | None = None) -> Outcome:
        content: Any = [TextContent(text), *images] if images else text
        return await self.runner.run_prompt(UserMessage(content, 1), abort or Abort())

    async def _make_room(self, abort: Abort, reason: RoomReason) -> bool:
        if reason == "threshold":
            return False
        self.asked.append(reason)
        return self._room.pop(0) if len(self._room) > 1 else self._room[0]


def go(driver: Driver, text: str = "go", *images: ImageContent) -> Outcome:
    return asyncio.run(in_time(driver.prompt(text, *images)))


async def in_time(work: Coroutine[Any, Any, Outcome]) -> Outcome:
    """Fails a test that would hang."""
    async with asyncio.timeout(HANG_S):
        return await work
