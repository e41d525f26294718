"""`models.json`: custom providers and models, and changes to built-in ones."""

from collections.abc import Collection, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from msgspec import UNSET, Meta, Struct, UnsetType, ValidationError, convert, json, to_builtins
from msgspec.structs import fields, replace

from tau.ai.apis import DIALECTS
from tau.ai.auth import Login
from tau.ai.catalog import Catalog, Change, Provider, merge_compat
from tau.ai.model import Compat, Model, Price, ThinkingLevel
from tau.base.errors import ConfigError
from tau.base.late import late
from tau.config.json_file import JsonFile, read_json

descriptions = late("tau.config.descriptions")
difflib = late("difflib")
error_paths = late("tau.base.error_paths")

# Fields whose values are never shown, even in errors.
SECRET = frozenset({"apiKey", "headers", "clientSecret"})

S = TypeVar("S", bound=Struct)
FieldPath = tuple[str | int, ...]  # keys and indexes of a value in a file
PLAIN_FIELDS = ("name", "reasoning", "input", "thinking_level_map", "context_window", "max_tokens", "api")
_Count = Annotated[int, Meta(ge=1)]


class ModelChanges(Struct, frozen=True, rename="camel", kw_only=True):
    """Overrides for a model. `cost` and `compat` override single fields; headers are added."""

    name: str | UnsetType = UNSET
    reasoning: bool | UnsetType = UNSET
    input: tuple[Literal["text", "image"], ...] | UnsetType = UNSET
    cost: dict[str, Any] = {}
    thinking_level_map: dict[ThinkingLevel, str | None] | UnsetType = UNSET
    context_window: _Count | UnsetType = UNSET
    max_tokens: _Count | UnsetType = UNSET
    api: str | UnsetType = UNSET
    headers: dict[str, str] = {}
    compat: dict[str, Any] = {}


class ModelEntry(ModelChanges, frozen=True, rename="camel", kw_only=True):
    id: str


class Discovery(Struct, frozen=True):
    """How `tau models refresh` asks the provider's server for its models."""

    type: Literal["ollama", "llama.cpp", "lm-studio", "vllm", "sglang", "openai-models-list", "proxy"]


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
    discovery: Discovery | None = None
    login: dict[str, Any] = {}


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
    return read_providers(read_json(path))


def add_providers(file: ModelsFile, path: Path, providers: Mapping[str, Mapping[str, object]]) -> ModelsFile:
    """The file with the providers of an extension, in snake case; one of the same name stays as it is."""
    content = {"providers": {name: _camel(fields) for name, fields in providers.items()}}
    more = read_providers(JsonFile(path, b"", content))
    return replace(
        file, providers={**more.providers, **file.providers}, warnings=file.warnings + more.warnings
    )


def _camel(value: object) -> Any:
    if isinstance(value, Mapping):
        return {
            "".join(
                part.capitalize() if at else part for at, part in enumerate(str(name).split("_"))
            ): _camel(one)
            for name, one in value.items()
        }
    return [_camel(one) for one in value] if isinstance(value, (list, tuple)) else value


def read_providers(source: JsonFile) -> ModelsFile:
    """The providers of a file that was read. Raises ConfigError."""
    listed = source.content.get("providers", {})
    if not isinstance(listed, dict):
        raise source.error("providers must be an object with provider ids as keys.", "providers")
    warnings = unknown_fields(source, (), source.content, ("providers", "$schema"))
    providers: dict[str, ProviderEntry] = {}
    for id, plain in listed.items():
        at: FieldPath = ("providers", id)
        if not id or "/" in id or any(letter.isspace() for letter in id):
            raise source.error(f'"{id}" is not a valid provider id: ids have no slashes or spaces.', *at)
        entry = decode_struct(source, at, plain, ProviderEntry)
        _check(source, at, entry)
        warnings += unknown_fields(source, at, plain, field_types(ProviderEntry))
        for index, model in enumerate(entry.models):
            at_model: FieldPath = (*at, "models", index)
            _check(source, at_model, model)
            warnings += unknown_fields(source, at_model, plain["models"][index], field_types(ModelEntry))
        for name, change in entry.model_overrides.items():
            at_model = (*at, "modelOverrides", name)
            _check(source, at_model, change)
            warnings += unknown_fields(
                source, at_model, plain["modelOverrides"][name], field_types(ModelChanges)
            )
        providers[id] = entry
    return ModelsFile(source, providers, warnings)


def merge_models(catalog: Catalog, file: ModelsFile) -> Catalog:
    """Add the file's providers and models to the catalog. Raises ConfigError for an incomplete provider."""
    served = file.source.path.parent / "cache" / "models"
    if served.is_dir():
        catalog = catalog.with_served(served)
    if not file.providers:
        return catalog
    providers = dict(catalog.providers)
    changes: dict[str, Change] = {}
    for id, entry in file.providers.items():
        known = providers.get(id)
        providers[id] = _change_provider(known, entry) if known else _new_provider(file.source, id, entry)
        changes[id] = partial(_change_models, providers[id], entry)
    return catalog.with_changes(providers, changes)


def _change_models(provider: Provider, entry: ProviderEntry, models: list[Model]) -> list[Model]:
    own = {model.id: _apply_provider(model, provider, entry) for model in models}
    for id, changes in _changes(entry):
        own[id] = _change_model(own.get(id) or _new_model(provider, id), changes)
    return list(own.values())


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
        at = ("providers", id, "models", without[0]) if without else ("providers", id)
        raise source.error(f"The provider {id}, or each of its models, needs an api: {_apis()}.", *at)
    return Provider(
        id=id,
        name=entry.name or id,
        api=apis[0],
        base_url=entry.base_url.rstrip("/"),
        default_model=entry.models[0].id if entry.models else "",
        headers=entry.headers,
        compat=merge_compat(Compat(), entry.compat),
        local=not isinstance(entry.api_key, str) and not entry.login,
        login=_login(None, entry),
    )


def _change_provider(known: Provider, entry: ProviderEntry) -> Provider:
    return replace(
        known,
        name=entry.name or known.name,
        base_url=entry.base_url.rstrip("/") if isinstance(entry.base_url, str) else known.base_url,
        api=entry.api or known.api,
        headers={**known.headers, **entry.headers},
        compat=_changed_compat(known.compat, entry),
        login=_login(known.login, entry),
    )


def _login(known: Login | None, entry: ProviderEntry) -> Login | None:
    """The known addresses do not belong to another issuer."""
    base = Login() if known is None or "discovery" in entry.login else known
    return convert({**to_builtins(base), **entry.login}, Login) if entry.login else known


def _apply_provider(model: Model, provider: Provider, entry: ProviderEntry) -> Model:
    """Apply a provider's changes to a built-in model."""
    return replace(
        model,
        base_url=provider.base_url if isinstance(entry.base_url, str) else model.base_url,
        api=entry.api or model.api,
        headers={**model.headers, **entry.headers},
        compat=_changed_compat(model.compat, entry),
    )


def _changed_compat(base: Compat, entry: ProviderEntry) -> Compat:
    """A gateway at another address may refuse a field that only the vendor knows."""
    unsure = {"cacheDiagnostics": False} if isinstance(entry.base_url, str) else {}
    return merge_compat(base, {**unsure, **entry.compat})


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
    plain = {name: value for name in PLAIN_FIELDS if (value := getattr(changes, name)) is not UNSET}
    return replace(
        model,
        **plain,
        cost=convert({**to_builtins(model.cost), **changes.cost}, Price),
        headers={**model.headers, **changes.headers},
        compat=merge_compat(model.compat, changes.compat),
    )


def _check(source: JsonFile, at: FieldPath, entry: ProviderEntry | ModelChanges) -> None:
    """Checks beyond the types."""
    if isinstance(entry.api, str) and entry.api not in DIALECTS:
        message = f'{format_path(*at, "api")} is "{entry.api}", which is unknown; use one of {_apis()}.'
        raise source.error(message, *at, "api")
    if isinstance(entry, ProviderEntry):
        if isinstance(entry.base_url, str) and not entry.base_url.startswith(("http://", "https://")):
            raise source.error(
                f"{format_path(*at, 'baseUrl')} must start with http:// or https://.", *at, "baseUrl"
            )
        check_members(source, (*at, "login"), entry.login, Login)
    else:
        check_members(source, (*at, "cost"), entry.cost, Price)
    check_members(source, (*at, "compat"), entry.compat, Compat)


def _apis() -> str:
    return ", ".join(DIALECTS)


@cache
def field_types(struct: type[Struct]) -> dict[str, object]:
    """A struct's fields as spelled in files, with their annotations."""
    return {field.encode_name: field.type for field in fields(struct)}


def decode_struct(source: JsonFile, at: FieldPath, plain: object, struct: type[S]) -> S:
    """Convert plain data at `at` in the file to a struct."""
    try:
        return convert(plain, struct)
    except ValidationError as error:
        raise _explain(source, at, plain, struct, str(error)) from error


def check_members(source: JsonFile, at: FieldPath, members: Mapping[str, Any], struct: type[Struct]) -> None:
    """Check members that override single fields: each must be a known field with a valid value."""
    known = field_types(struct)
    for name, value in members.items():
        if name not in known:
            message = f"{format_path(*at, name)} is not a known field; use one of {', '.join(known)}."
            raise source.error(message, *at, name)
        try:
            convert(value, known[name])
        except ValidationError:
            raise _type_error(source, (*at, name), value, known[name]) from None


def unknown_fields(
    source: JsonFile, at: FieldPath, members: Mapping[str, object], known: Collection[str]
) -> list[str]:
    """Return a warning for each unknown field."""
    warnings = []
    for name in members:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1, 0.7)
            hint = f" Did you mean {near[0]}?" if near else ""
            warnings.append(
                str(source.error(f"Ignored unknown field {format_path(*at, name)}.{hint}", *at, name))
            )
    return warnings


def format_path(*at: str | int) -> str:
    """Format a field path: `providers.x.models[0]`."""
    return error_paths.format_path(*at).removeprefix(".")


def _type_error(source: JsonFile, at: FieldPath, value: Any, annotation: object) -> ConfigError:
    shown = "" if SECRET.intersection(at) else f", not {descriptions.show_value(value)}"
    return source.error(f"{format_path(*at)} must be {descriptions.describe_type(annotation)}{shown}.", *at)


def _explain(source: JsonFile, at: FieldPath, plain: Any, annotation: object, text: str) -> ConfigError:
    """Reword the decoder's error, whose path to the value omits the keys of objects."""
    _, steps = error_paths.split_path(text)
    value = plain
    for step in steps:
        annotation = _element_type(annotation, step)
        known_step = _first_misfit(value, annotation) if step is None else step
        value = value[known_step]
        at = (*at, known_step)
    if text.startswith("Object missing"):
        missing = next(name for name in field_types(annotation) if f"`{name}`" in text)
        return source.error(f"{format_path(*at)} needs the field {missing}.", *at)
    return _type_error(source, at, value, annotation)


def _element_type(annotation: object, step: str | int | None) -> object:
    """The annotation of a field, or of a list's or an object's elements."""
    if get_origin(annotation) in (Union, UnionType):
        annotation = next(part for part in get_args(annotation) if part is not UnsetType)
    if isinstance(step, str):
        return field_types(annotation)[step]
    return get_args(annotation)[1 if get_origin(annotation) is dict else 0]


def _first_misfit(members: Mapping[str, object], annotation: object) -> str:
    """The key of the first invalid member."""
    for key, value in members.items():
        try:
            convert(value, annotation)
        except ValidationError:
            return key
    raise AssertionError(f"every member fits: {json.encode(members)!r}")
