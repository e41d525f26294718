"""The hosts that a sandbox may connect to unasked."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from msgspec import Struct, json

from tau.backends.sandbox.network.targets import MAX_PORT, RefusedTargetError, Target, parse_host
from tau.base.errors import UsageError

WEB_PORTS = (80, 443)
REGISTRIES = Path(__file__).parent / "registries.json"


class HostRule(Struct, frozen=True):
    """`wildcard` covers every name below `host`, but not `host` itself. Without a port: the web's."""

    host: str
    wildcard: bool = False
    port: int | None = None

    def covers(self, target: Target) -> bool:
        if target.port != self.port and not (self.port is None and target.port in WEB_PORTS):
            return False
        return target.host.endswith(f".{self.host}") if self.wildcard else target.host == self.host


class HostRules(Struct, frozen=True):
    """Without rules, no host is listed."""

    rules: tuple[HostRule, ...] = ()

    @classmethod
    def of(cls, patterns: Iterable[str]) -> "HostRules":
        """Raises UsageError for a pattern that is none."""
        return cls(tuple(map(parse_rule, patterns)))

    def covers(self, target: Target) -> bool:
        return any(rule.covers(target) for rule in self.rules)

    def names_port(self, target: Target) -> bool:
        """Whether a rule mentions this odd port for the host."""
        return any(rule.port == target.port and rule.covers(target) for rule in self.rules)


def parse_rule(pattern: str) -> HostRule:
    """Read `example.com`, `*.example.com` or `example.com:8443`."""
    match = re.fullmatch(r"(?P<wildcard>\*\.)?(?P<host>[^*:]+)(?::(?P<port>\d{1,5}))?", pattern)
    try:
        if match is None or not 1 <= int(match["port"] or 1) <= MAX_PORT:
            raise RefusedTargetError("a rule is HOST, *.HOST or HOST:PORT")
        host = parse_host(match["host"])
        wildcard = match["wildcard"] is not None
        if wildcard and Target(host, 0).is_address:
            raise RefusedTargetError("an address has no names below it")
    except RefusedTargetError as error:
        raise UsageError(f'"{pattern}" is not a host rule: {error}.') from None
    return HostRule(host, wildcard, int(match["port"]) if match["port"] else None)


@cache
def default_hosts() -> tuple[str, ...]:
    """The package registries."""
    groups = json.decode(REGISTRIES.read_bytes(), type=dict[str, list[str]])
    return tuple(host for hosts in groups.values() for host in hosts)
