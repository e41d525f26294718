"""The tables of providers and models.

`data/providers.json` is a list of providers. `data/models/PROVIDER.json` has the models of one, and
`tools/models_data.py` writes it; what a model does not set (api, base URL, headers, compat) comes from
its provider.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, convert, json, to_builtins
from msgspec.structs import replace

from tau.ai.apis import DIALECTS
from tau.ai.auth import Login
from tau.ai.model import CacheSeconds, Compat, InputLimits, Model, Price, ThinkingLevel, thinking_level
from tau.base.late import late

model_search = late("tau.ai.model_search")

DATA = Path(__file__).parent / "data"


class Provider(Struct, frozen=True, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """A row of `data/providers.json`. `key_variables` are tried in order; `local` ones work without a key.
    `closed_variable` has a token that is for the vendor's own products only.

    `base_url` may contain variables: `{NAME,OTHER|default}`. `key_page` is where to create a key; a pasted
    key should start with `key_prefix`. One `on_request` is used only when it is named: its key has other
    uses too, or it needs more than a key. A `plan` is paid for, not its tokens. A `cloud` has
    credentials besides keys. A GET of `key_check`, relative to the address, is free and needs a valid key.
    """

    id: str
    name: str
    api: str
    base_url: str
    key_variables: list[str] = []
    closed_variable: str = ""
    key_page: str = ""
    key_prefix: str = ""
    default_model: str = ""
    headers: dict[str, str] = {}
    compat: Compat = Compat()
    local: bool = False
    on_request: bool = False
    plan: bool = False
    cloud: Literal["", "aws", "google"] = ""
    login: Login | None = None
    key_check: str = ""


class ModelRow(Struct, frozen=True, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """A model of a provider's table. `compat` has only what differs from the provider's."""

    id: str
    name: str
    reasoning: bool = False
    thinking_level_map: dict[ThinkingLevel, str | None] = {}
    input: tuple[Literal["text", "image"], ...] = ("text",)
    cost: Price = Price()
    context_window: int = 128_000
    max_tokens: int = 16_384
    api: str = ""
    base_url: str = ""
    cache_seconds: CacheSeconds = CacheSeconds()
    limits: InputLimits = InputLimits()
    headers: dict[str, str] = {}
    compat: dict[str, Any] = {}
    demo: bool = False


Change = Callable[[list[Model]], list[Model]]


class Catalog:
    """All providers by id, and their models, which are decoded when they are first needed."""

    def __init__(
        self,
        providers: dict[str, Provider],
        models: Iterable[Model] = (),
        *,
        data: Path | None = None,
        changes: Mapping[str, Change] | None = None,
        added: Sequence[Model] = (),
        served: Path | None = None,
    ) -> None:
        """`models` come after those in the folder `data`; `changes` apply to both, not to what is `added`.

        `served` is the folder with the models that servers listed (`tau models refresh`).
        """
        self.providers = providers
        self._given: dict[str, list[Model]] = {}
        for model in models:
            self._given.setdefault(model.provider, []).append(model)
        self._data = data
        self._changes = changes or {}
        self._added = added
        self._served = served
        self._rows: dict[str, list[ModelRow]] = {}
        self._models: dict[str, list[Model]] = {}

    @property
    def models(self) -> list[Model]:
        """All models, in the order of the table."""
        ids = dict.fromkeys((*self.providers, *self._given))
        return [*(model for id in ids for model in self._known(id)), *self._added]

    def models_of(self, provider: str) -> list[Model]:
        return [*self._known(provider), *(model for model in self._added if model.provider == provider)]

    def model(self, provider: str, id: str) -> Model | None:
        """The model with exactly this id, without creating the provider's others."""
        if not (provider in self._models or provider in self._changes):
            for row in self._table(provider):
                if row.id == id:
                    return model_from_row(self.providers[provider], row)
        return next((model for model in self.models_of(provider) if model.id == id), None)

    def provider(self, name: str) -> Provider | None:
        """Find a provider by id, ignoring case."""
        if found := self.providers.get(name):
            return found
        return next((row for id, row in self.providers.items() if id.lower() == name.lower()), None)

    def with_models(self, models: Iterable[Model]) -> "Catalog":
        """Also these, at the end."""
        return self._copy(self.providers, self._changes, [*self._added, *models])

    def with_changes(self, providers: dict[str, Provider], changes: Mapping[str, Change]) -> "Catalog":
        """With these providers instead, and changes to the models of some."""
        return self._copy(providers, {**self._changes, **changes}, self._added)

    def with_served(self, folder: Path) -> "Catalog":
        """With what servers listed, which is in this folder."""
        return self._copy(self.providers, self._changes, self._added, folder)

    def _copy(
        self,
        providers: dict[str, Provider],
        changes: Mapping[str, Change],
        added: Sequence[Model],
        served: Path | None = None,
    ) -> "Catalog":
        given = [model for models in self._given.values() for model in models]
        return Catalog(
            providers, given, data=self._data, changes=changes, added=added, served=served or self._served
        )

    def _known(self, provider: str) -> list[Model]:
        if provider not in self._models:
            row = self.providers.get(provider)
            merged: dict[str, Compat] = {}  # most rows that differ from their provider differ in the same way
            rows = self._table(provider)
            models = [] if row is None else [model_from_row(row, one, merged) for one in rows]
            models += self._given.get(provider, ())
            change = self._changes.get(provider)
            self._models[provider] = change(models) if change else models
        return self._models[provider]

    def _table(self, provider: str) -> list[ModelRow]:
        """The rows of a provider's file, if it has one."""
        if provider not in self._rows:
            own = self._data / "models" if self._data else None
            found: dict[str, ModelRow] = {}
            for folder in (own, self._served) if provider in self.providers else ():
                path = folder / f"{provider}.json" if folder else None
                if path is not None and path.is_file():
                    found = {row.id: row for row in decode_models(path.read_bytes())} | found
            self._rows[provider] = list(found.values())
        return self._rows[provider]


def decode_models(table: bytes) -> list[ModelRow]:
    """A provider's models, without those whose dialect is missing."""
    return [row for row in json.decode(table, type=list[ModelRow]) if not row.api or row.api in DIALECTS]


def load_catalog(data: Path = DATA) -> Catalog:
    return Catalog(load_providers(data), data=data)


def load_providers(data: Path = DATA) -> dict[str, Provider]:
    """The providers whose dialect there is."""
    return dict(_bundled_providers() if data == DATA else _read_providers(data))


@cache
def _bundled_providers() -> dict[str, Provider]:
    return _read_providers(DATA)


def _read_providers(data: Path) -> dict[str, Provider]:
    rows = json.decode((data / "providers.json").read_bytes(), type=list[Provider])
    return {row.id: row for row in rows if row.api in DIALECTS}


def model_from_row(provider: Provider, row: ModelRow, merged: dict[str, Compat] | None = None) -> Model:
    """Create a model with defaults from its provider. `merged` remembers the compat of rows."""
    compat = provider.compat
    if row.compat:
        merged = {} if merged is None else merged
        flags = repr(row.compat)
        compat = merged[flags] = merged.get(flags) or merge_compat(compat, row.compat)
    return Model(
        id=row.id,
        name=row.name,
        api=row.api or provider.api,
        provider=provider.id,
        base_url=row.base_url or provider.base_url,
        reasoning=row.reasoning,
        thinking_level_map=row.thinking_level_map,
        input=row.input,
        cost=row.cost,
        context_window=row.context_window,
        max_tokens=row.max_tokens,
        cache_seconds=row.cache_seconds,
        limits=row.limits,
        headers={**provider.headers, **row.headers} if row.headers else provider.headers,
        compat=compat,
        demo=row.demo,
    )


def merge_compat(base: Compat, changes: Mapping[str, Any]) -> Compat:
    """Change some fields of `base`, named as in files. Raises ValidationError."""
    return convert({**to_builtins(base), **changes}, Compat)


class ModelMatch(Struct, frozen=True):
    """The model that a pattern selects. `known` is False for an id that is not in the table."""

    model: Model
    known: bool = True
    thinking: ThinkingLevel | None = None


def split_thinking(pattern: str) -> tuple[str, ThinkingLevel | None]:
    """Split `sonnet:high` into `sonnet` and `high`; a colon in an id (`gpt-oss:20b`) is kept."""
    start, colon, end = pattern.rpartition(":")
    level = thinking_level(end) if colon else None
    return (pattern, None) if level is None else (start, level)


def pick_model(
    catalog: Catalog, pattern: str, provider: str | None = None, *, prefer: Sequence[str] = ()
) -> ModelMatch:
    """Select the model for `PATTERN[:level]`: by exact id, `provider/id`, glob, part of its id or name.

    Raises UsageError, with the nearest names, if there is none or if it could be several.
    An unknown id is accepted if the provider is named: it gets the provider's defaults.
    """
    pattern = pattern.strip()
    if exact := _exact(catalog, pattern, provider, prefer):
        return ModelMatch(exact)
    name, thinking = split_thinking(pattern)
    if exact := _exact(catalog, name, provider, prefer):
        return ModelMatch(exact, thinking=thinking)
    if exact := _exact_upstream(catalog, name, provider, prefer):
        return ModelMatch(exact, thinking=thinking)
    return model_search.search(catalog, name, thinking, provider, prefer)


def _exact(catalog: Catalog, pattern: str, provider: str | None, prefer: Sequence[str]) -> Model | None:
    """The common case, which reads one table: `provider/id`, `provider/`, an id of a provider with a key."""
    owner, slash, id = (provider, "/", pattern) if provider else pattern.partition("/")
    if slash and owner in catalog.providers:
        return catalog.model(owner, id or catalog.providers[owner].default_model)
    if provider is None and pattern:
        for usable in prefer:
            if found := catalog.model(usable, pattern):
                return found
    return None


def _exact_upstream(
    catalog: Catalog, pattern: str, provider: str | None, prefer: Sequence[str]
) -> Model | None:
    """`model@upstream`, of a provider that routes."""
    id, at, upstream = pattern.rpartition("@")
    found = _exact(catalog, id, provider, prefer) if at and upstream else None
    return None if found is None or not found.compat.routes_upstream else pin_upstream(found, upstream)


def pin_upstream(model: Model, upstream: str) -> Model:
    """Have a router ask only this one."""
    compat = merge_compat(model.compat, {"routing": {"only": [upstream]}})
    return replace(model, compat=compat, upstream=upstream)
