"""Keys and logins in order of precedence: the flag, `auth.json`, the environment, `models.json`."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field

from tau.ai.auth import KeyRetry, is_variable, resolve_value
from tau.ai.catalog import Catalog, Provider
from tau.ai.model import Model
from tau.ai.transport import Transport
from tau.base import secrets
from tau.base.clock import now_ms
from tau.base.errors import ProviderError, UsageError
from tau.base.late import late
from tau.base.run import Runner
from tau.config.auth_file import AuthFile, StoredCredential, check_sendable, example_entry

aws_credentials = late("tau.ai.aws_credentials")
cloud_credentials = late("tau.ai.cloud_credentials")
google_credentials = late("tau.ai.google_credentials")
login_renewal = late("tau.config.login_renewal")

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
    A login there gives a key that `http` renews. The credentials of a provider's cloud come last.
    """

    catalog: Catalog
    auth: AuthFile
    run: Runner
    environ: Mapping[str, str]
    flags: Mapping[str, str] = {}
    models: Mapping[str, str] = {}
    clock: Callable[[], float] = time.monotonic
    http: Transport | None = None
    now_ms: Callable[[], int] = now_ms
    warn: Callable[[str], None] = lambda warning: None
    _clouds: "dict[str, cloud_credentials.CloudCredentials]" = {}
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)  # a command runs once for all requests
    _keys: dict[tuple[str, str], str] = {}  # by provider and name of the stored credential
    _using: dict[str, str] = {}  # the name of the stored credential in use, by provider
    _blocks: dict[tuple[str, str], _Block] = {}

    async def get(self, provider: str) -> str | None:
        async with self._lock:
            return _learned(await self._find(provider, self.auth.credentials(provider)))

    async def refresh(self, provider: str, rejected: str) -> str | None:
        """The current key, if it is not the rejected one."""
        async with self._lock:
            key = await self._find(provider, self.auth.credentials(provider))
            if key in (None, rejected):
                stored = await asyncio.to_thread(self.auth.settled, provider)
                key = await self._find(provider, stored, fresh=True)
            return _learned(key) if key != rejected else None

    async def rotate(self, provider: str, failed: str, *, refused: bool, wait_s: float | None) -> KeyRetry:
        """Only keys in `auth.json` rotate."""
        async with self._lock:
            stored = self.auth.credentials(provider)
            now = self.clock()
            for one in stored:
                if self._keys.get((provider, one.name)) == failed:
                    until = now + (BLOCKED_S if wait_s is None else wait_s) + MARGIN_S
                    self._blocks[provider, one.name] = _Block(until, not refused)
            if provider in self.flags or len(stored) < 2:
                return KeyRetry()
            for one in self._in_order(provider, stored):
                if self._is_blocked(provider, one.name):
                    break  # and so are those behind it
                if (key := await self._stored_key(provider, one)) not in (None, failed):
                    return KeyRetry(_learned(key))
            blocks = [self._blocks.get((provider, one.name)) for one in stored]
            return KeyRetry(
                None, min((max(0.0, b.until - now) for b in blocks if b and b.temporary), default=None)
            )

    def available(self, provider: str) -> bool:
        """Whether a key is probably available; runs no command."""
        if self._has_key(provider):
            return True
        cloud = self._cloud(provider)
        return cloud is not None and cloud.is_configured()

    def account(self, provider: str, key: str) -> str:
        """A name for people of the account that a key belongs to."""
        names = [name for (owner, name), used in self._keys.items() if owner == provider and used == key]
        known = next((name.removeprefix("login ") for name in names if name.startswith("login ")), "")
        return known if "@" in known else f"…{key[-4:]}"

    def _has_key(self, provider: str) -> bool:
        stored = self.auth.credentials(provider)
        if any(one.tokens for one in stored):
            return True
        values = (self.flags.get(provider), *(one.value for one in stored), self.models.get(provider))
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
        if closed := _closed_variable(self.catalog.providers.get(provider), self.environ):
            return closed
        row = self.catalog.providers.get(provider)
        variables = self._variables(provider)
        ways = [f"set {' or '.join(variables)}"] if variables else []
        if (cloud := self._cloud(provider)) is not None:
            ways.append(cloud.hint)
        if row is not None:
            ways.append(f"run tau login {provider}")
        ways.append(f"add {example_entry(provider)} to {self.auth.path}")
        return (
            f"No API key for {row.name if row else provider}: {', or '.join(ways)}."
            f"{self._unset_variables(provider)}"
            " Without a key, tau finds a model server on this machine (Ollama, LM Studio, llama.cpp, vLLM)"
            " automatically, and --provider demo uses the offline demo model."
        )

    def describe_missing_keys(self) -> str:
        """The same message when no provider is named."""
        for row in self.catalog.providers.values():
            if closed := _closed_variable(row, self.environ):
                return closed
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

    async def _find(
        self, provider: str, stored: Sequence[StoredCredential], *, fresh: bool = False
    ) -> str | None:
        if flag := self.flags.get(provider):
            key = await resolve_value(flag, self.environ, self.run, fresh=fresh)
            if key is None:
                raise UsageError(f"--api-key refers to the variable {flag}, which is not set.")
            return check_sendable(key, "--api-key")
        ended: Exception | None = None
        for one in self._in_order(provider, stored):
            try:
                if key := await self._stored_key(provider, one, fresh=fresh):
                    return key
            except ProviderError as error:
                if error.kind != "auth":
                    raise
                ended = ended or error
        if ended is not None:  # a key from elsewhere would bill somebody else
            raise ended
        for variable in self._variables(provider):
            if key := self.environ.get(variable, "").strip():
                return check_sendable(key, variable)
        configured = self.models.get(provider)
        if configured and (key := await resolve_value(configured, self.environ, self.run, fresh=fresh)):
            return check_sendable(key, "models.json")
        cloud = self._cloud(provider)
        return None if cloud is None else await cloud.find(fresh=fresh)

    async def _stored_key(self, provider: str, one: StoredCredential, *, fresh: bool = False) -> str | None:
        """`fresh`: the last one was rejected. Raises ProviderError of the kind auth for an ended login."""
        if one.tokens is None:
            key = await resolve_value(one.value, self.environ, self.run, fresh=fresh)
        elif fresh or one.tokens.is_due(self.now_ms()):
            rejected = self._keys.get((provider, one.name), one.tokens.access) if fresh else ""
            key = await self._renewal().renew(provider, one, rejected)
        else:
            key = one.tokens.access
        if key is None:
            return None
        self._using[provider] = one.name
        self._keys[provider, one.name] = check_sendable(key, str(self.auth.path))
        return key

    def _renewal(self) -> "login_renewal.LoginRenewal":
        return login_renewal.LoginRenewal(
            self.auth, self.catalog.providers, self.run, self.environ, self.http, self.now_ms, self.warn
        )

    def _in_order(self, provider: str, stored: Sequence[StoredCredential]) -> list[StoredCredential]:
        """The one in use and those after it, then the blocked ones, soonest free first."""
        using = self._using.get(provider)
        start = next((place for place, one in enumerate(stored) if one.name == using), 0)
        rotated = [*stored[start:], *stored[:start]]
        free = [one for one in rotated if not self._is_blocked(provider, one.name)]
        blocked = [one for one in rotated if one not in free]
        return free + sorted(blocked, key=lambda one: self._blocks[provider, one.name].until)

    def _is_blocked(self, provider: str, name: str) -> bool:
        block = self._blocks.get((provider, name))
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


def _closed_variable(row: Provider | None, environ: Mapping[str, str]) -> str:
    """A sentence about the token of a plan, if that is all there is."""
    if row is None or not row.closed_variable or not environ.get(row.closed_variable, "").strip():
        return ""
    return (
        f"{row.closed_variable} is not used, because {row.name} allows such tokens only in its own products:"
        f" create an API key at {row.key_page}, and set {' or '.join(row.key_variables)} or run tau login"
        f" {row.id}."
    )
