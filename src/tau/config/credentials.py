"""API keys in order of precedence: the flag, `auth.json`, the environment, `models.json`."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field

from tau.ai.auth import KeyRetry, is_variable, resolve_value
from tau.ai.catalog import Catalog
from tau.ai.model import Model
from tau.ai.transport import Transport
from tau.base import secrets
from tau.base.errors import UsageError
from tau.base.late import late
from tau.base.run import Runner
from tau.config.auth_file import AuthFile, check_sendable, example_entry

aws_credentials = late("tau.ai.aws_credentials")
cloud_credentials = late("tau.ai.cloud_credentials")
google_credentials = late("tau.ai.google_credentials")

BLOCKED_S = 60.0  # if the server names no delay
MARGIN_S = 1.0  # clocks differ


class _Block(Struct, frozen=True):
    """`temporary`: the key is rate-limited, not rejected."""

    until: float
    temporary: bool


class KeyCredentials(Struct):
    """Implements `Credentials` for keys. `flags` and `models` hold one value per provider.

    A value is a literal, a variable name or a `!command`; a variable's content is used literally.
    Of several keys in `auth.json`, one is used until it fails, because servers cache prompts by key.
    The credentials of a provider's cloud come last; `http` exchanges them for a key.
    """

    catalog: Catalog
    auth: AuthFile
    run: Runner
    environ: Mapping[str, str]
    flags: Mapping[str, str] = {}
    models: Mapping[str, str] = {}
    clock: Callable[[], float] = time.monotonic
    http: Transport | None = None
    _clouds: "dict[str, cloud_credentials.CloudCredentials]" = {}
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)  # a command runs once for all requests
    _keys: dict[tuple[str, str], str] = {}  # by provider and stored value
    _using: dict[str, str] = {}  # the stored value in use, by provider
    _blocks: dict[tuple[str, str], _Block] = {}

    async def get(self, provider: str) -> str | None:
        async with self._lock:
            return _learned(await self._find(provider, self.auth.get_all(provider)))

    async def refresh(self, provider: str, rejected: str) -> str | None:
        """The current key, if it is not the rejected one."""
        async with self._lock:
            key = await self._find(provider, self.auth.get_all(provider))
            if key in (None, rejected):
                stored = await asyncio.to_thread(self.auth.get_all_settled, provider)
                key = await self._find(provider, stored, fresh=True)
            return _learned(key) if key != rejected else None

    async def rotate(self, provider: str, failed: str, *, refused: bool, wait_s: float | None) -> KeyRetry:
        """Only keys in `auth.json` rotate."""
        async with self._lock:
            stored = self.auth.get_all(provider)
            now = self.clock()
            for value in stored:
                if self._keys.get((provider, value)) == failed:
                    until = now + (BLOCKED_S if wait_s is None else wait_s) + MARGIN_S
                    self._blocks[provider, value] = _Block(until, not refused)
            if provider in self.flags or len(stored) < 2:
                return KeyRetry()
            for value in self._in_order(provider, stored):
                if self._is_blocked(provider, value):
                    break  # and so are those behind it
                if (key := await self._stored_key(provider, value)) not in (None, failed):
                    return KeyRetry(_learned(key))
            blocks = [self._blocks.get((provider, value)) for value in stored]
            return KeyRetry(
                None, min((max(0.0, b.until - now) for b in blocks if b and b.temporary), default=None)
            )

    def available(self, provider: str) -> bool:
        """Whether a key is probably available; runs no command."""
        if self._has_key(provider):
            return True
        cloud = self._cloud(provider)
        return cloud is not None and cloud.is_configured()

    def _has_key(self, provider: str) -> bool:
        values = (self.flags.get(provider), *self.auth.get_all(provider), self.models.get(provider))
        if any(value and not self._unset(value) for value in values):
            return True
        return any(self.environ.get(variable, "").strip() for variable in self._variables(provider))

    def address(self, model: Model) -> str:
        """The address of a model's server, which may depend on variables. Raises ConfigError."""
        if model.custom_address:
            return model.base_url
        if (cloud := self._cloud(model.provider)) is not None:
            return cloud.address(model.base_url)
        if "{" not in model.base_url:
            return model.base_url
        return cloud_credentials.expand_address(model.base_url, self.environ, model.provider)

    def _cloud(self, provider: str) -> "cloud_credentials.CloudCredentials | None":
        row = self.catalog.providers.get(provider)
        if row is None or not row.cloud:
            return None
        if provider not in self._clouds:
            self._clouds[provider] = (
                aws_credentials.AwsCredentials(self.environ)
                if row.cloud == "aws"
                else google_credentials.GoogleCredentials(self.environ, self.http, self.clock)
            )
        return self._clouds[provider]

    def providers_with_keys(self) -> list[str]:
        """In catalog order. Those of clouds are not searched: their owners name the provider."""
        return [provider for provider in self.catalog.providers if self._has_key(provider)]

    def default_providers(self) -> list[str]:
        """The providers with keys that need not be named."""
        rows = self.catalog.providers
        return [id for id in self.providers_with_keys() if not rows[id].on_request]

    def describe_missing_key(self, provider: str) -> str:
        """The message for a missing key: where to put one, and what works without."""
        row = self.catalog.providers.get(provider)
        variables = self._variables(provider)
        ways = [f"set {' or '.join(variables)}"] if variables else []
        if (cloud := self._cloud(provider)) is not None:
            ways.append(cloud.hint)
        ways.append(f"add {example_entry(provider)} to {self.auth.path}")
        return (
            f"No API key for {row.name if row else provider}: {', or '.join(ways)}."
            f"{self._unset_variables(provider)}"
            " Without a key, tau finds a model server on this machine (Ollama, LM Studio, llama.cpp, vLLM)"
            " automatically, and --provider demo uses the offline demo model."
        )

    def describe_missing_keys(self) -> str:
        """The same message when no provider is named."""
        known = [row for row in self.catalog.providers.values() if row.key_variables]
        names = [row.key_variables[-1] for row in known[:2]]
        unset = "".join(map(self._unset_variables, self.catalog.providers))
        return (
            f"No API key or model server found: set {', '.join(names)} or another provider's variable,"
            f" add a key to {self.auth.path} such as {example_entry(known[0].id)}, or start a model"
            f" server on this machine (Ollama, LM Studio, llama.cpp, vLLM).{unset}"
        )

    def _unset_variables(self, provider: str) -> str:
        """Sentences about stored values that name unset variables."""
        return "".join(
            f" {place} refers to the variable {value}, which is not set."
            for place, value in (
                *((str(self.auth.path), stored) for stored in self.auth.get_all(provider)),
                ("models.json", self.models.get(provider)),
            )
            if value and self._unset(value)
        )

    async def _find(self, provider: str, stored: Sequence[str], *, fresh: bool = False) -> str | None:
        if flag := self.flags.get(provider):
            key = await resolve_value(flag, self.environ, self.run, fresh=fresh)
            if key is None:
                raise UsageError(f"--api-key refers to the variable {flag}, which is not set.")
            return check_sendable(key, "--api-key")
        for value in self._in_order(provider, stored):
            if key := await self._stored_key(provider, value, fresh=fresh):
                return key
        for variable in self._variables(provider):
            if key := self.environ.get(variable, "").strip():
                return check_sendable(key, variable)
        configured = self.models.get(provider)
        if configured and (key := await resolve_value(configured, self.environ, self.run, fresh=fresh)):
            return check_sendable(key, "models.json")
        cloud = self._cloud(provider)
        return None if cloud is None else await cloud.find(fresh=fresh)

    async def _stored_key(self, provider: str, value: str, *, fresh: bool = False) -> str | None:
        key = await resolve_value(value, self.environ, self.run, fresh=fresh)
        if key is None:
            return None
        self._using[provider] = value
        self._keys[provider, value] = check_sendable(key, str(self.auth.path))
        return key

    def _in_order(self, provider: str, stored: Sequence[str]) -> list[str]:
        """The key in use and those after it, then the blocked ones, soonest free first."""
        using = self._using.get(provider)
        start = stored.index(using) if using in stored else 0
        rotated = [*stored[start:], *stored[:start]]
        free = [value for value in rotated if not self._is_blocked(provider, value)]
        blocked = [value for value in rotated if value not in free]
        return free + sorted(blocked, key=lambda value: self._blocks[provider, value].until)

    def _is_blocked(self, provider: str, value: str) -> bool:
        block = self._blocks.get((provider, value))
        return block is not None and block.until > self.clock()

    def _variables(self, provider: str) -> list[str]:
        row = self.catalog.providers.get(provider)
        return row.key_variables if row else []

    def _unset(self, value: str) -> bool:
        return is_variable(value.strip()) and not self.environ.get(value.strip(), "").strip()


def _learned(key: str | None) -> str | None:
    """Have a key masked wherever tau writes, whatever its source."""
    if key is not None:
        secrets.learn(key)
    return key
