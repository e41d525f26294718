"""What a session's tools need of its sandbox: what it blocked, what the user grants, its ports."""

import asyncio
import os
import socket
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tau.base.late import late
from tau.base.run import Exit, Limits, LocalRunner, capture
from tau.coding.shell.grants import SandboxGrants, grant_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tau.backends.sandbox.network.addresses import Connect, Lookup
    from tau.backends.sandbox.network.port_forwarding import SandboxPorts
    from tau.backends.sandbox.network.proxy_part import ProxyPart
    from tau.backends.sandbox.session import SandboxPart, SessionSandbox
    from tau.coding.sandbox import LateSandbox
    from tau.coding.shell.blocked_attempts import BlockedAttempt, Containment
    from tau.coding.shell.git_transfers import GitTransfers

programs = late("tau.base.programs")
signing = late("tau.coding.shell.signing")
blocked = late("tau.coding.shell.blocked_attempts")
host_rules = late("tau.backends.sandbox.network.host_rules")
parts = late("tau.backends.sandbox.network.proxy_part")
port_forwards = late("tau.backends.sandbox.network.port_forwarding")
targets = late("tau.backends.sandbox.network.targets")
transfers = late("tau.coding.shell.git_transfers")

QUERY_S = 10.0


class ContainedCommands:
    """One per session; its tasks belong to `group`. `reach` replaces the network, for tests."""

    def __init__(self, sandbox: "LateSandbox", group: asyncio.TaskGroup) -> None:
        self.grants = SandboxGrants(sandbox.ui)
        self.reach: tuple[Lookup, Connect] | None = None
        self._sandbox = sandbox
        self._group = group
        self._runner = sandbox.outside.inside(sandbox)
        self._proxy: ProxyPart | None = None
        self._ports: SandboxPorts | None = None
        self._transfers: GitTransfers | None = None

    async def close(self) -> None:
        if self._ports is not None:
            self._ports.close()
        if self._proxy is not None:
            await self._proxy.close()

    @property
    def contained(self) -> bool:
        return self._sandbox.contained

    @property
    def session(self) -> "SessionSandbox":
        return self._sandbox.session

    def begin_run(self) -> None:
        self.grants.begin_run()

    def mark(self) -> int:
        """A point in the log of connections, for `find_blocked`."""
        return 0 if self._proxy is None else self._proxy.decisions.count

    def find_blocked(self, text: str, cwd: Path, exited: Exit, mark: int) -> "list[BlockedAttempt]":
        """What the sandbox kept a command from doing that ran since `mark`."""
        if not self.contained:
            return []
        decisions = () if self._proxy is None else self._proxy.decisions.since(mark)
        found: list[BlockedAttempt] = blocked.find_blocked(text, cwd, exited, self._containment(), decisions)
        return found

    def reached_hosts(self, mark: int) -> "list[str]":
        """The hosts that commands connected to since `mark`, without package registries."""
        if self._proxy is None:
            return []
        found = {one.host: one.port for one in self._proxy.decisions.since(mark) if one.verdict == "allowed"}
        if not found:
            return []
        registries = host_rules.HostRules.of(host_rules.default_hosts())
        return [host for host, port in found.items() if not registries.covers(targets.Target(host, port))]

    def connection_notes(self, mark: int) -> "list[str]":
        """The connections that were blocked since `mark`, for what is no shell command."""
        if self._proxy is None:
            return []
        found = blocked.find_blocked_connections(self._proxy.decisions.since(mark))
        return list(dict.fromkeys(attempt.note for attempt in found))[: blocked.MAX_BLOCKED]

    @property
    def transfers(self) -> "GitTransfers":
        if self._transfers is None:
            self._transfers = transfers.GitTransfers(self, self._sandbox.outside)
        return self._transfers

    async def grant(self, attempt: "BlockedAttempt") -> None:
        """Allow what was blocked. The sandbox starts again, and what runs in it ends."""
        rules = self.session.options.rules
        path = Path(attempt.subject)
        if attempt.kind == "socket":
            rules = replace(rules, sockets=(*rules.sockets, str(path)))
        else:
            rules = replace(rules, write=(*rules.write, str(grant_folder(path))))
        await self.session.change(replace(self.session.options, rules=rules))

    async def offer_signing(self, text: str, cwd: Path) -> str:
        """Ask once for the agent's socket if a command signs with it; returns a note if it is blocked."""
        needs = await signing.find_signing(
            text, partial(self._answer, self._runner, cwd, "git"), partial(self._outer, cwd), os.environ
        )
        rules = self.session.options.rules
        if needs is None or str(needs.socket) in rules.sockets:
            return ""
        title = f"A command signs with your {needs.agent}, {needs.socket}, which the sandbox hides."
        allow = f"Allow the {needs.agent} for this session; what runs in the sandbox ends"
        if not await self.grants.ask_session(("socket", str(needs.socket)), title, allow):
            return f"Sandbox: blocked socket to {needs.socket}"
        # What commands can write is visible anyway, and could be a link by the time it is shown.
        writable = [mount.target for mount in self.session.mounts if mount.kind == "write"]
        shown = [str(path) for path in needs.show if not any(map(path.is_relative_to, writable))]
        rules = replace(rules, sockets=(*rules.sockets, str(needs.socket)), show=(*rules.show, *shown))
        await self.session.change(replace(self.session.options, rules=rules))
        return ""

    async def _outer(self, cwd: Path, *words: str) -> str:
        """Ask GnuPG, outside, about its own files."""
        program = programs.find_program("gpgconf")
        return "" if program is None else await self._answer(self._sandbox.outside, cwd, program, *words)

    async def _answer(self, runner: LocalRunner, cwd: Path, *words: str) -> str:
        """What a program prints; nothing if it fails."""
        try:
            async with await runner.start(words, cwd=cwd, limits=Limits(timeout=QUERY_S)) as process:
                done = await capture(process)
        except OSError:
            return ""
        return done.output.decode("utf-8", "replace").strip() if done.exit.code == 0 else ""

    @property
    def ports(self) -> "SandboxPorts | None":
        """None if the sandbox is not running, or shares our network."""
        if not self.contained or not self.session.owns_network:
            return None
        if self._ports is None:
            self._ports = port_forwards.SandboxPorts(
                self._group,
                self._read_tables,
                self._make_socket,
                lambda: () if self._proxy is None else (self._proxy.port,),
            )
        return self._ports

    def make_parts(self) -> "Sequence[SandboxPart]":
        self._proxy = parts.ProxyPart(self._group, self.grants.ask_host, self.reach)
        return (self._proxy,)

    def _containment(self) -> "Containment":
        session = self.session
        policy, mounts = session.policy, session.mounts
        assert policy is not None
        has_mounts = session.engine != "landlock"
        writable = [mount for mount in mounts if mount.kind in ("write", "cover")]
        # Without mounts, a private folder is writable where it really is, and nothing is in its place.
        replaced = [] if has_mounts else [each.target for each in writable if each.source != each.target]
        return blocked.Containment(
            writable=tuple(mount.target if has_mounts else mount.source for mount in writable),
            read_only=tuple(mount.target for mount in mounts if mount.kind == "read" and has_mounts),
            hidden=(*(mount.target for mount in mounts if mount.kind in ("hide", "mask")), *replaced),
            sockets=policy.sockets,
            shown=tuple(mount.target for mount in mounts if mount.kind == "read"),
            shows_names=not has_mounts,
            has_hosts=has_mounts or policy.network == "on",
            has_localhost=has_mounts or policy.network == "on" or not session.results.get("localhost"),
        )

    async def _read_tables(self) -> str:
        """The kernel's tables of sockets, as a process inside sees them."""
        command = ["cat", *port_forwards.TABLES]
        async with await self._runner.start(
            command, cwd=Path("/"), limits=Limits(timeout=QUERY_S)
        ) as process:
            return (await capture(process)).output.decode("ascii", "replace")

    async def _make_socket(self, address: str) -> socket.socket:
        made = await self.session.make_sockets(1, host=address)
        with suppress(IndexError):
            return made[0]
        raise OSError("The sandbox gave no socket")
