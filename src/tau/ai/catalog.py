"""The tables of providers and models, and how a pattern selects a model.

`data/providers.json` is a list of providers. `data/models.json` maps provider ids to models; what a model
does not set (api, base URL, headers, compat) comes from its provider.
"""

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, convert, json, to_builtins
from msgspec.structs import replace

from tau.ai.model import THINKING_LEVELS, Compat, Model, Price, ThinkingLevel, thinking_level
from tau.base.errors import UsageError
from tau.base.late import late

difflib = late("difflib")

DATA = Path(__file__).parent / "data"

# Not compiled here: most runs name their model exactly and do not need them.
_DATE = r"[-@](\d{8}|\d{4}-\d\d-\d\d|\d{4})$"
_SIZE = r"\d+(\.\d+)?[bkm](?![a-z])"


class Provider(Struct, frozen=True, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """A row of `data/providers.json`. `key_variables` are tried in order; `local` ones work without a key.

    `key_page` is where to create a key; a pasted key should start with `key_prefix`.
    """

    id: str
    name: str
    api: str
    base_url: str
    key_variables: list[str] = []
    key_page: str = ""
    key_prefix: str = ""
    default_model: str = ""
    headers: dict[str, str] = {}
    compat: Compat = Compat()
    local: bool = False


class ModelRow(Struct, frozen=True, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """A row of `data/models.json`. `compat` has only what differs from the provider's."""

    id: str
    name: str
    reasoning: bool = False
    input: tuple[Literal["text", "image"], ...] = ("text",)
    cost: Price = Price()
    context_window: int = 128_000
    max_tokens: int = 16_384
    api: str = ""
    headers: dict[str, str] = {}
    compat: dict[str, Any] = {}
    demo: bool = False


class Catalog(Struct, frozen=True):
    """All providers by id, and all models in the order of the table."""

    providers: dict[str, Provider]
    models: list[Model]

    def provider(self, name: str) -> Provider | None:
        """Find a provider by id, ignoring case."""
        if found := self.providers.get(name):
            return found
        return next((row for id, row in self.providers.items() if id.lower() == name.lower()), None)


def load_catalog(data: Path = DATA) -> Catalog:
    rows = json.decode((data / "providers.json").read_bytes(), type=list[Provider])
    providers = {row.id: row for row in rows}
    table = json.decode((data / "models.json").read_bytes(), type=dict[str, list[ModelRow]])
    return Catalog(
        providers,
        [model_from_row(providers[provider], row) for provider, models in table.items() for row in models],
    )


def model_from_row(provider: Provider, row: ModelRow) -> Model:
    """Create a model with defaults from its provider."""
    return Model(
        id=row.id,
        name=row.name,
        api=row.api or provider.api,
        provider=provider.id,
        base_url=provider.base_url,
        reasoning=row.reasoning,
        input=row.input,
        cost=row.cost,
        context_window=row.context_window,
        max_tokens=row.max_tokens,
        headers={**provider.headers, **row.headers} if row.headers else provider.headers,
        compat=merge_compat(provider.compat, row.compat) if row.compat else provider.compat,
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


def find_models(
    catalog: Catalog, pattern: str, provider: str | None = None, *, prefer: Sequence[str] = ()
) -> list[Model]:
    """Find models by `provider/id`, `id`, part of the id or name, or a glob, best match first.

    Exact beats prefix beats substring; ties go to providers in `prefer` (such as those with a key), then to
    ids without a date, newer versions, a provider's default model, shorter ids.
    """
    wanted = pattern.strip().lower()
    glob = any(letter in wanted for letter in "*?[")
    owner = catalog.provider(provider) if provider else None
    if provider and owner is None:
        return []
    found = []
    for index, model in enumerate(catalog.models):
        if owner is not None and model.provider != owner.id:
            continue
        match = _match_glob(model, wanted) if glob else _match(model, wanted)
        if match is not None:
            place = prefer.index(model.provider) if model.provider in prefer else len(prefer)
            found.append((match[0], place, match[1], *_preference(catalog, model), index, model))
    found.sort(key=lambda row: row[:-1])
    return [row[-1] for row in found]


def models_in_order(catalog: Catalog, patterns: Sequence[str]) -> list[Model]:
    """The models that match any of the patterns, in the order of the patterns."""
    found = [model for pattern in patterns for model in find_models(catalog, split_thinking(pattern)[0])]
    return list({model.key: model for model in found}.values())


def pick_model(
    catalog: Catalog, pattern: str, provider: str | None = None, *, prefer: Sequence[str] = ()
) -> ModelMatch:
    """Select the model for `PATTERN[:level]`; UsageError with similar names if there is none.

    An unknown id is accepted if the provider is named: it gets the provider's defaults.
    """
    pattern = pattern.strip()
    if provider is not None and catalog.provider(provider) is None:
        raise UsageError(_unknown_provider(catalog, provider))
    if exact := _exact(catalog, pattern, provider):
        return ModelMatch(exact)
    name, thinking = split_thinking(pattern)
    if exact := _exact(catalog, name, provider):
        return ModelMatch(exact, thinking=thinking)
    found = find_models(catalog, name, provider, prefer=prefer) if name else []
    if found:
        return ModelMatch(found[0], thinking=thinking)
    return ModelMatch(_unlisted(catalog, name, provider), known=False, thinking=thinking)


def _exact(catalog: Catalog, pattern: str, provider: str | None) -> Model | None:
    """The common case, without ranking: `provider/id`, or the id if the provider is given; `provider/`."""
    owner, slash, id = (provider, "/", pattern) if provider else pattern.partition("/")
    if not slash:
        return None
    if not id and owner in catalog.providers:
        id = catalog.providers[owner].default_model
    for model in catalog.models:
        if model.id == id and model.provider == owner:
            return model
    return None


def _match(model: Model, wanted: str) -> tuple[int, int] | None:
    """Match quality: 0 with provider, 1 exact, 2 prefix, 3 word, 4 substring; then finer."""
    id, name = model.id.lower(), model.name.lower()
    tail = id.rpartition("/")[2]
    owner, slash, rest = wanted.partition("/")
    if slash and owner == model.provider.lower():
        if id == rest:
            return 0, 0
        if id.startswith(rest):
            return 2, 0
        if rest in id or rest in name:
            return _match_part(id, name, rest), 0
    if wanted in (id, tail):
        return 1, int(id != wanted)
    if id.startswith(wanted) or tail.startswith(wanted):
        return 2, int(not id.startswith(wanted))
    return (_match_part(id, name, wanted), 0) if wanted in id or wanted in name else None


def _match_part(id: str, name: str, wanted: str) -> int:
    """`mini` means gpt-5-mini rather than gemini."""
    return 3 if any(gap + wanted in text for gap in "-/.:_ " for text in (id, " " + name)) else 4


def _match_glob(model: Model, wanted: str) -> tuple[int, int] | None:
    id = model.id.lower()
    names = (id, f"{model.provider.lower()}/{id}", model.name.lower())
    return (0, 0) if any(fnmatchcase(name, wanted) for name in names) else None


def _preference(catalog: Catalog, model: Model) -> tuple[bool, list[int], bool, int]:
    """Orders equal matches: ids without a date, newer ones, the provider's default, shorter ones."""
    provider = catalog.providers.get(model.provider)
    date = re.search(_DATE, model.id)
    bare = model.id[: date.start()] if date else model.id
    numbers = [-int(number) for number in re.findall(r"\d+", re.sub(_SIZE, "", bare.lower()))][:4]
    return (
        date is not None,
        numbers + [0] * (4 - len(numbers)),
        provider is None or provider.default_model != model.id,
        len(model.id),
    )


def _unlisted(catalog: Catalog, name: str, provider: str | None) -> Model:
    """A model that is not in the table, of a known provider."""
    owner = catalog.provider(provider) if provider else None
    prefix, slash, id = name.partition("/")
    if owner is None:
        owner = catalog.provider(prefix) if slash else None
    elif prefix.lower() != owner.id.lower():
        id = name
    if owner is None or not id or any(letter in id for letter in "*?[ "):
        raise UsageError(_no_match(catalog, name, provider))
    _reject_misspelled_level(catalog, id, owner)
    _reject_other_provider(catalog, id, owner)
    date = re.search(_DATE, id)
    if date and (known := _exact(catalog, id[: date.start()], owner.id)):
        return replace(known, id=id, name=id)
    return model_from_row(owner, _unlisted_row(catalog, id, owner))


def _unlisted_row(catalog: Catalog, id: str, owner: Provider) -> ModelRow:
    """A router's models of one vendor demand their reasoning back in the same field."""
    vendor = id.rpartition("/")[0]
    for model in catalog.models:
        field = model.compat.thinking_field
        if vendor and model.provider == owner.id and model.id.startswith(f"{vendor}/") and field:
            return ModelRow(id=id, name=id, reasoning=model.reasoning, compat={"thinkingField": field})
    return ModelRow(id=id, name=id)


def _reject_misspelled_level(catalog: Catalog, id: str, owner: Provider) -> None:
    start, colon, end = id.rpartition(":")
    if (
        colon
        and difflib.get_close_matches(end.lower(), THINKING_LEVELS, 1)
        and find_models(catalog, start, owner.id)
    ):
        raise UsageError(f'"{end}" is not a thinking level; use one of {", ".join(THINKING_LEVELS)}.')


def _reject_other_provider(catalog: Catalog, id: str, owner: Provider) -> None:
    """`--provider openai --model anthropic/x` is a mistake, unless the provider serves others' models."""
    other = catalog.provider(id.partition("/")[0]) if "/" in id else None
    served = [model for model in catalog.models if model.provider == owner.id]
    if other is not None and other.id != owner.id and served and not any("/" in model.id for model in served):
        raise UsageError(f'"{id}" names the provider {other.id}, but {owner.id} was requested.')


def _no_match(catalog: Catalog, name: str, provider: str | None) -> str:
    owner = catalog.provider(provider) if provider else None
    models = [model for model in catalog.models if owner is None or model.provider == owner.id]
    names = {
        spelling.lower(): model.key
        for model in reversed(models)
        for spelling in (model.key, model.id, model.name)
    }
    close = difflib.get_close_matches(name.lower(), names, 8, 0.5)
    near = list(dict.fromkeys(names[spelling] for spelling in close))[:3]
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return (
        f'No model matches "{name}".{hint} List known models with tau --list-models;'
        " name others as PROVIDER/ID."
    )


def _unknown_provider(catalog: Catalog, name: str) -> str:
    near = difflib.get_close_matches(name.lower(), catalog.providers, 3, 0.5)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"Known: {', '.join(sorted(catalog.providers))}."
    return f'Unknown provider "{name}". {hint} Add others in models.json.'
