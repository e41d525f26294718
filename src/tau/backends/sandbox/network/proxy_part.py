"""The proxy as a part of a session's sandbox: it starts and ends with it."""

import asyncio
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from tau.backends.sandbox.network.decision_log import DecisionLog
from tau.backends.sandbox.network.proxy_env import proxy_env
from tau.backends.sandbox.policy import PACKAGE_REGISTRIES
from tau.base import log
from tau.base.errors import UsageError
from tau.base.late import late
from tau.base.tasks import spawn

if TYPE_CHECKING:
    from tau.backends.sandbox.network.addresses import Connect, Lookup
    from tau.backends.sandbox.network.connection_decisions import Ask
    from tau.backends.sandbox.network.host_rules import HostRule

addresses = late("tau.backends.sandbox.network.addresses")
host_rules = late("tau.backends.sandbox.network.host_rules")
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

    `reach` replaces the network, for tests.
    With the network off there is a proxy too: it refuses everything, and so knows what was blocked.
    """

    def __init__(
        self, group: asyncio.TaskGroup, ask: "Ask | None", reach: "tuple[Lookup, Connect] | None" = None
    ) -> None:
        self.decisions = DecisionLog()
        self.port = 0
        self._group = group
        self._ask = ask
        self._reach = reach
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
        hosts = policy.hosts if is_list else ()
        own = _readable_rules([host for host in hosts if host != PACKAGE_REGISTRIES], sandbox.warn)
        serving = self._serve(listener, own, PACKAGE_REGISTRIES in hosts, self._ask if is_list else None)
        self._serving = spawn(self._group, serving)
        return proxy_env(self.port, os.environ)

    async def close(self) -> None:
        serving, self._serving = self._serving, None
        if serving is not None:
            serving.cancel()
            with suppress(asyncio.CancelledError):
                await serving

    async def _serve(
        self, listener: socket.socket, own: "list[HostRule]", registries: bool, ask: "Ask | None"
    ) -> None:
        try:
            await _wait_for_connection(listener)
            more = host_rules.HostRules.of(host_rules.default_hosts()).rules if registries else ()
            look_up, connect = self._reach or (addresses.look_up, addresses.connect_to)
            await proxy.serve_proxy(
                listener,
                host_rules.HostRules((*own, *more)),
                ask,
                decisions=self.decisions,
                look_up=look_up,
                connect=connect,
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


def _readable_rules(patterns: Sequence[str], warn: Callable[[str], None]) -> "list[HostRule]":
    """Leave out rules that cannot be read: a typo must not open the rest, nor close it."""
    rules: list[HostRule] = []
    for pattern in patterns:
        try:
            rules.append(host_rules.parse_rule(pattern))
        except UsageError as error:
            warn(f"sandbox.hosts: {error}")
    return rules
