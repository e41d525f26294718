"""Picks the model: the requested one, else whatever is available."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tau.ai.auth import resolve_headers
from tau.ai.catalog import Catalog, ModelMatch, find_models, pick_model, split_thinking
from tau.ai.model import DEMO_PROVIDER, Model, ThinkingLevel
from tau.ai.transport import Transport
from tau.base.errors import ConfigError, UsageError
from tau.base.late import late
from tau.base.run import Runner
from tau.config.credentials import KeyCredentials
from tau.config.settings import Settings

discovery = late("tau.ai.local.discovery")
embedded = late("tau.ai.local.embedded")
weights = late("tau.ai.local.weights")

BETTER_MODELS = (
    "For a real one, set a key such as ANTHROPIC_API_KEY or OPENAI_API_KEY, "
    "or start a model server on this machine (Ollama, LM Studio, llama.cpp)."
)


class ModelRequest(Struct, frozen=True, kw_only=True):
    """The user's command line choices, and the model of a resumed session."""

    provider: str | None = None
    model: str | None = None
    base_url: str | None = None
    key: str | None = None
    resumed: tuple[str, str] | None = None


class ResolvedModel(Struct, frozen=True, kw_only=True):
    model: Model
    thinking: ThinkingLevel | None = None
    notices: list[str] = []


class ModelResolver:
    """`keys` receives the key of a server that we start ourselves."""

    def __init__(
        self,
        *,
        catalog: Catalog,
        credentials: KeyCredentials,
        settings: Settings,
        http: Transport,
        run: Runner,
        environ: Mapping[str, str],
        keys: dict[str, str],
        services: AsyncExitStack,
    ) -> None:
        self._catalog = catalog
        self._credentials = credentials
        self._settings = settings
        self._http = http
        self._run = run
        self._environ = environ
        self._keys = keys
        self._services = services

    async def find(self, wish: ModelRequest) -> ResolvedModel:
        found = await self._find(wish)
        model = found.model
        if wish.base_url is not None:
            model = replace(model, base_url=wish.base_url.rstrip("/"))
        if model.headers:
            model = replace(model, headers=await resolve_headers(model.headers, self._environ, self._run))
        if wish.key is not None:
            self._keys[model.provider] = wish.key
        self._require_key(model)
        return replace(found, model=model)

    async def _find(self, wish: ModelRequest) -> ResolvedModel:
        settings = self._settings
        if wish.provider == DEMO_PROVIDER or (wish.model or "").startswith(f"{DEMO_PROVIDER}/"):
            return await self._demo()
        if wish.model is not None:
            return await self._asked_for(wish.model, wish)
        if wish.provider is not None:
            return await self._of_provider(wish.provider)
        notices: list[str] = []
        if wish.resumed is not None:
            provider, id = wish.resumed
            model = self._usable(provider, id)
            if model is not None:
                return ResolvedModel(model=model)
            notices.append(f"The session's model {provider}/{id} cannot be used here.")
        if settings.default_model is not None or settings.default_provider is not None:
            found = self._configured()
        elif wish.key is not None:
            raise UsageError("--api-key needs a provider; name it with --provider or --model.")
        else:
            found = await self._whatever_works()
        return replace(found, notices=[*notices, *found.notices])

    async def _asked_for(self, pattern: str, wish: ModelRequest) -> ResolvedModel:
        """Look in the model table, then on local servers, then on the given server address.

        A server given only by address gets the model name unchanged and no provider's key.
        """
        owner = wish.provider or pattern.partition("/")[0]
        if wish.base_url is not None and self._catalog.provider(owner) is None:
            id, thinking = split_thinking(pattern)
            return ResolvedModel(model=_custom(id, wish.base_url), thinking=thinking)
        try:
            preferred = self._credentials.providers_with_keys()
            return _found(pick_model(self._catalog, pattern, wish.provider, prefer=preferred))
        except UsageError:
            id, thinking = split_thinking(pattern)
            for found in await self._on_this_machine():
                model = found.model
                if id in (model.id, model.key) or (wish.provider == model.provider and id in model.id):
                    return replace(found, thinking=thinking)
            raise

    async def _of_provider(self, provider: str) -> ResolvedModel:
        if self._catalog.provider(provider) is None:
            for found in await self._on_this_machine():
                if found.model.provider == provider:
                    return found
        return self._default_of(provider)

    def _default_of(self, provider: str) -> ResolvedModel:
        row = self._catalog.provider(provider)
        if row is not None and not row.default_model:
            raise UsageError(f"The provider {row.id} has no default model; name one with --model.")
        return _found(
            pick_model(self._catalog, row.default_model if row else "", row.id if row else provider)
        )

    def _configured(self) -> ResolvedModel:
        settings = self._settings
        if settings.default_model is None:
            assert settings.default_provider is not None
            return self._default_of(settings.default_provider)
        preferred = self._credentials.providers_with_keys()
        return _found(
            pick_model(self._catalog, settings.default_model, settings.default_provider, prefer=preferred)
        )

    async def _whatever_works(self) -> ResolvedModel:
        providers = self._credentials.providers_with_keys()
        for pattern in self._settings.enabled_models:
            name, thinking = split_thinking(pattern)
            for model in find_models(self._catalog, name, prefer=providers):
                if self._has_access(model.provider):
                    return ResolvedModel(model=model, thinking=thinking)
        for provider in providers:
            if self._catalog.providers[provider].default_model:
                return self._default_of(provider)
        local = await self._on_this_machine()
        if local:
            notice = f"Using {local[0].model.key}, found on this machine."
            return replace(local[0], notices=[notice, *local[0].notices])
        problem = "The demo model is disabled (local.embedded)."
        if self._settings.local.embedded:
            try:
                embedded.check_installed(self._weights())
                return await self._demo()
            except ConfigError as missing:
                problem = str(missing)
        raise ConfigError(f"{self._credentials.describe_missing_keys()} {problem}")

    async def _on_this_machine(self) -> list[ResolvedModel]:
        """Models of servers running on this machine, each with a note about its server."""
        if not self._settings.local.discover:
            return []
        return [
            ResolvedModel(model=model, notices=[server.note] if server.note else [])
            for server in await discovery.discover(self._http, self._environ)
            for model in server.models
        ]

    async def _demo(self) -> ResolvedModel:
        server = await self._services.enter_async_context(embedded.EmbeddedServer(self._weights(), self._run))
        self._keys[DEMO_PROVIDER] = server.key
        notice = f"Using {server.model.name}: it can chat, but it cannot code. {BETTER_MODELS}"
        return ResolvedModel(model=server.model, thinking="off", notices=[notice])

    def _weights(self) -> Path:
        return weights.weights_path(weights.cache_dir(self._environ))

    def _usable(self, provider: str, id: str) -> Model | None:
        return pick_model(self._catalog, id, provider).model if self._has_access(provider) else None

    def _has_access(self, provider: str) -> bool:
        """Whether a known provider is usable: it needs no key, or its key is set."""
        row = self._catalog.provider(provider)
        return row is not None and (row.local or self._credentials.available(row.id))

    def _require_key(self, model: Model) -> None:
        row = self._catalog.provider(model.provider)
        if row is not None and not self._has_access(row.id):
            raise ConfigError(self._credentials.describe_missing_key(row.id))


def _found(choice: ModelMatch) -> ResolvedModel:
    notices = (
        [] if choice.known else [f"{choice.model.key} is not in the model table; its limits are guessed."]
    )
    return ResolvedModel(model=choice.model, thinking=choice.thinking, notices=notices)


def _custom(id: str, base_url: str) -> Model:
    return Model(id=id, name=id, api="openai-completions", provider="custom", base_url=base_url.rstrip("/"))
