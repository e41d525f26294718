"""What the proxy decided, most recent last."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

MAX_DECISIONS = 1_000

ProxyVerdict: TypeAlias = Literal["allowed", "blocked", "failed"]


class ProxyDecision(Struct, frozen=True, kw_only=True):
    """`host` is empty if the request could not be read.

    "blocked": the sandbox did not let it through; "failed": it may connect, but the network would not.
    """

    number: int
    time: float
    host: str
    port: int
    verdict: ProxyVerdict
    reason: str = ""


class DecisionLog:
    """Keeps the last decisions; older ones are dropped and counted."""

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._decisions: deque[ProxyDecision] = deque(maxlen=MAX_DECISIONS)
        self.count = 0

    def add(self, host: str, port: int, verdict: ProxyVerdict, reason: str = "") -> None:
        self.count += 1
        self._decisions.append(
            ProxyDecision(
                number=self.count, time=self._clock(), host=host, port=port, verdict=verdict, reason=reason
            )
        )

    @property
    def dropped(self) -> int:
        return self.count - len(self._decisions)

    def since(self, number: int) -> Iterator[ProxyDecision]:
        """Those after the first `number`, as far as they are kept."""
        return (decision for decision in self._decisions if decision.number > number)
