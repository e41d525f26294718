"""What agents may spend: requests, tokens and money, each agent within its callers' limits."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from tau.agent.loop_owner import StreamFunction
from tau.ai.assembler import FREE, compute_usage
from tau.ai.dialect import Delta, Request, Tokens
from tau.ai.model import Model
from tau.ai.wire import Usage
from tau.base.errors import BudgetExhausted, ProviderError
from tau.coding.session.stats import add_usage
from tau.coding.task.definition import AgentBudget

STOP_FACTOR = 1.5
"""Above this multiple of the request budget, the turn stops and a yield is forced."""
LAST_REQUESTS = 3
"""Requests that are left then."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 300.0
SPACING_S = 0.05
"""Between the requests of agents that waited for the same provider."""


class AgentMeter(Struct, eq=False):
    """Counts what one agent and the agents it started use. `parent` is the meter of its caller."""

    name: str
    limits: AgentBudget = AgentBudget()
    parent: "AgentMeter | None" = None
    requests: int = 0
    """Since the last assignment or wake."""
    total_requests: int = 0
    tokens: int = 0
    cost: float = 0.0
    own: Usage = field(default_factory=Usage)
    by_model: dict[tuple[str, str], Usage] = field(default_factory=dict)
    last_requests: int | None = None
    """How many requests are left, once a yield is forced."""

    def count(self, model: Model, usage: Usage) -> None:
        self.own = add_usage(self.own, usage)
        key = (model.provider, model.id)
        self.by_model[key] = add_usage(self.by_model.get(key, Usage()), usage)
        meter: AgentMeter | None = self
        while meter is not None:
            meter.tokens += usage.input + usage.output + usage.cache_read + usage.cache_write
            meter.cost += usage.cost.total
            meter = meter.parent

    def exhausted(self) -> str | None:
        """Which limit is used up, its own or a caller's, as a sentence."""
        meter: AgentMeter | None = self
        while meter is not None:
            limits, whose = meter.limits, "" if meter is self else f" of {meter.name}"
            if limits.cost and meter.cost >= limits.cost:
                return f"The budget{whose} of ${limits.cost:g} is used up (${meter.cost:.4f} spent)."
            if limits.tokens and meter.tokens >= limits.tokens:
                return f"The budget{whose} of {limits.tokens:,} tokens is used up ({meter.tokens:,} used)."
            meter = meter.parent
        if self.last_requests is not None and self.last_requests <= 0:
            return f"The budget of {self.limits.requests} requests is used up, and no yield followed."
        return None

    @property
    def must_stop(self) -> bool:
        budget = self.limits.requests
        return bool(budget) and self.last_requests is None and self.requests >= budget * STOP_FACTOR

    @property
    def limits_cost(self) -> bool:
        meter: AgentMeter | None = self
        while meter is not None:
            if meter.limits.cost:
                return True
            meter = meter.parent
        return False


class ProviderPauses:
    """All agents of a provider wait together while it limits their rate."""

    def __init__(self) -> None:
        self._until_s: dict[str, float] = {}
        self._strikes: dict[str, int] = {}
        self._turns: dict[str, asyncio.Lock] = {}

    def pause(self, provider: str, seconds: float | None) -> None:
        now = time.monotonic()
        if now >= self._until_s.get(provider, 0.0):
            self._strikes[provider] = self._strikes.get(provider, 0) + 1
        usual = min(FIRST_PAUSE_S * 2 ** (self._strikes.get(provider, 1) - 1), LONGEST_PAUSE_S)
        until = now + min(usual if seconds is None else seconds, LONGEST_PAUSE_S)
        self._until_s[provider] = max(self._until_s.get(provider, 0.0), until)

    def succeed(self, provider: str) -> None:
        self._strikes.pop(provider, None)

    async def wait(self, provider: str) -> None:
        if self._until_s.get(provider, 0.0) <= time.monotonic():
            return
        async with self._turns.setdefault(provider, asyncio.Lock()):
            left = self._until_s[provider] - time.monotonic()
            await asyncio.sleep(max(left, 0.0) + SPACING_S)


class RequestGate(Struct, frozen=True):
    """Checks and counts each request of one agent, side requests included."""

    meter: AgentMeter
    pauses: ProviderPauses
    check: Callable[[Model], None] = lambda model: None
    """Raises TauError if the agent must not send another request."""
    turn: Callable[[], Awaitable[None]] | None = None

    def wrap(self, stream: StreamFunction) -> StreamFunction:
        async def gated(model: Model, request: Request) -> AsyncGenerator[Delta, None]:
            await self.pauses.wait(model.provider)
            if self.turn is not None:
                await self.turn()
            self.check(model)
            meter = self.meter
            if (reason := meter.exhausted()) is not None:
                raise BudgetExhausted(reason)
            meter.requests += 1
            meter.total_requests += 1
            if meter.last_requests is not None:
                meter.last_requests -= 1
            counted: dict[str, Any] = {}
            try:
                async with aclosing(stream(model, request)) as deltas:
                    async for delta in deltas:
                        if type(delta) is Tokens:
                            known = ((name, getattr(delta, name)) for name in delta.__struct_fields__)
                            counted.update((name, value) for name, value in known if value is not None)
                        yield delta
                self.pauses.succeed(model.provider)
            except ProviderError as error:
                if error.status == 429 or error.kind in ("rateLimit", "overloaded"):
                    self.pauses.pause(model.provider, error.retry_after)
                raise
            finally:
                if counted:
                    meter.count(model, compute_usage(Tokens(**counted), model.cost))

        return gated


def limit_session(stream: StreamFunction, budget: AgentBudget) -> tuple[AgentMeter, StreamFunction]:
    """For the main conversation; tokens and cost include those of its agents."""
    meter = AgentMeter("the session", AgentBudget(tokens=budget.tokens, cost=budget.cost))
    began = time.monotonic()

    def check(model: Model) -> None:
        if budget.requests and meter.total_requests >= budget.requests:
            raise BudgetExhausted(f"The budget of {budget.requests} turns is used up.")
        if budget.seconds and time.monotonic() - began >= budget.seconds:
            raise BudgetExhausted(f"The time limit of {budget.seconds / 60:g} minutes is over.", "timeout")

    return meter, RequestGate(meter, ProviderPauses(), check).wrap(stream)


def session_budget(chosen: AgentBudget | None, cost: float) -> AgentBudget:
    return replace(chosen or AgentBudget(), cost=cost)


def is_unpriced(model: Model) -> bool:
    return model.cost == FREE


def tightest(own: AgentBudget, settings: AgentBudget) -> AgentBudget:
    """Of each limit the lower one; 0 is none."""

    def lower(name: str) -> float:
        values = [value for value in (getattr(own, name), getattr(settings, name)) if value]
        return min(values, default=0)

    return AgentBudget(int(lower("requests")), int(lower("tokens")), lower("cost"), int(lower("seconds")))
