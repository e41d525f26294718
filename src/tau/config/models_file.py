"""`models.json`: custom providers and models, and changes to built-in ones."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, convert, to_builtins
from msgspec.structs import replace

from tau.ai.apis import DIALECTS
from tau.ai.catalog import Catalog, Provider, merge_compat
from tau.ai.model import Compat, Model, Price
from tau.config.fields import (
    FieldPath,
    check_members,
    decode_struct,
    field_types,
    format_path,
    unknown_fields,
)
from tau.config.json_file import JsonFile, read_json

_Count = Annotated[int, Meta(ge=1)]


class ModelChanges(Struct, frozen=True, rename="camel", kw_only=True):
    """Overrides for a model. `cost` and `compat` override single fields; headers are added."""

    name: str | UnsetType = UNSET
    reasoning: bool | UnsetType = UNSET
    input: tuple[Literal["text", "image"], ...] | UnsetType = UNSET
    cost: dict[str, Any] = {}
    context_window: _Count | UnsetType = UNSET
    max_tokens: _Count | UnsetType = UNSET
    api: str | UnsetType = UNSET
    headers: dict[str, str] = {}
    compat: dict[str, Any] = {}


class ModelEntry(ModelChanges, frozen=True, rename="camel", kw_only=True):
    id: str


class ProviderEntry(Struct, frozen=True, rename="camel", kw_only=True):
    """A provider in the file. `api_key` and header values may name a variable or a `!command`."""

    name: str | UnsetType = UNSET
    base_url: str | UnsetType = UNSET
    api: str | UnsetType = UNSET
    api_key: str | UnsetType = UNSET
    headers: dict[str, str] = {}
    compat: dict[str, Any] = {}
    models: list[ModelEntry] = []
    model_overrides: dict[str, ModelChanges] = {}


class ModelsFile(Struct, frozen=True):
    source: JsonFile
    providers: dict[str, ProviderEntry]
    warnings: list[str]

    @property
    def keys(self) -> dict[str, str]:
        """The configured key of each provider that has one, unresolved."""
        return {id: row.api_key for id, row in self.providers.items() if isinstance(row.api_key, str)}


def load_models_file(path: Path) -> ModelsFile:
    """Read and check the file. Raises ConfigError with path, line and field; a missing file is empty."""
    source = read_json(path)
    listed = source.content.get("providers", {})
    if not isinstance(listed, dict):
        raise source.error("providers must be an object with provider ids as keys.", "providers")
    warnings = unknown_fields(source, (), source.content, ("providers", "$schema"))
    providers: dict[str, ProviderEntry] = {}
    for id, plain in listed.items():
        way: FieldPath = ("providers", id)
        if not id or "/" in id or any(letter.isspace() for letter in id):
            raise source.error(f'"{id}" is not a valid provider id: ids have no slashes or spaces.', *way)
        entry = decode_struct(source, way, plain, ProviderEntry)
        _check(source, way, entry)
        warnings += unknown_fields(source, way, plain, field_types(ProviderEntry))
        for index, model in enumerate(entry.models):
            place: FieldPath = (*way, "models", index)
            _check(source, place, model)
            warnings += unknown_fields(source, place, plain["models"][index], field_types(ModelEntry))
        for name, change in entry.model_overrides.items():
            place = (*way, "modelOverrides", name)
            _check(source, place, change)
            warnings += unknown_fields(
                source, place, plain["modelOverrides"][name], field_types(ModelChanges)
            )
        providers[id] = entry
    return ModelsFile(source, providers, warnings)


def merge_models(catalog: Catalog, file: ModelsFile) -> Catalog:
    """Add the file's providers and models to the catalog. Raises ConfigError for an incomplete provider."""
    if not file.providers:
        return catalog
    providers = dict(catalog.providers)
    models: dict[str, dict[str, Model]] = {}
    for model in catalog.models:
        models.setdefault(model.provider, {})[model.id] = model
    for id, entry in file.providers.items():
        known = providers.get(id)
        provider = _change_provider(known, entry) if known else _new_provider(file.source, id, entry)
        providers[id] = provider
        own = {name: _apply_provider(model, provider, entry) for name, model in models.get(id, {}).items()}
        for model_id, changes in _changes(entry):
            own[model_id] = _change_model(own.get(model_id) or _new_model(provider, model_id), changes)
        models[id] = own
    return Catalog(providers, [model for own in models.values() for model in own.values()])


def _changes(entry: ProviderEntry) -> Iterator[tuple[str, ModelChanges]]:
    for row in entry.models:
        yield row.id, row
    yield from entry.model_overrides.items()


def _new_provider(source: JsonFile, id: str, entry: ProviderEntry) -> Provider:
    if not isinstance(entry.base_url, str):
        raise source.error(f"The new provider {id} needs a baseUrl.", "providers", id)
    named = [entry.api, *(row.api for row in entry.models)]
    apis = [api for api in named if isinstance(api, str)]
    without = [index for index, row in enumerate(entry.models) if not isinstance(row.api, str)]
    if not isinstance(entry.api, str) and (without or not apis):
        way = ("providers", id, "models", without[0]) if without else ("providers", id)
        raise source.error(f"The provider {id}, or each of its models, needs an api: {_apis()}.", *way)
    return Provider(
        id=id,
        name=entry.name or id,
        api=apis[0],
        base_url=entry.base_url.rstrip("/"),
        default_model=entry.models[0].id if entry.models else "",
        headers=entry.headers,
        compat=merge_compat(Compat(), entry.compat),
        local=not isinstance(entry.api_key, str),
    )


def _change_provider(known: Provider, entry: ProviderEntry) -> Provider:
    return replace(
        known,
        name=entry.name or known.name,
        base_url=entry.base_url.rstrip("/") if isinstance(entry.base_url, str) else known.base_url,
        api=entry.api or known.api,
        headers={**known.headers, **entry.headers},
        compat=merge_compat(known.compat, entry.compat),
    )


def _apply_provider(model: Model, provider: Provider, entry: ProviderEntry) -> Model:
    """Apply a provider's changes to a built-in model."""
    return replace(
        model,
        base_url=provider.base_url,
        api=entry.api or model.api,
        headers={**model.headers, **entry.headers},
        compat=merge_compat(model.compat, entry.compat),
    )


def _new_model(provider: Provider, id: str) -> Model:
    return Model(
        id=id,
        name=id,
        api=provider.api,
        provider=provider.id,
        base_url=provider.base_url,
        headers=provider.headers,
        compat=provider.compat,
    )


def _change_model(model: Model, changes: ModelChanges) -> Model:
    plain = {
        name: value
        for name in ("name", "reasoning", "input", "context_window", "max_tokens", "api")
        if (value := getattr(changes, name)) is not UNSET
    }
    return replace(
        model,
        **plain,
        cost=convert({**to_builtins(model.cost), **changes.cost}, Price),
        headers={**model.headers, **changes.headers},
        compat=merge_compat(model.compat, changes.compat),
    )


def _check(source: JsonFile, way: FieldPath, entry: ProviderEntry | ModelChanges) -> None:
    """Checks beyond the types."""
    if isinstance(entry.api, str) and entry.api not in DIALECTS:
        message = f'{format_path(*way, "api")} is "{entry.api}", which is unknown; use one of {_apis()}.'
        raise source.error(message, *way, "api")
    if isinstance(entry, ProviderEntry):
        if isinstance(entry.base_url, str) and not entry.base_url.startswith(("http://", "https://")):
            raise source.error(
                f"{format_path(*way, 'baseUrl')} must start with http:// or https://.", *way, "baseUrl"
            )
    else:
        check_members(source, (*way, "cost"), entry.cost, Price)
    check_members(source, (*way, "compat"), entry.compat, Compat)


def _apis() -> str:
    return ", ".join(DIALECTS)
