"""Available models: from the catalog and the user's file, and which of them have keys."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tau.ai.catalog import Catalog, load_catalog, models_in_order
from tau.ai.http import HttpTransport
from tau.ai.model import Model
from tau.base.late import late
from tau.base.run import LocalRunner
from tau.config.auth_file import AuthFile
from tau.config.credentials import KeyCredentials
from tau.config.models_file import load_models_file, merge_models
from tau.tui.widgets.select_list import SelectItem

if TYPE_CHECKING:
    from tau.config.paths import Paths

discovery = late("tau.ai.local.discovery")

YOURS = "Your models (enabledModels)"


class ModelList(NamedTuple):
    """All models, and the providers usable now."""

    catalog: Catalog
    keys: KeyCredentials
    usable: frozenset[str]
    names: Mapping[str, str]
    """Display names of providers."""

    def model(self, key: str) -> Model | None:
        return next((model for model in self.catalog.models if model.key == key), None)

    def missing(self, model: Model) -> str:
        """What is needed to use this model; empty if nothing."""
        return "" if model.provider in self.usable else self.keys.describe_missing_key(model.provider)

    def with_more(self, models: Iterable[Model], names: Mapping[str, str]) -> "ModelList":
        """Also allow these models: a server offers them without a key, or they are in use."""
        there = {model.key for model in self.catalog.models}
        more = [model for model in models if model.key not in there]
        usable = self.usable | {model.provider for model in more}
        return self._replace(
            catalog=Catalog(self.catalog.providers, [*self.catalog.models, *more]),
            usable=usable,
            names={**names, **self.names},
        )


def known_models(paths: "Paths", current: Model | None, environ: Mapping[str, str] = os.environ) -> ModelList:
    """What is known without network access. Raises ConfigError for a broken file."""
    file = load_models_file(paths.models)
    catalog = merge_models(load_catalog(), file)
    keys = KeyCredentials(catalog, AuthFile(paths.auth), LocalRunner(), environ, models=file.keys)
    usable = {id for id, row in catalog.providers.items() if row.local or keys.available(id)}
    names = {id: row.name for id, row in catalog.providers.items()}
    known = ModelList(catalog, keys, frozenset(usable), names)
    if current is None:
        return known
    # A key passed as a flag is in no file; that the model answers is proof enough.
    known = known._replace(usable=known.usable | {current.provider})
    return known.with_more([current], {current.provider: current.provider})


async def served_models(environ: Mapping[str, str] = os.environ) -> tuple[list[Model], dict[str, str]]:
    """Models of local servers and the servers' names; empty if none answers in time."""
    http = HttpTransport(environ)
    try:
        found = await discovery.discover(http, environ)
    finally:
        await http.close()
    models = [model for server in found for model in server.models]
    return models, {server.provider: f"{server.name} (this machine)" for server in found}


def model_items(
    known: ModelList, enabled: Sequence[str], *, scoped: bool, separator: str = " · "
) -> list[SelectItem[str]]:
    """Enabled models first, then by provider; those without a key last. `scoped`: only enabled ones."""
    own = models_in_order(known.catalog, enabled) if enabled else []
    own.sort(key=lambda model: model.provider not in known.usable)
    items = [_item(known, model, YOURS, separator)._replace(hint=_missing(known, model)) for model in own]
    if scoped:
        return items
    listed = {model.key for model in own}
    rest = [model for model in known.catalog.models if model.key not in listed]
    rest.sort(key=lambda model: model.provider not in known.usable)
    for model in rest:
        name = known.names.get(model.provider, model.provider)
        missing = _missing(known, model)
        items.append(_item(known, model, f"{name}: {missing}" if missing else name, separator))
    return items


def _item(known: ModelList, model: Model, group: str, separator: str) -> SelectItem[str]:
    usable = model.provider in known.usable
    named = model.key if group == YOURS else model.id  # the group already names the provider
    return SelectItem(model.key, model.name, facts(model, separator, named), group, "", not usable)


def _missing(known: ModelList, model: Model) -> str:
    """Briefly, why it is unusable."""
    if model.provider in known.usable:
        return ""
    row = known.catalog.provider(model.provider)
    variables = row.key_variables if row is not None else []
    return f"no key, set {variables[-1]}" if variables else "no key"


def facts(model: Model, separator: str = " · ", named: str = "") -> str:
    """Context size, price per million tokens in and out, capabilities and id."""
    free = not model.cost.input and not model.cost.output
    parts = [
        tokens(model.context_window),
        "no price" if free else f"${model.cost.input:g}/${model.cost.output:g}",
        "thinks" if model.reasoning else "",
        "images" if "image" in model.input else "",
        named or model.key,
    ]
    return separator.join(part for part in parts if part)


def tokens(count: int) -> str:
    """A readable size: 200K, 1M."""
    if count >= 1_000_000:
        return f"{count / 1_000_000:.1f}".removesuffix(".0") + "M"
    return f"{count / 1000:.0f}K" if count >= 1000 else str(count)
