"""Command hooks as faces see them; code outside the session runs them."""

from typing import Protocol

from msgspec import Struct


class HookStatus(Struct, frozen=True, rename="camel", kw_only=True):
    """One hook and how it fared in this session. `what` is the command; `why` is the fault it has."""

    id: str
    event: str
    matcher: str
    what: str
    place: str
    state: str
    why: str = ""
    runs: int = 0
    failures: int = 0
    ms: int = 0
    last: str = ""


class SessionHooks(Protocol):
    async def rows(self) -> list[HookStatus]: ...
    def turn(self, id: str, *, on: bool) -> None:
        """Turn a hook on or off, here and in the user's settings. Raises ConfigError."""
        ...
