"""Decides about each connection: listed, asked about, or refused. Then looks the host up and connects."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias

from tau.backends.sandbox.network.addresses import Connect, Lookup, Streams, reach
from tau.backends.sandbox.network.decision_log import DecisionLog
from tau.backends.sandbox.network.host_rules import WEB_PORTS, HostRules
from tau.backends.sandbox.network.targets import RefusedTargetError, Target
from tau.base.addresses import is_public
from tau.base.tasks import spawn

Ask: TypeAlias = Callable[[str, int], Awaitable[bool]]


class ConnectionRules(Protocol):
    """What a proxy asks about each connection. `has_local_names`: names such as localhost are known too."""

    @property
    def has_local_names(self) -> bool: ...
    def is_raw(self, target: Target) -> bool: ...
    async def open(self, target: Target) -> Streams: ...


class ConnectionPolicy:
    """One per sandbox. `ask` answers for hosts that are not listed; without it they are refused.

    Requests for the same host and port share one question. A host is looked up only once it may be reached:
    the lookup itself would tell its name server something.
    """

    has_local_names = False

    def __init__(
        self, group: asyncio.TaskGroup, rules: HostRules, ask: Ask | None, look_up: Lookup, connect: Connect
    ) -> None:
        self._group = group
        self._rules = rules
        self._ask = ask
        self._look_up = look_up
        self._connect = connect
        self._questions: dict[Target, asyncio.Task[bool]] = {}

    def is_raw(self, target: Target) -> bool:
        """Whether the user named an odd port: then any protocol may go through."""
        return target.port not in WEB_PORTS and self._rules.names_port(target)

    async def open(self, target: Target) -> Streams:
        """Raises RefusedTargetError, or OSError if the network fails."""
        if target.is_address and not is_public(target.host):
            raise RefusedTargetError("the address is not public")
        if target.port not in WEB_PORTS and not self._rules.names_port(target):
            raise RefusedTargetError(f"port {target.port} is not 80 or 443")
        if not self._rules.covers(target) and not await self._is_granted(target):
            raise RefusedTargetError(f"{target.host} is not an allowed host")
        return await reach(target.host, target.port, self._look_up, self._connect)

    async def _is_granted(self, target: Target) -> bool:
        if self._ask is None:
            return False
        question = self._questions.get(target)
        if question is None:
            question = spawn(self._group, self._put(target, self._ask))
            self._questions[target] = question
        return await asyncio.shield(question)

    async def _put(self, target: Target, ask: Ask) -> bool:
        try:
            return await ask(target.host, target.port)
        finally:
            del self._questions[target]


class RecordedConnections:
    """Records what the policy decides."""

    def __init__(self, policy: ConnectionRules, decisions: DecisionLog) -> None:
        self.is_raw = policy.is_raw
        self.has_local_names = policy.has_local_names
        self._policy = policy
        self._decisions = decisions

    async def open(self, target: Target) -> Streams:
        try:
            streams = await self._policy.open(target)
        except RefusedTargetError as error:
            self.block(target, str(error))
            raise
        except OSError as error:
            self._decisions.add(target.host, target.port, "failed", str(error))
            raise
        self._decisions.add(target.host, target.port, "allowed")
        return streams

    def block(self, target: Target | None, reason: str) -> None:
        host, port = ("", 0) if target is None else (target.host, target.port)
        self._decisions.add(host, port, "blocked", reason)
