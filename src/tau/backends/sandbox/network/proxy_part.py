"""The proxy as a part of a session's sandbox: it starts and ends with it."""

import asyncio
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from tau.backends.sandbox.network.addresses import Connect, Lookup, connect_to, look_up
from tau.backends.sandbox.network.decision_log import DecisionLog
from tau.backends.sandbox.network.host_rules import HostRules
from tau.backends.sandbox.network.proxy_env import proxy_env
from tau.base import log
from tau.base.errors import UsageError
from tau.base.late import late
from tau.base.tasks import spawn

if TYPE_CHECKING:
    from tau.backends.sandbox.network.gate import Ask

proxy = late("tau.backends.sandbox.network.proxy")


class NetworkRules(Protocol):
    @property
    def network(self) -> str: ...
    @property
    def hosts(self) -> Sequence[str]: ...


class NetworkSpace(Protocol):
    """What a proxy needs of a sandbox: sockets that were made inside."""

    @property
    def warn(self) -> Callable[[str], None]: ...
    @property
    def owns_network(self) -> bool: ...
    @property
    def policy(self) -> NetworkRules | None: ...
    async def listen(self, port: int = 0) -> socket.socket: ...


class ProxyPart:
    """Opens and closes with a sandbox; its tasks belong to `group`. `decisions` outlives restarts.

    With the network off there is a proxy too: it refuses everything, and so knows what was blocked.
    """

    def __init__(
        self,
        group: asyncio.TaskGroup,
        ask: "Ask | None",
        *,
        look_up: Lookup = look_up,
        connect: Connect = connect_to,
    ) -> None:
        self.decisions = DecisionLog()
        self.port = 0
        self._group = group
        self._ask = ask
        self._look_up = look_up
        self._connect = connect
        self._serving: asyncio.Task[None] | None = None

    async def open(self, sandbox: NetworkSpace) -> Mapping[str, str]:
        """Start a proxy inside; returns the variables that lead to it. Raises OSError."""
        await self.close()
        policy = sandbox.policy
        if policy is None or not sandbox.owns_network:
            return {}
        is_list = policy.network == "list"
        # After a restart, shells still have the old port in their variables.
        listener = await sandbox.listen(self.port)
        self.port = listener.getsockname()[1]
        rules = _readable_rules(policy.hosts, sandbox.warn) if is_list else HostRules()
        self._serving = spawn(self._group, self._serve(listener, rules, self._ask if is_list else None))
        return proxy_env(self.port, os.environ)

    async def close(self) -> None:
        serving, self._serving = self._serving, None
        if serving is not None:
            serving.cancel()
            with suppress(asyncio.CancelledError):
                await serving

    async def _serve(self, listener: socket.socket, rules: HostRules, ask: "Ask | None") -> None:
        try:
            await _wait_for_connection(listener)
            await proxy.serve_proxy(
                listener,
                rules,
                ask,
                decisions=self.decisions,
                look_up=self._look_up,
                connect=self._connect,
            )
        except Exception as error:
            log.error("The sandbox's proxy ended.", error)
        finally:
            listener.close()


async def _wait_for_connection(listener: socket.socket) -> None:
    """Most commands make none, and need no proxy."""
    loop, connected = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(listener, connected.set)
    try:
        await connected.wait()
    finally:
        loop.remove_reader(listener)


def _readable_rules(patterns: Sequence[str], warn: Callable[[str], None]) -> HostRules:
    """Leave out rules that cannot be read: a typo must not open the rest, nor close it."""
    rules: list[HostRules] = []
    for pattern in patterns:
        try:
            rules.append(HostRules.of((pattern,)))
        except UsageError as error:
            warn(f"sandbox.hosts: {error}")
    return HostRules(tuple(rule for each in rules for rule in each.rules))
