"""Keys in their order: the flag, `auth.json`, the environment, `models.json`."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from tau.ai.auth import KeyRetry, is_variable, resolve_value
from tau.ai.catalog import Catalog
from tau.base.errors import UsageError
from tau.base.run import Runner
from tau.config.auth_file import AuthFile, check_sendable, stored_form

BLOCKED_S = 60.0  # where the server names no wait
MARGIN_S = 1.0  # clocks differ


class _Block(Struct, frozen=True):
    """`passing`: the key has been used too much, as opposed to one that is not accepted."""

    until: float
    passing: bool


class KeyCredentials:
    """Implements `Credentials` for keys. `flags` and `models` hold one value per provider.

    A value is a literal, the name of a variable or a `!command`; what a variable holds is taken as it is.
    Of several keys in `auth.json` the same one is used until it fails: a server caches prompts by key.
    """

    def __init__(
        self,
        catalog: Catalog,
        auth: AuthFile,
        run: Runner,
        environ: Mapping[str, str],
        *,
        flags: Mapping[str, str] | None = None,
        models: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._catalog = catalog
        self._auth = auth
        self._run = run
        self._environ = environ
        self._flags = {} if flags is None else flags
        self._models = models or {}
        self._clock = clock
        self._lock = asyncio.Lock()  # a command is run once, however many requests want its key
        self._keys: dict[tuple[str, str], str] = {}  # by provider and stored value
        self._using: dict[str, str] = {}  # the stored value in use, by provider
        self._blocks: dict[tuple[str, str], _Block] = {}

    async def get(self, provider: str) -> str | None:
        async with self._lock:
            return await self._find(provider, self._auth.get_all(provider))

    async def refresh(self, provider: str, rejected: str) -> str | None:
        """The key that is there now, if it is not the one that was refused."""
        async with self._lock:
            key = await self._find(provider, self._auth.get_all(provider))
            if key in (None, rejected):
                stored = await asyncio.to_thread(self._auth.get_settled, provider)
                key = await self._find(provider, stored, fresh=True)
            return key if key != rejected else None

    async def rotate(self, provider: str, failed: str, *, refused: bool, wait_s: float | None) -> KeyRetry:
        """Only keys of `auth.json` take turns."""
        async with self._lock:
            stored = self._auth.get_all(provider)
            now = self._clock()
            for value in stored:
                if self._keys.get((provider, value)) == failed:
                    until = now + (BLOCKED_S if wait_s is None else wait_s) + MARGIN_S
                    self._blocks[provider, value] = _Block(until, not refused)
            if provider in self._flags or len(stored) < 2:
                return KeyRetry()
            for value in self._in_order(provider, stored):
                if self._is_blocked(provider, value):
                    break  # and so are those behind it
                if (key := await self._stored_key(provider, value)) not in (None, failed):
                    return KeyRetry(key)
            blocks = [self._blocks.get((provider, value)) for value in stored]
            return KeyRetry(
                None, min((max(0.0, b.until - now) for b in blocks if b and b.passing), default=None)
            )

    def available(self, provider: str) -> bool:
        """Whether a key is likely to be there; runs no command."""
        values = (self._flags.get(provider), *self._auth.get_all(provider), self._models.get(provider))
        if any(value and not self._unset(value) for value in values):
            return True
        return any(self._environ.get(variable, "").strip() for variable in self._variables(provider))

    def providers_with_keys(self) -> list[str]:
        """In the order of the table."""
        return [provider for provider in self._catalog.providers if self.available(provider)]

    def where_to_put_key(self, provider: str) -> str:
        """What to say when there is no key: where one can stand, and what works without."""
        row = self._catalog.providers.get(provider)
        variables = self._variables(provider)
        ways = [f"set {' or '.join(variables)}"] if variables else []
        ways.append(f"put {stored_form(provider)} into {self._auth.path}")
        return (
            f"There is no key for {row.name if row else provider}: {', or '.join(ways)}."
            f"{self._unset_variables(provider)}"
            " Without a key, a model server on this machine (Ollama, LM Studio, llama.cpp, vLLM) is found by"
            " itself, and --provider demo answers with the offline demo model."
        )

    def where_to_put_any_key(self) -> str:
        """The same for somebody who has named no provider."""
        known = [row for row in self._catalog.providers.values() if row.key_variables]
        names = [row.key_variables[-1] for row in known[:2]]
        unset = "".join(map(self._unset_variables, self._catalog.providers))
        return (
            f"No key and no model server was found: set {', '.join(names)} or the variable of another"
            f" provider, put a key into {self._auth.path} as in {stored_form(known[0].id)}, or start a model"
            f" server on this machine (Ollama, LM Studio, llama.cpp, vLLM).{unset}"
        )

    def _unset_variables(self, provider: str) -> str:
        """What is stored for it but leads nowhere."""
        return "".join(
            f" {place} names the variable {value}, which is not set."
            for place, value in (
                *((str(self._auth.path), stored) for stored in self._auth.get_all(provider)),
                ("models.json", self._models.get(provider)),
            )
            if value and self._unset(value)
        )

    async def _find(self, provider: str, stored: Sequence[str], *, fresh: bool = False) -> str | None:
        if flag := self._flags.get(provider):
            key = await resolve_value(flag, self._environ, self._run, fresh=fresh)
            if key is None:
                raise UsageError(f"--api-key names the variable {flag}, which is not set.")
            return check_sendable(key, "--api-key")
        for value in self._in_order(provider, stored):
            if key := await self._stored_key(provider, value, fresh=fresh):
                return key
        for variable in self._variables(provider):
            if key := self._environ.get(variable, "").strip():
                return check_sendable(key, variable)
        configured = self._models.get(provider)
        if configured and (key := await resolve_value(configured, self._environ, self._run, fresh=fresh)):
            return check_sendable(key, "models.json")
        return None

    async def _stored_key(self, provider: str, value: str, *, fresh: bool = False) -> str | None:
        key = await resolve_value(value, self._environ, self._run, fresh=fresh)
        if key is None:
            return None
        self._using[provider] = value
        self._keys[provider, value] = check_sendable(key, str(self._auth.path))
        return key

    def _in_order(self, provider: str, stored: Sequence[str]) -> list[str]:
        """The key in use and those behind it, then the blocked ones: the first that is free again first."""
        using = self._using.get(provider)
        start = stored.index(using) if using in stored else 0
        turn = [*stored[start:], *stored[:start]]
        free = [value for value in turn if not self._is_blocked(provider, value)]
        blocked = [value for value in turn if value not in free]
        return free + sorted(blocked, key=lambda value: self._blocks[provider, value].until)

    def _is_blocked(self, provider: str, value: str) -> bool:
        block = self._blocks.get((provider, value))
        return block is not None and block.until > self._clock()

    def _variables(self, provider: str) -> list[str]:
        row = self._catalog.providers.get(provider)
        return row.key_variables if row else []

    def _unset(self, value: str) -> bool:
        return is_variable(value.strip()) and not self._environ.get(value.strip(), "").strip()
