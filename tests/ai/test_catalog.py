"""Finding one model by what a user types, and building models from the tables."""

import json
from pathlib import Path
from typing import Any

import pytest

from tau.ai.catalog import (
    Catalog,
    ModelMatch,
    ModelRow,
    Provider,
    load_catalog,
    model_from_row,
    pick_model,
    split_thinking,
)
from tau.ai.model import Compat, Model
from tau.ai.model_search import find_models, models_in_order
from tau.base.errors import UsageError

PROVIDERS = [
    {
        "id": "anthropic",
        "name": "Anthropic",
        "api": "anthropic-messages",
        "baseUrl": "https://api.anthropic.com",
        "keyVariables": ["ANTHROPIC_API_KEY"],
        "defaultModel": "claude-opus-4-6",
    },
    {
        "id": "openai",
        "name": "OpenAI",
        "api": "openai-completions",
        "baseUrl": "https://api.openai.com/v1",
        "headers": {"x-a": "1"},
        "compat": {"maxTokensField": "max_completion_tokens"},
    },
    {
        "id": "openrouter",
        "name": "OpenRouter",
        "api": "openai-completions",
        "baseUrl": "https://openrouter.ai/api/v1",
    },
    {
        "id": "ollama",
        "name": "Ollama",
        "api": "openai-completions",
        "baseUrl": "http://127.0.0.1:11434/v1",
        "local": True,
    },
]
MODELS: dict[str, list[dict[str, Any]]] = {
    "anthropic": [
        {"id": "claude-sonnet-4-20250514", "name": "Claude Sonnet 4 (dated)"},
        {"id": "claude-sonnet-4", "name": "Claude Sonnet 4"},
        {"id": "claude-sonnet-4-6", "name": "Claude Sonnet 4.6", "reasoning": True, "contextWindow": 200000},
        {"id": "claude-opus-4-6", "name": "Claude Opus 4.6"},
        {"id": "claude-haiku-9", "name": "Claude Haiku 9"},
    ],
    "openai": [
        {"id": "gpt-5", "name": "GPT-5"},
        {"id": "gpt-5-mini", "name": "GPT-5 mini"},
        {"id": "gpt-5.4", "name": "GPT-5.4", "compat": {"supportsStore": True}, "headers": {"x-b": "2"}},
        {"id": "gpt-4o-2024-08-06", "name": "GPT-4o"},
    ],
    "openrouter": [
        {"id": "openai/gpt-5", "name": "OpenAI: GPT-5"},
        {"id": "x/y:free", "name": "Y (free)"},
        {"id": "meta/llama-3.3-70b", "name": "Llama"},
        {"id": "google/gemini-99", "name": "Gemini 99"},
    ],
    "ollama": [
        {"id": "gpt-oss:20b", "name": "gpt-oss 20b"},
        {"id": "gpt-oss:120b", "name": "gpt-oss 120b"},
    ],
}


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return load_catalog(write_tables(tmp_path, MODELS))


def write_tables(folder: Path, models: dict[str, list[dict[str, Any]]]) -> Path:
    (folder / "providers.json").write_text(json.dumps(PROVIDERS))
    (folder / "models").mkdir()
    for provider, rows in models.items():
        (folder / "models" / f"{provider}.json").write_text(json.dumps(rows))
    return folder


def keys(models: list[Model]) -> list[str]:
    return [model.key for model in models]


def picked(choice: ModelMatch) -> str:
    assert choice.known
    return choice.model.key


def test_model_inherits_defaults_from_its_provider(catalog: Catalog) -> None:
    plain, special = catalog.models[5], catalog.models[7]
    assert (plain.api, plain.base_url) == ("openai-completions", "https://api.openai.com/v1")
    assert plain.headers == {"x-a": "1"}
    assert plain.compat == Compat(max_tokens_field="max_completion_tokens")
    assert special.headers == {"x-a": "1", "x-b": "2"}
    assert special.compat == Compat(max_tokens_field="max_completion_tokens", supports_store=True)
    assert [model.provider for model in catalog.models[:5]] == ["anthropic"] * 5


def test_model_without_figures_has_a_usual_window_and_answer(catalog: Catalog) -> None:
    [provider, *_] = catalog.providers.values()
    listed = model_from_row(provider, ModelRow(id="new", name="New"))
    made = Model(id="new", name="New", api="x", provider="p", base_url="http://p")
    for model in (listed, made):
        assert (model.context_window, model.max_tokens) == (128_000, 16_384)


def test_bundled_tables_are_usable() -> None:
    shipped = load_catalog()
    assert {"anthropic", "openai"} <= set(shipped.providers)
    for provider in shipped.providers.values():
        if provider.default_model:
            assert pick_model(shipped, provider.default_model, provider.id).model.provider == provider.id
    assert len({model.key for model in shipped.models}) == len(shipped.models)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("anthropic/claude-sonnet-4-6", "anthropic/claude-sonnet-4-6"),
        ("Anthropic/Claude-Sonnet-4-6", "anthropic/claude-sonnet-4-6"),
        ("claude-haiku-9", "anthropic/claude-haiku-9"),
        ("gpt-5", "openai/gpt-5"),  # exact beats gpt-5.4, which is newer, and another provider's openai/gpt-5
        ("openai/gpt-5", "openai/gpt-5"),
        ("openrouter/openai/gpt-5", "openrouter/openai/gpt-5"),
        ("sonnet", "anthropic/claude-sonnet-4-6"),  # newer beats older, no date beats a date
        ("claude-sonnet-4-2", "anthropic/claude-sonnet-4-20250514"),
        ("claude", "anthropic/claude-haiku-9"),  # the newest
        ("4-6", "anthropic/claude-opus-4-6"),  # the provider's default among equals
        ("mini", "openai/gpt-5-mini"),  # a separate word, not a part of gemini
        ("anthropic/", "anthropic/claude-opus-4-6"),
        ("anthropic/haiku", "anthropic/claude-haiku-9"),
        ("sonnet 4.6", "anthropic/claude-sonnet-4-6"),  # by its name
        ("gpt-", "openai/gpt-5.4"),  # 5.4 is newer than 5; 20b and 120b are sizes
        ("gpt-oss:20b", "ollama/gpt-oss:20b"),
        ("y:free", "openrouter/x/y:free"),
        ("claude-*", "anthropic/claude-haiku-9"),
        ("llama-3.3-70b", "openrouter/meta/llama-3.3-70b"),
        ("openai", "openai/gpt-5.4"),  # the provider's, not what others call openai/...
        ("Anthropic", "anthropic/claude-opus-4-6"),  # its default
    ],
)
def test_typed_pattern_finds_the_intended_model(catalog: Catalog, pattern: str, expected: str) -> None:
    choice = pick_model(catalog, pattern)
    assert picked(choice) == expected
    assert choice.thinking is None


def test_matches_are_listed_exact_then_prefix_then_substring(catalog: Catalog) -> None:
    assert keys(find_models(catalog, "gpt-5")) == [
        "openai/gpt-5",
        "openrouter/openai/gpt-5",
        "openai/gpt-5.4",
        "openai/gpt-5-mini",
    ]


def test_globs_list_every_match_and_may_name_the_provider(catalog: Catalog) -> None:
    assert set(keys(find_models(catalog, "*mini"))) == {"openai/gpt-5-mini"}
    assert len(find_models(catalog, "anthropic/*")) == 5
    assert find_models(catalog, "nothing-*") == []
    assert len(find_models(catalog, "")) == len(catalog.models)


def test_provider_narrows_the_search(catalog: Catalog) -> None:
    assert picked(pick_model(catalog, "gpt-5", "openrouter")) == "openrouter/openai/gpt-5"
    assert picked(pick_model(catalog, "openai/gpt-5", "openai")) == "openai/gpt-5"
    assert picked(pick_model(catalog, "GPT-5.4", "OpenAI")) == "openai/gpt-5.4"
    assert find_models(catalog, "gpt-5", "nobody") == []


def test_providers_with_a_key_are_preferred_among_equal_matches(catalog: Catalog) -> None:
    assert picked(pick_model(catalog, "gpt-5", prefer=["openrouter"])) == "openrouter/openai/gpt-5"
    assert picked(pick_model(catalog, "gpt-5", prefer=["openai", "openrouter"])) == "openai/gpt-5"
    assert picked(pick_model(catalog, "openai/gpt-5", prefer=["openrouter"])) == "openai/gpt-5"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sonnet:high", ("sonnet", "high")),
        ("sonnet:HIGH", ("sonnet", "high")),
        ("gpt-oss:20b", ("gpt-oss:20b", None)),
        ("gpt-oss:20b:off", ("gpt-oss:20b", "off")),
        ("x/y:free", ("x/y:free", None)),
        ("x/y:free:xhigh", ("x/y:free", "xhigh")),
        ("high", ("high", None)),
        (":low", ("", "low")),
        ("sonnet:", ("sonnet:", None)),
    ],
)
def test_only_a_valid_level_after_the_last_colon_is_a_level(
    text: str, expected: tuple[str, str | None]
) -> None:
    assert split_thinking(text) == expected


def test_level_is_split_off_when_a_model_is_picked(catalog: Catalog) -> None:
    choice = pick_model(catalog, "ollama/gpt-oss:20b:low")
    assert (choice.model.key, choice.thinking, choice.known) == ("ollama/gpt-oss:20b", "low", True)
    assert pick_model(catalog, "sonnet:off").thinking == "off"
    assert pick_model(catalog, "x/y:free").model.key == "openrouter/x/y:free"


def test_id_exactly_in_the_table_keeps_its_colon() -> None:
    row = Provider(id="p", name="P", api="openai-completions", base_url="http://localhost")
    model = Model(id="m:high", name="m", api=row.api, provider="p", base_url=row.base_url)
    choice = pick_model(Catalog({"p": row}, [model]), "p/m:high")
    assert (choice.model, choice.thinking) == (model, None)


def test_new_model_of_a_known_provider_needs_no_table(catalog: Catalog) -> None:
    choice = pick_model(catalog, "openai/whatever-new:high")
    assert (choice.known, choice.thinking) == (False, "high")
    assert choice.model == Model(
        id="whatever-new",
        name="whatever-new",
        api="openai-completions",
        provider="openai",
        base_url="https://api.openai.com/v1",
        headers={"x-a": "1"},
        compat=Compat(max_tokens_field="max_completion_tokens"),
    )
    by_flag = pick_model(catalog, "whatever-new", "openai")
    assert (by_flag.known, by_flag.model) == (False, choice.model)
    assert pick_model(catalog, "openai/whatever-new", "openai").model == choice.model


def test_ids_with_slashes_are_new_models_of_providers_with_such_ids(catalog: Catalog) -> None:
    choice = pick_model(catalog, "anthropic/brand-new", "openrouter")
    assert (choice.known, choice.model.key) == (False, "openrouter/anthropic/brand-new")


def test_new_date_of_a_known_model_keeps_its_properties(catalog: Catalog) -> None:
    choice = pick_model(catalog, "anthropic/claude-sonnet-4-6-20991231")
    assert not choice.known
    assert choice.model.id == "claude-sonnet-4-6-20991231"
    assert (choice.model.reasoning, choice.model.context_window) == (True, 200_000)


@pytest.mark.parametrize(
    ("pattern", "provider", "message"),
    [
        ("claude-sonet-4-6", None, "anthropic/claude-sonnet-4-6"),
        ("opuz", None, "anthropic/claude-opus-4-6"),
        ("nothing-like-it", None, "--list-models"),
        ("nobody/model", None, "--list-models"),
        ("", None, "No model matches"),
        ("openai/zz*", None, "No model matches"),
        ("gpt-5", "opnai", "Did you mean openai"),
        ("gpt-5", "zzz", "Known: anthropic, ollama, openai, openrouter"),
        ("anthropic/claude-new", "openai", "names the provider anthropic"),
        ("anthropic/claude-opus-4-6:hihg", None, "off, minimal, low, medium, high, xhigh, max"),
    ],
)
def test_typo_gets_a_suggestion(catalog: Catalog, pattern: str, provider: str | None, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        pick_model(catalog, pattern, provider)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_five_nearest_are_listed(catalog: Catalog) -> None:
    many = [
        Model(id=f"thing-{n}", name=f"thing-{n}", api="a", provider="openai", base_url="b") for n in range(20)
    ]
    with pytest.raises(UsageError) as caught:
        pick_model(Catalog(catalog.providers, many), "thong-1")
    assert str(caught.value).count("openai/thing-") == 5


def test_prefix_beats_part_within_a_provider(tmp_path: Path) -> None:
    models = {
        "anthropic": [{"id": "opus-1", "name": "Opus 1"}, {"id": "claude-opus-9", "name": "Claude Opus 9"}]
    }
    catalog = load_catalog(write_tables(tmp_path, models))
    assert picked(pick_model(catalog, "anthropic/opus")) == "anthropic/opus-1"


def test_enabled_id_means_neither_longer_ones_nor_those_without_a_key(catalog: Catalog) -> None:
    assert keys(models_in_order(catalog, ["gpt-5", "haiku"])) == [
        "openai/gpt-5",
        "openrouter/openai/gpt-5",
        "anthropic/claude-haiku-9",
    ]
    assert keys(models_in_order(catalog, ["gpt-5:high"], prefer=["openrouter"])) == [
        "openrouter/openai/gpt-5"
    ]
    assert keys(models_in_order(catalog, ["gpt-5"], prefer=["anthropic"]))[0] == "openai/gpt-5"


def test_words_of_a_name_may_come_in_any_order(catalog: Catalog) -> None:
    assert picked(pick_model(catalog, "4-6 sonnet")) == "anthropic/claude-sonnet-4-6"
    assert keys(find_models(catalog, "mini gpt")) == ["openai/gpt-5-mini"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("GPT 5.4", "openai/gpt-5.4"),  # not only of the provider whose table writes the name with a space
        (
            "gpt-5.4*",
            "openai/gpt-5.4",
        ),  # ids before names such as venice's GPT-5.4, whose id is openai-gpt-54
        ("*opus-4-6*", "anthropic/claude-opus-4-6"),  # Amazon's -v1 is no newer version
        ("Claude Sonnet 4.6", "anthropic/claude-sonnet-4-6"),
    ],
)
def test_vendor_comes_before_resellers_whose_names_look_newer(pattern: str, expected: str) -> None:
    assert keys(find_models(load_catalog(), pattern))[0] == expected


def test_name_that_could_be_several_models_is_an_error_that_lists_them(catalog: Catalog) -> None:
    names = ("luna", "sol", "terra", "astra", "vega", "rigel", "deneb")
    stars = [
        Model(id=f"star-6-{name}", name=name, api="a", provider="openai", base_url="b") for name in names
    ]
    with pytest.raises(UsageError) as caught:
        pick_model(Catalog(catalog.providers, stars), "star-6")
    assert str(caught.value).count("openai/star-6-") == 5
    assert str(caught.value).endswith(", or one of 2 more; name one.")
    assert picked(pick_model(Catalog(catalog.providers, stars), "star-6-sol")) == "openai/star-6-sol"
    with pytest.raises(UsageError, match='"star-\\*" could be'):
        pick_model(Catalog(catalog.providers, stars), "star-*")


def test_same_model_of_two_providers_is_not_ambiguous(catalog: Catalog) -> None:
    both = [
        Model(id="star-6-sol", name="Sol", api="a", provider=provider, base_url="b")
        for provider in ("openai", "openrouter")
    ]
    two = Catalog(catalog.providers, both)
    assert picked(pick_model(two, "star-6")) == "openai/star-6-sol"
    assert picked(pick_model(two, "star-6", prefer=["openrouter"])) == "openrouter/star-6-sol"


def test_models_of_a_server_are_found_after_the_tables(catalog: Catalog) -> None:
    served = Model(id="own", name="Own", api="a", provider="box", base_url="b")
    more = catalog.with_models([served])
    assert more.models[-1] == served
    assert more.model("box", "own") == served
    assert more.models_of("box") == [served]
    assert catalog.model("box", "own") is None
