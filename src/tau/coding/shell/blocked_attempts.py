"""What the sandbox kept a command from doing, as far as that is certain.

Decided by the sandbox's policy, the proxy's log and the command itself; the output is never read. What is
not certain is not claimed: a write counts only if the command surely came to it, the sandbox denies it and
nothing else would have.
"""

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from msgspec import Struct

from tau.backends.sandbox.network.decision_log import ProxyDecision
from tau.base.late import late
from tau.base.run import Exit
from tau.coding.shell.plain_commands import PlainCommand, read_plain
from tau.coding.shell.read_targets import LISTING, find_address, find_reads

sockets = late("tau.coding.shell.sockets")
write_targets = late("tau.coding.shell.write_targets")

MAX_BLOCKED = 8
LOOPBACK = ("localhost", "127.0.0.1", "::1", "0.0.0.0", "::")
BlockedKind = Literal["connection", "read", "write", "socket"]
_WORDS = {"connection": "connection to", "read": "read of", "write": "write to", "socket": "socket to"}


class Containment(Struct, frozen=True, kw_only=True):
    """Real paths; an inner one counts before an outer one. What is `hidden` does not exist inside, unless
    `shows_names`. Without `has_hosts`, no other machine can be reached; without `has_localhost`, not even
    this one.
    """

    writable: tuple[Path, ...]
    read_only: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    sockets: tuple[Path, ...] = ()
    shown: tuple[Path, ...] = ()  # in what is hidden
    shows_names: bool = False
    has_hosts: bool = True
    has_localhost: bool = True

    def denies_read(self, path: Path) -> bool:
        """Whether what exists outside is hidden inside."""
        shown = _depth(path, (*self.writable, *self.shown))
        return _depth(path, self.hidden) > shown and os.access(path, os.R_OK)

    def denies_write(self, path: Path) -> bool:
        """Whether a write that would succeed outside fails inside."""
        allowed, denied, unknown = (
            _depth(path, folders) for folders in (self.writable, self.read_only, self.hidden)
        )
        if self.shows_names:  # nothing is mounted over what is hidden
            return max(denied, unknown) >= allowed
        return denied >= allowed and denied >= unknown

    def denies_socket(self, path: Path) -> bool:
        return path not in self.sockets and bool(_depth(path, self.hidden))


def _depth(path: Path, folders: Iterable[Path]) -> int:
    """How deep the innermost of the folders that contain a path is; 0 without one."""
    return max(
        (len(folder.parts) for folder in folders if path == folder or folder in path.parents), default=0
    )


class BlockedAttempt(Struct, frozen=True):
    """`subject` is HOST:PORT or a path. `reason` is empty where the policy is reason enough."""

    kind: BlockedKind
    subject: str
    reason: str = ""

    @property
    def note(self) -> str:
        more = f" ({self.reason})" if self.reason else ""
        return f"Sandbox: blocked {_WORDS[self.kind]} {self.subject}{more}"


def find_blocked(
    text: str, cwd: Path, exited: Exit, containment: Containment, decisions: Iterable[ProxyDecision] = ()
) -> list[BlockedAttempt]:
    """`cwd` is where the command began; `decisions` are those about its own connections.

    Where a file cannot be looked at, nothing is certain, so nothing is said.
    """
    found = dict.fromkeys(find_blocked_connections(decisions))
    if not exited.timed_out and exited.signal is None:
        with suppress(OSError):
            for command in _reached(read_plain(text, cwd), exited):
                found |= dict.fromkeys(_blocked_by_policy(command, exited, containment))
    return list(found)[:MAX_BLOCKED]


def find_blocked_connections(decisions: Iterable[ProxyDecision]) -> Iterable[BlockedAttempt]:
    for decision in decisions:
        if decision.verdict == "blocked":
            host = f"[{decision.host}]" if ":" in decision.host else decision.host
            subject = f"{host}:{decision.port}" if host else "an address it cannot read"
            reason = "" if decision.reason.endswith("is not an allowed host") else decision.reason
            yield BlockedAttempt("connection", subject, reason)


def _reached(lists: Sequence[Sequence[PlainCommand]], exited: Exit) -> Iterable[PlainCommand]:
    """Commands that surely ran: those of the first pipeline; those of the last if it explains the exit."""
    if lists:
        yield from lists[0]
    if len(lists) > 1 and exited.code and lists[-1] and lists[-1][0].is_reached:
        yield from lists[-1]


def _blocked_by_policy(
    command: PlainCommand, exited: Exit, containment: Containment
) -> Iterable[BlockedAttempt]:
    yield from _blocked_reads(command, exited, containment)
    if command.is_whole and exited.code == 0:
        return  # a blocked write fails
    for path in write_targets.find_writes(command, exited.code, containment.hidden):
        if containment.denies_write(path):
            yield BlockedAttempt("write", str(path))
            return  # the first failure may have ended it
    socket = sockets.find_socket(command, exited.code, os.environ)
    if socket is not None and containment.denies_socket(socket):
        yield BlockedAttempt("socket", str(socket))
    address = "" if containment.has_hosts else find_address(command, exited.code)
    if address and not containment.has_localhost:
        yield BlockedAttempt("connection", address, "this sandbox has no network, not even localhost")
    elif address and address.rpartition(":")[0] not in LOOPBACK:
        yield BlockedAttempt("connection", address, "this sandbox can reach only localhost")


def _blocked_reads(command: PlainCommand, exited: Exit, containment: Containment) -> Iterable[BlockedAttempt]:
    """What is hidden shows as an empty folder or file; what would be in it does not exist."""
    is_listing = command.name == LISTING
    if is_listing and containment.shows_names:
        return
    for path in find_reads(command):
        is_empty = path in containment.hidden and (path.is_dir() or not is_listing)
        is_failed = exited.code != 0 or not command.is_whole
        if containment.denies_read(path) and (is_empty or is_failed):
            yield BlockedAttempt("read", str(path), "it is hidden")
