"""Finds models by what users type: ids, globs, parts of ids and names."""

import re
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase

from msgspec.structs import replace

from tau.ai.catalog import Catalog, ModelMatch, ModelRow, Provider, model_from_row, split_thinking
from tau.ai.model import THINKING_LEVELS, Model, ThinkingLevel
from tau.base.errors import UsageError
from tau.base.late import late

difflib = late("difflib")

NEAREST = 5  # models that an error lists
WORD_ENDS = re.compile(r"[^a-z0-9.]+")
DATE = re.compile(r"[-@](\d{8}|\d{4}-\d\d-\d\d|\d{4})$")
NO_VERSION = re.compile(r"\d+(\.\d+)?[bkm](?![a-z])|-v1$|-v\d+:\d+$")  # sizes, Amazon's revisions

Rank = tuple[int, int, int, bool, list[int], int, bool]


def search(
    catalog: Catalog, name: str, thinking: ThinkingLevel | None, provider: str | None, prefer: Sequence[str]
) -> ModelMatch:
    """The model that is not named exactly; a provider means its default. Raises UsageError if none fits."""
    if provider is not None and catalog.provider(provider) is None:
        raise UsageError(_unknown_provider(catalog, provider))
    ranked = _ranked(catalog, name, provider, prefer) if name else []
    owner = catalog.provider(name) if provider is None else None
    if owner is not None and not (ranked and ranked[0][0][0] <= 1):
        if default := catalog.model(owner.id, owner.default_model):
            return ModelMatch(default, thinking=thinking)
        ranked = _ranked(catalog, f"{name}/", None, prefer)
    if not ranked:
        return ModelMatch(unlisted_model(catalog, name, provider), known=False, thinking=thinking)
    rank, model = ranked[0]
    equal = [other for place, other in ranked if place == rank and other.provider == model.provider]
    if len(equal) > 1 and rank[0] > 1:
        nearest = [other.key for _, other in ranked[:NEAREST]]
        more = f", or one of {len(equal) - NEAREST} more" if len(equal) > NEAREST else ""
        raise UsageError(f'"{name}" could be {_either(nearest)}{more}; name one.')
    return ModelMatch(model, thinking=thinking)


def find_models(
    catalog: Catalog, pattern: str, provider: str | None = None, *, prefer: Sequence[str] = ()
) -> list[Model]:
    """Find models by `provider/id`, `id`, a glob, or part of the id or name, best match first.

    Exact beats prefix beats substring beats all of its words; ties go to providers in `prefer` (such as those
    with a key), then to ids without a date, newer versions, a provider's default model, shorter ids.
    """
    return [model for _, model in _ranked(catalog, pattern, provider, prefer)]


def models_in_order(
    catalog: Catalog, patterns: Sequence[str], *, prefer: Collection[str] = ()
) -> list[Model]:
    """The models that match any of the patterns, in the order of the patterns.

    A pattern that is an exact id means no longer ones. If providers in `prefer` have it, it means theirs.
    """
    found: dict[str, Model] = {}
    for pattern in patterns:
        ranked = _ranked(catalog, split_thinking(pattern)[0], None, ())
        exact = [one for one in ranked if one[0][0] <= 1] or ranked
        own = [one for one in exact if one[1].provider in prefer] or exact
        found |= {model.key: model for _, model in own if model.key not in found}
    return list(found.values())


def _ranked(
    catalog: Catalog, pattern: str, provider: str | None, prefer: Sequence[str]
) -> list[tuple[Rank, Model]]:
    wanted = _spelling(pattern.strip())
    glob = any(letter in wanted for letter in "*?[")
    owner = catalog.provider(provider) if provider else None
    if provider and owner is None:
        return []
    words = WORD_ENDS.split(wanted)
    places = {id: place for place, id in enumerate(catalog.providers)}
    found = []
    for index, model in enumerate(catalog.models if owner is None else catalog.models_of(owner.id)):
        match = _match_glob(model, wanted) if glob else _match(model, wanted, words)
        if match is not None:
            place = prefer.index(model.provider) if model.provider in prefer else len(prefer)
            rank: Rank = (match[0], place, match[1], *_preference(catalog, model, places))
            found.append((rank, len(model.id), index, model))
    found.sort(key=lambda row: row[:-1])
    return [(row[0], row[-1]) for row in found]


def _match(model: Model, wanted: str, words: Sequence[str]) -> tuple[int, int] | None:
    """Match quality: 0 with provider, 1 exact, 2 prefix, 3 word, 4 substring, 5 all words; then finer."""
    id, name = model.id.lower(), _spelling(model.name)
    tail = id.rpartition("/")[2]
    owner, slash, rest = wanted.partition("/")
    if slash and owner == model.provider.lower():
        if id == rest:
            return 0, 0
        if id.startswith(rest):
            return 2, 0
        if rest in id or rest in name:
            return _match_part(id, name, rest), 0
    if wanted in (id, tail, name):
        return 1, int(id != wanted)
    if id.startswith(wanted) or tail.startswith(wanted):
        return 2, int(not id.startswith(wanted))
    if wanted in id or wanted in name:
        return _match_part(id, name, wanted), 0
    if len(words) > 1 and not slash:
        parts = WORD_ENDS.split(f"{id} {name}")
        if all(any(part.startswith(word) for part in parts) for word in words):
            return 5, 0
    return None


def _match_part(id: str, name: str, wanted: str) -> int:
    """`mini` means gpt-5-mini rather than gemini."""
    return 3 if any(gap + wanted in text for gap in "-/.:_ " for text in (id, " " + name)) else 4


def _match_glob(model: Model, wanted: str) -> tuple[int, int] | None:
    id = model.id.lower()
    if fnmatchcase(id, wanted) or fnmatchcase(f"{model.provider.lower()}/{id}", wanted):
        return 2, 0
    return (3, 0) if fnmatchcase(_spelling(model.name), wanted) else None


def _spelling(text: str) -> str:
    """`GPT 5.4` means gpt-5.4."""
    return text.lower().replace(" ", "-")


def _preference(
    catalog: Catalog, model: Model, places: Mapping[str, int]
) -> tuple[bool, list[int], int, bool]:
    """Orders equal matches: ids without a date, newer ones, the first provider's, its default."""
    provider = catalog.providers.get(model.provider)
    date = DATE.search(model.id)
    bare = model.id[: date.start()] if date else model.id
    numbers = [-int(number) for number in re.findall(r"\d+", NO_VERSION.sub("", bare.lower()))][:4]
    return (
        date is not None,
        numbers + [0] * (4 - len(numbers)),
        places.get(model.provider, len(places)),
        provider is None or provider.default_model != model.id,
    )


def unlisted_model(catalog: Catalog, name: str, provider: str | None) -> Model:
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
    date = DATE.search(id)
    if date and (known := catalog.model(owner.id, id[: date.start()])):
        return replace(known, id=id, name=id)
    return model_from_row(owner, _unlisted_row(catalog, id, owner))


def _unlisted_row(catalog: Catalog, id: str, owner: Provider) -> ModelRow:
    """A router's models of one vendor demand their reasoning back in the same field."""
    vendor = id.rpartition("/")[0]
    for model in catalog.models_of(owner.id) if vendor else ():
        field = model.compat.thinking_field
        if model.id.startswith(f"{vendor}/") and field:
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
    served = catalog.models_of(owner.id)
    if other is not None and other.id != owner.id and served and not any("/" in model.id for model in served):
        raise UsageError(f'"{id}" names the provider {other.id}, but {owner.id} was requested.')


def _no_match(catalog: Catalog, name: str, provider: str | None) -> str:
    owner = catalog.provider(provider) if provider else None
    models = catalog.models if owner is None else catalog.models_of(owner.id)
    names = {
        spelling.lower(): model.key
        for model in reversed(models)
        for spelling in (model.key, model.id, model.name)
    }
    words = {word for spelling in names for word in WORD_ENDS.split(spelling)}
    near = [
        model.key
        for word in difflib.get_close_matches(name.lower(), words, 1)
        for _, model in _ranked(catalog, word, provider, ())[:NEAREST]
    ]
    near += [names[spelling] for spelling in difflib.get_close_matches(name.lower(), names, 3 * NEAREST, 0.5)]
    hint = f" Did you mean {_either(list(dict.fromkeys(near))[:NEAREST])}?" if near else ""
    return (
        f'No model matches "{name}".{hint} List known models with tau --list-models;'
        " name others as PROVIDER/ID."
    )


def _either(keys: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(keys[:-1]), keys[-1])))


def _unknown_provider(catalog: Catalog, name: str) -> str:
    near = difflib.get_close_matches(name.lower(), catalog.providers, 3, 0.5)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"Known: {', '.join(sorted(catalog.providers))}."
    return f'Unknown provider "{name}". {hint} Add others in models.json.'
