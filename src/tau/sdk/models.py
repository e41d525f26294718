"""A session's models: the first model, the roles, the connection to their servers."""

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import AsyncExitStack
from functools import cache, partial
from typing import TYPE_CHECKING

from msgspec import Struct

from tau.ai.catalog import Catalog, load_catalog, pick_model
from tau.ai.client import Client
from tau.ai.http import HttpTransport
from tau.ai.model import Model, ThinkingLevel
from tau.ai.transport import Timeouts
from tau.base import secrets
from tau.base.clock import now_ms
from tau.base.errors import ConfigError, UsageError
from tau.base.late import late
from tau.base.run import LocalRunner
from tau.coding.context import ModelRoles
from tau.coding.model_resolver import ModelRequest, ModelResolver, ResolvedModel
from tau.coding.plan.mode import resumed_model
from tau.coding.session.storage.log import SessionLog
from tau.config.auth_file import AuthFile
from tau.config.credentials import KeyCredentials
from tau.config.models_file import ModelsFile, add_providers, load_models_file, merge_models
from tau.config.paths import Paths
from tau.config.settings import Settings
from tau.config.web_access import SEARCH_KEYS, WebAccess
from tau.sdk.options import SessionOptions

if TYPE_CHECKING:
    from tau.ext.extensions.host import ExtensionHost

# Besides the default model. Settings may name more.
ROLES = ("smol", "slow", "vision", "plan", "task", "commit")

LIMIT_HEADERS = ("anthropic-ratelimit-", "x-ratelimit-", "x-codex-")

fallback = late("tau.coding.session.fallback")
faux = late("tau.ai.faux")
exchange_log = late("tau.ai.exchange_log")
plan_limits = late("tau.ai.plan_limits")
plan_usage = late("tau.config.plan_usage")


async def _find_none(pattern: str) -> Model | None:
    return None


class SessionModels(Struct, frozen=True):
    """The first model, the roles, and the connection to their servers."""

    resolved: ResolvedModel
    roles: ModelRoles
    client: Client
    warnings: list[str]
    web: WebAccess
    resolve: Callable[[str], Awaitable[Model | None]] | None = None  # fallback
    find: Callable[[str], Model] = lambda pattern: faux.FAUX_MODEL  # raises UsageError
    find_usable: Callable[[str], Awaitable[Model | None]] = _find_none


async def open_models(
    options: SessionOptions,
    settings: Settings,
    paths: Paths,
    environ: Mapping[str, str],
    runner: LocalRunner,
    conversation: SessionLog,
    services: AsyncExitStack,
    host: "ExtensionHost | None" = None,
) -> SessionModels:
    http = HttpTransport(environ, timeouts := _timeouts(settings))
    services.push_async_callback(http.close)
    keys: dict[str, str] = {}
    file = _models_file(paths, host)
    catalog = merge_models(load_catalog(), file)
    auth = AuthFile(paths.auth)
    credentials = KeyCredentials(catalog, auth, runner, environ, flags=keys, models=file.keys, http=http)
    sent = http if options.ui is None else exchange_log.recorded(http)  # for /debug
    client = Client(sent, credentials, timeouts, address=credentials.address)
    known_limits: dict[str, plan_limits.PlanLimits] = {}
    client.on_headers = _limits_watch(known_limits, credentials, paths)
    _connect_client(client, credentials, settings, file, keys, host)
    web = web_access(paths, environ, runner, credentials=lambda: credentials)
    if options.stream is not None:
        resolved = ResolvedModel(model=faux.FAUX_MODEL)
        return SessionModels(resolved, ModelRoles(resolved.model), client, file.warnings, web)
    resolver = ModelResolver(
        catalog=catalog,
        credentials=credentials,
        settings=settings,
        http=http,
        run=runner,
        environ=environ,
        keys=keys,
        services=services,
        servers=paths.servers,
        ui=options.ui,
    )
    resolved = await _find_first(options, resolver, conversation)
    named = {**_named_roles(environ), **options.roles}
    roles, levels, problems = _roles({**settings.model_roles, **named}, resolver, named)
    chains = settings.retry.fallback_chains
    resolve = fallback.make_resolver(catalog, credentials, environ, runner) if chains else None

    async def find_usable(pattern: str) -> Model | None:
        return await fallback.make_resolver(catalog, credentials, environ, runner)(pattern)

    def available() -> Iterator[Model]:
        return (model for model in catalog.models if credentials.available(model.provider))

    by_role = ModelRoles(resolved.model, roles, available, levels, known_limits, settings.local.num_ctx)
    warnings = [*file.warnings, *auth.warnings, *problems]
    find = partial(_find_model, catalog, credentials)
    return SessionModels(resolved, by_role, client, warnings, web, resolve, find, find_usable)


async def _find_first(
    options: SessionOptions, resolver: ModelResolver, conversation: SessionLog
) -> ResolvedModel:
    """The model of the first request; that of an agent is known."""
    if options.agent is not None:
        if options.api_key is not None:
            resolver.keys[options.agent.model.provider] = options.api_key
        return ResolvedModel(model=options.agent.model)
    request = ModelRequest(
        provider=options.provider,
        model=options.model,
        base_url=options.base_url,
        key=options.api_key,
        resumed=resumed_model(conversation),
    )
    return await resolver.find(request)


def _find_model(catalog: Catalog, credentials: KeyCredentials, pattern: str) -> Model:
    return pick_model(catalog, pattern, prefer=credentials.providers_with_keys()).model


def _connect_client(
    client: Client,
    credentials: KeyCredentials,
    settings: Settings,
    file: ModelsFile,
    keys: Mapping[str, str],
    host: "ExtensionHost | None",
) -> None:
    if host is not None:
        client.on_response, client.on_refused = host.on_response, host.on_refused
    credentials.warn = lambda warning: client.warn(warning)
    client.may_send_plain = lambda model, name: (
        name in settings.keys.plain_http_hosts
        or model.provider in keys  # --api-key
        or (model.provider in file.keys and not model.custom_address)  # both are in models.json
    )


def _models_file(paths: Paths, host: "ExtensionHost | None") -> ModelsFile:
    """The user's models.json, and the providers of extensions."""
    file = load_models_file(paths.models)
    if host is not None:
        for path, providers in host.providers():
            try:
                file = add_providers(file, path, providers)
            except ConfigError as error:
                host.say(path.stem, f"The providers of this extension are not used: {error}")
    return file


def _limits_watch(
    known: "dict[str, plan_limits.PlanLimits]", credentials: KeyCredentials, paths: Paths
) -> Callable[[str, str, Mapping[str, str]], None]:
    """Note what responses say about plan limits. Most say nothing, which costs a look at the names."""

    def seen(provider: str, key: str, headers: Mapping[str, str]) -> None:
        if not any(name.startswith(LIMIT_HEADERS) for name in headers):
            return
        now = now_ms()
        limits = plan_limits.read_limits(headers, now)
        if limits:
            new = plan_limits.PlanLimits(provider, credentials.account(provider, key), now, limits)
            plan_usage.save(paths.limits, new, known.get(provider))
            known[provider] = new

    return seen


def _named_roles(environ: Mapping[str, str]) -> dict[str, str]:
    """Such as TAU_SMOL_MODEL."""
    named = {role: environ.get(f"TAU_{role.upper()}_MODEL", "").strip() for role in ROLES}
    return {role: pattern for role, pattern in named.items() if pattern}


def _roles(
    patterns: Mapping[str, str], resolver: ModelResolver, named: Collection[str]
) -> tuple[dict[str, Model], dict[str, ThinkingLevel], list[str]]:
    """The models of the roles, and the thinking levels they name; unknown ones are skipped with a warning.

    Raises UsageError for one in `named`, which the user asked for now.
    """
    roles: dict[str, Model] = {}
    levels: dict[str, ThinkingLevel] = {}
    problems: list[str] = []
    prefer = resolver.credentials.providers_with_keys() if patterns else []
    for role, pattern in patterns.items():
        try:
            match = pick_model(resolver.catalog, pattern, prefer=prefer)
            roles[role] = match.model
            if match.thinking is not None:
                levels[role] = match.thinking
        except UsageError as error:
            if role in named:
                raise
            problems.append(f"Skipped the {role} model. {error}")
    return roles, levels, problems


def _timeouts(settings: Settings) -> Timeouts:
    stream = settings.stream
    return Timeouts(
        connect=stream.connect_timeout_ms / 1000,
        first_byte=stream.first_event_timeout_ms / 1000,
        idle=stream.idle_timeout_ms / 1000,
    )


def web_access(
    paths: Paths,
    environ: Mapping[str, str],
    runner: LocalRunner,
    may_connect: Callable[[str], bool] = lambda name: False,
    credentials: Callable[[], KeyCredentials] | None = None,
) -> WebAccess:
    """The keys of search providers. Credentials are opened when first needed."""

    @cache
    def open_credentials() -> KeyCredentials:
        catalog = merge_models(load_catalog(), file := load_models_file(paths.models))
        auth, http = AuthFile(paths.auth), HttpTransport(environ)
        return KeyCredentials(catalog, auth, runner, environ, models=file.keys, http=http)

    credentials = credentials or open_credentials
    keys: dict[str, str] = {}

    def variable(name: str) -> str:
        given = (environ.get(one, "").strip() for one in SEARCH_KEYS[name].variables)
        return next(filter(None, given), keys.get(name, ""))

    async def key(name: str) -> str | None:
        if found := variable(name):
            secrets.learn(found)
            return found
        for provider in SEARCH_KEYS[name].providers:
            if found := await credentials().get(provider) or "":
                return found
        return None

    def has_key(name: str) -> bool:
        return bool(variable(name)) or any(map(credentials().available, SEARCH_KEYS[name].providers))

    return WebAccess(environ, may_connect, key, has_key, keys=keys)
