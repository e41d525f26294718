"""Picks the model: the requested one, else whatever is available."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from msgspec import Struct
from msgspec.structs import astuple, replace

from tau.agent.ui import Ui
from tau.ai.auth import resolve_headers
from tau.ai.catalog import Catalog, pick_model, pin_upstream, split_thinking
from tau.ai.model import DEMO_PROVIDER, Model, ThinkingLevel
from tau.ai.transport import Transport
from tau.base import log
from tau.base.errors import ConfigError, UsageError
from tau.base.late import late
from tau.base.run import Runner
from tau.config.credentials import KeyCredentials
from tau.config.settings import Settings

model_search = late("tau.ai.model_search")
discovery = late("tau.ai.local.discovery")
embedded = late("tau.ai.local.embedded")
confirmed_servers = late("tau.coding.confirmed_servers")
weights = late("tau.ai.local.weights")

CUSTOM_PROVIDER = "custom"
BETTER_MODELS = (
    "For a real one, set a key such as ANTHROPIC_API_KEY or OPENAI_API_KEY, "
    "or start a model server on this machine (Ollama, LM Studio, llama.cpp)."
)


class ResumedModel(Struct, frozen=True):
    """The model of a resumed session; `base_url` if the session names its own address.

    `upstream` is the only one that a router may ask.
    """

    provider: str
    id: str
    base_url: str | None = None
    upstream: str = ""


class ModelRequest(Struct, frozen=True, kw_only=True):
    """The user's command line choices, and the model of a resumed session."""

    provider: str | None = None
    model: str | None = None
    base_url: str | None = None
    key: str | None = None
    resumed: ResumedModel | None = None


class ResolvedModel(Struct, frozen=True, kw_only=True):
    model: Model
    thinking: ThinkingLevel | None = None
    notices: list[str] = []


class ModelResolver(Struct, frozen=True, kw_only=True):
    """`keys` receives the key of a server that we start ourselves.

    `ui` asks about a server that was found on this machine; `servers` is the file with the answers.
    """

    catalog: Catalog
    credentials: KeyCredentials
    settings: Settings
    http: Transport
    run: Runner
    environ: Mapping[str, str]
    keys: dict[str, str]
    services: AsyncExitStack
    servers: Path
    ui: Ui | None = None

    async def find(self, request: ModelRequest) -> ResolvedModel:
        resolved = await self._find(request)
        model = resolved.model
        if request.base_url is not None:
            model = replace(
                model, base_url=request.base_url.rstrip("/"), custom_address=True, unconfirmed=False
            )
        if model.headers:
            model = replace(model, headers=await resolve_headers(model.headers, self.environ, self.run))
        if request.key is not None:
            self.keys[model.provider] = request.key
        self._require_key(model)
        notices = resolved.notices
        if request.resumed is not None and request.resumed.provider != model.provider:
            before = f"{request.resumed.provider}/{request.resumed.id}"
            notices = [f"The session used {before} so far and continues with {model.key}.", *notices]
        return replace(resolved, model=model, notices=notices)

    async def _find(self, request: ModelRequest) -> ResolvedModel:
        if request.provider == DEMO_PROVIDER or (request.model or "").startswith(f"{DEMO_PROVIDER}/"):
            return await self._start_demo()
        if request.model is not None:
            return await self._find_by_name(request.model, request)
        if request.provider is not None:
            return await self._find_by_provider(request.provider)
        if request.resumed is not None:
            return await self._find_resumed(request.resumed, request)
        settings = self.settings
        if self._default_pattern is not None or settings.default_provider is not None:
            found: ResolvedModel | None = self._find_configured()
        else:
            found = self._find_with_key()
        if request.base_url is not None:
            if found is None:
                raise UsageError("--base-url needs a model; name it with --model.")
            return _without_provider(found, request.base_url, request.key)
        if request.key is not None and self._default_pattern is None and settings.default_provider is None:
            raise UsageError("--api-key needs a provider; name it with --provider or --model.")
        return found or await self._find_local()

    async def _find_resumed(self, resumed: ResumedModel, request: ModelRequest) -> ResolvedModel:
        """The session's own model, or an error: a conversation never moves to another provider unasked.

        An address in a session file, which may come from someone else, never gets a key of the user's.
        """
        provider, id, recorded, upstream = astuple(resumed)
        if recorded is not None and "[masked" in recorded and request.base_url is None:
            raise UsageError(
                "The session's server address has a password, which is not stored: repeat it with --base-url."
            )
        if provider == DEMO_PROVIDER:
            return await self._start_demo()
        key, row = f"{provider}/{id}", self.catalog.provider(provider)
        address = request.base_url or recorded
        if row is None:
            if address is not None:
                notices = [] if request.base_url else [f"Using {key} at {address}, as before."]
                return ResolvedModel(model=_custom_model(id, address), notices=notices)
            for local in await self._named_models():
                if (local.model.provider, local.model.id) == (provider, id):
                    return local
            raise UsageError(
                f"The session's model {key} cannot be used: tau knows no provider {provider}. "
                "Choose another model with --model, or its address with --base-url."
            )
        if not (self._has_access(row.id) or request.key is not None):
            missing = self.credentials.describe_missing_key(row.id)
            raise ConfigError(
                f"The session's model {key} cannot be used: choose another with --model. {missing}"
            )
        model = self.catalog.model(row.id, id) or model_search.unlisted_model(self.catalog, id, row.id)
        if upstream and model.compat.routes_upstream:
            model = pin_upstream(model, upstream)
        if request.base_url is not None and request.base_url.rstrip("/") != recorded and not row.local:
            return _without_provider(ResolvedModel(model=model), request.base_url, request.key)
        if recorded is None or request.base_url is not None or recorded == model.base_url:
            return ResolvedModel(model=model)
        if not row.local:
            raise UsageError(
                f"The session used {key} at {recorded}. Add --base-url {recorded} to send it and your key "
                f"for {row.name} there again, or choose a model with --model."
            )
        model = replace(model, base_url=recorded, custom_address=True)
        return ResolvedModel(model=model, notices=[f"Using {key} at {recorded}, as before."])

    async def _find_by_name(self, pattern: str, request: ModelRequest) -> ResolvedModel:
        """Look in the model table, then on local servers, then on the given server address.

        A server given only by address gets the model name unchanged and no provider's key.
        """
        owner = request.provider or pattern.partition("/")[0]
        id, thinking = split_thinking(pattern)
        if request.base_url is not None and self.catalog.provider(owner) is None:
            return ResolvedModel(model=_custom_model(id, request.base_url), thinking=thinking)
        try:
            return self._pick(pattern, request.provider)
        except UsageError:
            for local in await self._named_models():
                model = local.model
                if id in (model.id, model.key) or (request.provider == model.provider and id in model.id):
                    return replace(local, thinking=thinking)
            self._require_server(owner)
            raise

    async def _find_by_provider(self, provider: str) -> ResolvedModel:
        if self.catalog.provider(provider) is None:
            for local in await self._named_models():
                if local.model.provider == provider:
                    return local
            self._require_server(provider)
        return self._default_of(provider)

    def _require_server(self, provider: str) -> None:
        known = self.catalog.provider(provider) is not None or not self.settings.local.discover
        if not known and (missing := discovery.missing_server(provider, self.environ)):
            raise UsageError(missing)

    def _default_of(self, provider: str) -> ResolvedModel:
        row = self.catalog.provider(provider)
        name = row.default_model if row else ""
        if row is not None and not name:
            listed = self.catalog.models_of(row.id)
            if not listed:
                raise UsageError(f"The provider {row.id} has no default model; name one with --model.")
            name = listed[0].id
        return self._pick(name, row.id if row else provider)

    def _find_configured(self) -> ResolvedModel:
        settings = self.settings
        if self._default_pattern is None:
            assert settings.default_provider is not None
            return self._default_of(settings.default_provider)
        return self._pick(self._default_pattern, settings.default_provider)

    @property
    def _default_pattern(self) -> str | None:
        return self.settings.default_model or self.settings.model_roles.get("default")

    def _find_with_key(self) -> ResolvedModel | None:
        providers = self.credentials.providers_with_keys()
        for pattern in self.settings.enabled_models:
            name, thinking = split_thinking(pattern)
            for model in model_search.find_models(self.catalog, name, prefer=providers):
                if self._has_access(model.provider):
                    return ResolvedModel(model=model, thinking=thinking)
        for provider in self.credentials.default_providers():
            if self.catalog.providers[provider].default_model:
                return self._default_of(provider)
        return None

    async def _find_local(self) -> ResolvedModel:
        """A confirmed server on this machine, else the demo model."""
        local, strangers = await self._find_local_model()
        if local is not None:
            notice = f"Using {local.model.key}, found on this machine."
            return replace(local, notices=[notice, *local.notices])
        problem = "The demo model is disabled (local.embedded)."
        if self.settings.local.embedded:
            try:
                embedded.check_installed(self._weights())
                demo = await self._start_demo()
                return replace(demo, notices=[*strangers, *demo.notices])
            except ConfigError as missing:
                problem = str(missing)
        why = " ".join((*strangers, self.credentials.describe_missing_keys(), problem))
        raise ConfigError(why)

    def _pick(self, pattern: str, provider: str | None) -> ResolvedModel:
        """Pick a model from the table. Raises UsageError."""
        # The keys of all providers are looked up only if one of them has to be chosen.
        prefer = [] if provider in self.catalog.providers else self.credentials.providers_with_keys()
        match = pick_model(self.catalog, pattern, provider, prefer=prefer)
        notice = f"{match.model.key} is not in the model table; its limits are guessed."
        return ResolvedModel(
            model=match.model, thinking=match.thinking, notices=[] if match.known else [notice]
        )

    async def _find_local_model(self) -> tuple[ResolvedModel | None, list[str]]:
        """A model of a server that nobody named, if the user confirms it, and why others are not used."""
        strangers: list[str] = []
        for server in await self._servers():
            if not server.models:
                continue
            if await confirmed_servers.ask_to_use(server, self._confirmed, self.ui):
                return _of_server(server)[0], strangers
            if confirmed_servers.is_strangers(server):
                strangers.append(confirmed_servers.describe_stranger(server))
            elif self.ui is None:
                strangers.append(
                    f"{server.name} runs on this machine, but was never confirmed: name it with --provider"
                    f" {server.provider}, or start tau once in a terminal."
                )
        return None, strangers

    async def _named_models(self) -> list[ResolvedModel]:
        """Models of servers on this machine, for a user who named one; never of another user's server."""
        found: list[ResolvedModel] = []
        for server in await self._servers():
            if confirmed_servers.may_use_named(server) or await confirmed_servers.ask_to_use(
                server, self._confirmed, self.ui
            ):
                found += _of_server(server)
            else:
                log.warning(confirmed_servers.describe_stranger(server))
        return found

    async def _servers(self) -> "list[discovery.DiscoveredServer]":
        local = self.settings.local
        if not local.discover:
            return []
        return await discovery.discover(self.http, self.environ, num_ctx=local.num_ctx, images=local.images)

    @property
    def _confirmed(self) -> "confirmed_servers.ConfirmedServers":
        return confirmed_servers.ConfirmedServers(self.servers)

    async def _start_demo(self) -> ResolvedModel:
        server = await self.services.enter_async_context(embedded.EmbeddedServer(self._weights(), self.run))
        self.keys[DEMO_PROVIDER] = server.key
        notice = f"Using {server.model.name}: it can chat, but it cannot code. {BETTER_MODELS}"
        return ResolvedModel(model=server.model, thinking="off", notices=[notice])

    def _weights(self) -> Path:
        return weights.weights_path(weights.cache_dir(self.environ))

    def _has_access(self, provider: str) -> bool:
        """Whether a known provider is usable: it needs no key, or its key is set."""
        row = self.catalog.provider(provider)
        return row is not None and (row.local or self.credentials.available(row.id))

    def _require_key(self, model: Model) -> None:
        row = self.catalog.provider(model.provider)
        if row is not None and not self._has_access(row.id):
            raise ConfigError(self.credentials.describe_missing_key(row.id))


def _without_provider(found: ResolvedModel, address: str, key: str | None) -> ResolvedModel:
    """The model at an address that no provider was named for: it gets no provider's key or headers."""
    model = replace(
        found.model, provider=CUSTOM_PROVIDER, base_url=address.rstrip("/"), headers={}, custom_address=True
    )
    if key is not None or found.model.provider == CUSTOM_PROVIDER:
        return replace(found, model=model)
    notice = (
        f"No key is sent to {address}: name the provider too, as in --provider {found.model.provider},"
        " or add --api-key."
    )
    return replace(found, model=model, notices=[*found.notices, notice])


def _of_server(server: "discovery.DiscoveredServer") -> list[ResolvedModel]:
    """The models of a confirmed server, each with a note about it."""
    return [
        ResolvedModel(
            model=model,
            notices=[note for note in (server.note, server.model_notes.get(model.id, "")) if note],
        )
        for model in confirmed_servers.confirmed(server.models)
    ]


def _custom_model(id: str, base_url: str) -> Model:
    """A model of a server that is known by its address only."""
    return Model(
        id=id,
        name=id,
        api="openai-completions",
        provider=CUSTOM_PROVIDER,
        base_url=base_url.rstrip("/"),
        custom_address=True,
    )
