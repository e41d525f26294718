"""Available models: from the catalog and the user's file, and which of them have keys."""

import os
from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import NamedTuple

from msgspec.structs import replace

from tau.ai.auth import resolve_headers
from tau.ai.catalog import Catalog, load_catalog, pick_model, split_thinking
from tau.ai.http import HttpTransport
from tau.ai.model import DEMO_PROVIDER, Model, ThinkingLevel
from tau.ai.model_search import find_models
from tau.base.errors import ConfigError, UsageError
from tau.base.late import late
from tau.base.run import LocalRunner
from tau.config.auth_file import AuthFile
from tau.config.credentials import KeyCredentials
from tau.config.models_file import load_models_file, merge_models
from tau.config.paths import Paths
from tau.config.settings import LocalSettings, Settings

discovery = late("tau.ai.local.discovery")
confirmed_servers = late("tau.coding.confirmed_servers")


class ModelList(NamedTuple):
    """All models, and the providers usable now."""

    catalog: Catalog
    keys: KeyCredentials
    usable: frozenset[str]
    names: Mapping[str, str]
    """Display names of providers."""

    def model(self, key: str) -> Model | None:
        provider, _, id = key.partition("/")
        return self.catalog.model(provider, id)

    def missing(self, model: Model) -> str:
        """What is needed to use this model; empty if nothing."""
        return "" if model.provider in self.usable else self.keys.describe_missing_key(model.provider)

    def with_more(self, models: Iterable[Model], names: Mapping[str, str]) -> "ModelList":
        """Also allow these models: a server offers them without a key, or they are in use."""
        more = [model for model in models if self.catalog.model(model.provider, model.id) is None]
        usable = self.usable | {model.provider for model in more}
        return self._replace(
            catalog=self.catalog.with_models(more),
            usable=usable,
            names={**names, **self.names},
        )


def known_models(paths: Paths, current: Model | None, environ: Mapping[str, str] = os.environ) -> ModelList:
    """What is known without network access. Raises ConfigError for a broken file."""
    file = load_models_file(paths.models)
    catalog = merge_models(load_catalog(), file)
    keys = KeyCredentials(catalog, AuthFile(paths.auth), LocalRunner(), environ, models=file.keys)
    usable = {id for id, row in catalog.providers.items() if row.local or keys.available(id)}
    names = {id: row.name for id, row in catalog.providers.items()}
    available = ModelList(catalog, keys, frozenset(usable), names)
    if current is None:
        return available
    # A key passed as a flag is in no file; that the model answers is proof enough.
    available = available._replace(usable=available.usable | {current.provider})
    return available.with_more([current], {current.provider: current.provider})


async def served_models(
    local: LocalSettings, environ: Mapping[str, str] = os.environ
) -> tuple[list[Model], dict[str, str]]:
    """Models of local servers and the servers' names; empty if none answers in time."""
    http = HttpTransport(environ)
    try:
        servers = await discovery.discover(http, environ, num_ctx=local.num_ctx, images=local.images)
    finally:
        await http.close()
    servers = [server for server in servers if not confirmed_servers.is_strangers(server)]
    models: list[Model] = []
    for server in servers:  # choosing one of these is naming its server
        is_named = confirmed_servers.may_use_named(server)
        models += confirmed_servers.confirmed(server.models) if is_named else server.models
    return models, {server.provider: f"{server.name} (this machine)" for server in servers}


async def with_headers(model: Model) -> Model:
    """The model with the headers its file defines, which may come from variables or commands."""
    if not model.headers:
        return model
    with closing(LocalRunner()) as runner:
        return replace(model, headers=await resolve_headers(model.headers, os.environ, runner))


async def find_model(
    pattern: str, paths: Paths, current: Model, local: LocalSettings
) -> tuple[Model, ThinkingLevel | None]:
    """The model the pattern names, from the catalog or a local server, if it is usable."""
    if pattern.partition("/")[0] == DEMO_PROVIDER:
        raise UsageError("The demo model must be chosen at startup: tau --provider demo.")
    models = known_models(paths, current)
    usable = [id for id in models.catalog.providers if id in models.usable]
    try:
        choice = pick_model(models.catalog, pattern, prefer=usable)
    except UsageError:
        if not local.discover:
            raise
        models = models.with_more(*await served_models(local))
        choice = pick_model(models.catalog, pattern, prefer=usable)
    missing = models.missing(choice.model)
    if missing:
        raise ConfigError(missing)
    return choice.model, choice.thinking


class ModelAndThinking(NamedTuple):
    model: Model
    thinking: ThinkingLevel | None = None


def cycle_choices(settings: Settings, paths: Paths) -> list[ModelAndThinking]:
    """The usable models of the setting enabledModels.

    Without it: the default of each provider that has a key; if there is only one, all its models.
    """
    available = known_models(paths, None)
    catalog, keys = available.catalog, available.keys
    usable = [id for id in catalog.providers if id in available.usable]
    chosen: dict[str, ModelAndThinking] = {}
    for pattern in settings.enabled_models:
        name, thinking = split_thinking(pattern)
        for model in find_models(catalog, name, prefer=usable):
            if model.provider in usable:
                chosen.setdefault(model.key, ModelAndThinking(model, thinking))
    if chosen or settings.enabled_models:
        return list(chosen.values())
    defaults = {id: catalog.providers[id].default_model for id in usable if keys.available(id)}
    ready = [model for model in catalog.models if model.provider in defaults]
    first = [model for model in ready if defaults[model.provider] == model.id]
    return [ModelAndThinking(model) for model in (first if len(first) > 1 else ready)]
