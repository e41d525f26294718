"""Custom providers and models, and changes to those of the table."""

import json
from pathlib import Path
from typing import Any

import pytest

from tau.ai.apis import DIALECTS
from tau.ai.catalog import Catalog, Provider, pick_model
from tau.ai.model import Compat, Model, Price
from tau.ai.model_search import find_models
from tau.base.errors import ConfigError
from tau.config.models_file import ModelsFile, load_models_file, merge_models

TABLE = Catalog(
    {
        "openai": Provider(
            id="openai",
            name="OpenAI",
            api="openai-completions",
            base_url="https://api.openai.com/v1",
            key_variables=["OPENAI_API_KEY"],
            default_model="gpt-5",
            headers={"a": "1"},
            compat=Compat(max_tokens_field="max_completion_tokens"),
        ),
        "other": Provider(id="other", name="Other", api="anthropic-messages", base_url="https://other"),
    },
    [
        Model(
            id=id,
            name=id.upper(),
            api="openai-completions",
            provider="openai",
            base_url="https://api.openai.com/v1",
            reasoning=True,
            cost=Price(input=1, output=2),
            headers={"a": "1"},
            compat=Compat(max_tokens_field="max_completion_tokens"),
        )
        for id in ("gpt-5", "gpt-5-mini")
    ]
    + [Model(id="o", name="O", api="anthropic-messages", provider="other", base_url="https://other")],
)


def load(folder: Path, content: Any) -> ModelsFile:
    path = folder / "models.json"
    path.write_text(content if isinstance(content, str) else json.dumps({"providers": content}, indent=1))
    return load_models_file(path)


def merged(folder: Path, providers: dict[str, Any]) -> Catalog:
    file = load(folder, providers)
    assert file.warnings == []
    return merge_models(TABLE, file)


def test_missing_file_changes_nothing(tmp_path: Path) -> None:
    file = load_models_file(tmp_path / "models.json")
    assert merge_models(TABLE, file) is TABLE
    assert (file.keys, file.warnings) == ({}, [])
    assert merge_models(TABLE, load(tmp_path, "{}")) is TABLE


def test_new_provider_with_its_models(tmp_path: Path) -> None:
    providers = {
        "own": {
            "baseUrl": "http://127.0.0.1:9/v1/",
            "api": "openai-completions",
            "apiKey": "OWN_KEY",
            "headers": {"x": "!echo 1"},
            "compat": {"supportsStore": True},
            "models": [
                {"id": "small"},
                {
                    "id": "big",
                    "name": "Big one",
                    "reasoning": True,
                    "input": ["text", "image"],
                    "cost": {"input": 3, "cacheRead": 0.5},
                    "contextWindow": 1000,
                    "maxTokens": 100,
                    "api": "anthropic-messages",
                    "headers": {"y": "2"},
                    "compat": {"cacheControl": False},
                },
            ],
        }
    }
    catalog = merged(tmp_path, providers)
    assert catalog.providers["own"] == Provider(
        id="own",
        name="own",
        api="openai-completions",
        base_url="http://127.0.0.1:9/v1",
        default_model="small",
        headers={"x": "!echo 1"},
        compat=Compat(supports_store=True),
    )
    small, big = catalog.models[-2:]
    assert small == Model(
        id="small",
        name="small",
        api="openai-completions",
        provider="own",
        base_url="http://127.0.0.1:9/v1",
        headers={"x": "!echo 1"},
        compat=Compat(supports_store=True),
    )
    assert (big.name, big.reasoning, big.input, big.api) == (
        "Big one",
        True,
        ("text", "image"),
        "anthropic-messages",
    )
    assert (big.cost, big.context_window, big.max_tokens) == (Price(input=3, cache_read=0.5), 1000, 100)
    assert (big.headers, big.compat) == (
        {"x": "!echo 1", "y": "2"},
        Compat(supports_store=True, cache_control=False),
    )
    assert catalog.models[:3] == TABLE.models
    assert load_models_file(tmp_path / "models.json").keys == {"own": "OWN_KEY"}


def test_provider_may_need_no_key(tmp_path: Path) -> None:
    catalog = merged(tmp_path, {"lan": {"baseUrl": "http://10.0.0.1", "api": "openai-completions"}})
    assert catalog.providers["lan"].local
    assert pick_model(catalog, "lan/anything").model.base_url == "http://10.0.0.1"


def test_api_may_be_set_per_model(tmp_path: Path) -> None:
    models = [{"id": "a", "api": "anthropic-messages"}, {"id": "b", "api": "openai-completions"}]
    catalog = merged(tmp_path, {"own": {"baseUrl": "http://x", "models": models}})
    assert [model.api for model in catalog.models[-2:]] == ["anthropic-messages", "openai-completions"]


def test_known_provider_is_redirected_with_all_its_models(tmp_path: Path) -> None:
    change = {"baseUrl": "https://proxy/v1", "headers": {"b": "2"}, "compat": {"supportsStore": True}}
    catalog = merged(tmp_path, {"openai": change})
    provider = catalog.providers["openai"]
    assert (provider.base_url, provider.name, provider.api) == (
        "https://proxy/v1",
        "OpenAI",
        "openai-completions",
    )
    assert provider.key_variables == ["OPENAI_API_KEY"]
    assert provider.headers == {"a": "1", "b": "2"}
    for model in catalog.models[:2]:
        assert (model.base_url, model.headers) == ("https://proxy/v1", {"a": "1", "b": "2"})
        assert model.compat == Compat(max_tokens_field="max_completion_tokens", supports_store=True)
        assert model.cost == Price(input=1, output=2)
    assert catalog.models[2] == TABLE.models[2]


def test_known_models_are_changed_field_by_field_and_new_ones_added(tmp_path: Path) -> None:
    change = {
        "models": [{"id": "gpt-5", "contextWindow": 7}, {"id": "gpt-new"}],
        "modelOverrides": {
            "gpt-5-mini": {"cost": {"output": 9}, "name": "Mini"},
            "gpt-rumour": {"maxTokens": 5},
        },
    }
    catalog = merged(tmp_path, {"openai": change})
    by_id = {model.id: model for model in catalog.models}
    assert (by_id["gpt-5"].context_window, by_id["gpt-5"].name) == (7, "GPT-5")
    assert (by_id["gpt-5-mini"].cost, by_id["gpt-5-mini"].name) == (Price(input=1, output=9), "Mini")
    assert by_id["gpt-new"].base_url == "https://api.openai.com/v1"
    assert by_id["gpt-rumour"].max_tokens == 5
    assert len(find_models(catalog, "openai/*")) == 4
    assert len(TABLE.models) == 3


def test_unknown_fields_are_ignored_with_a_suggestion(tmp_path: Path) -> None:
    content = {
        "openai": {"oauth": True, "baseUrI": "x", "models": [{"id": "gpt-5", "maxToken": 5}]},
        "other": {"modelOverrides": {"o": {"thinking": 1}}},
    }
    file = load(tmp_path, content)
    path = tmp_path / "models.json"
    assert file.warnings == [
        f"{path}:4: Ignored unknown field providers.openai.oauth.",
        f"{path}:5: Ignored unknown field providers.openai.baseUrI. Did you mean baseUrl?",
        f"{path}:9: Ignored unknown field providers.openai.models[0].maxToken. Did you mean maxTokens?",
        f"{path}:16: Ignored unknown field providers.other.modelOverrides.o.thinking.",
    ]


BAD = [
    ({"own": {"api": "openai-completions"}}, 3, "needs a baseUrl"),
    ({"own": {"baseUrl": "http://x"}}, 3, ", ".join(DIALECTS)),
    (
        {"own": {"baseUrl": "http://", "models": [{"id": "", "api": "openai-completions"}, {"id": "b"}]}},
        10,
        "api",
    ),
    ({"own": {"baseUrl": "ftp://x"}}, 4, "must start with http:// or https://"),
    ({"own": {"apiKey": {"key": "sk-1"}}}, 4, "providers.own.apiKey must be text."),
    ({"own": {"baseUrl": 5}}, 4, "providers.own.baseUrl must be text, not 5"),
    ({"openai": {"api": "telepathy"}}, 4, f"use one of {', '.join(DIALECTS)}."),
    ({"openai": {"models": [{"id": "a", "api": "x"}]}}, 7, "providers.openai.models[0].api"),
    ({"openai": {"models": [{"id": "a"}, {"name": "b"}]}}, 8, "providers.openai.models[1] needs the field"),
    ({"openai": {"models": [{"id": "a", "contextWindow": "big"}]}}, 7, "must be a whole number from 1, not"),
    ({"openai": {"models": [{"id": "a", "contextWindow": 0}]}}, 7, "must be a whole number from 1, not 0"),
    ({"openai": {"models": [{"id": "a", "input": ["sound"]}]}}, 8, "one of text, image"),
    ({"openai": {"models": [{"id": "a", "cost": {"inptu": 1}}]}}, 8, "input, output, cacheRead, cacheWrite"),
    ({"openai": {"models": [{"id": "a", "cost": {"input": "x"}}]}}, 8, "must be a number"),
    ({"openai": {"models": {"id": "a"}}}, 4, "must be a list of objects"),
    ({"openai": {"compat": {"supportsStor": True}}}, 5, "supportsStore, supportsReasoningEffort"),
    ({"openai": {"compat": {"supportsStore": "yes"}}}, 5, "must be true or false"),
    ({"openai": {"compat": {"thinkingField": "x"}}}, 5, 'one of "", reasoning_content, reasoning'),
    ({"openai": {"headers": {"a": "b", "c": 5}}}, 6, "providers.openai.headers.c must be text."),
    ({"openai": {"modelOverrides": {"a": {}, "b": {"maxTokens": "x"}}}}, 7, "modelOverrides.b.maxTokens"),
    ({"openai": {"modelOverrides": {"a": {"compat": {"x": 1}}}}}, 7, "a.compat.x is not a known field"),
    ({"openai": []}, 3, "providers.openai must be an object"),
    ({"a/b": {}}, 3, "is not a valid provider id"),
    ({"": {}}, 3, "is not a valid provider id"),
]  # fmt: skip


@pytest.mark.parametrize(("providers", "line", "message"), BAD)
def test_mistake_is_an_error_with_line_field_and_allowed_values(
    tmp_path: Path, providers: dict[str, Any], line: int, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        merge_models(TABLE, load(tmp_path, providers))
    assert message in str(caught.value)
    assert (caught.value.path, caught.value.line) == (tmp_path / "models.json", line)


def test_broken_file_and_non_object_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"models\.json:2: Invalid JSON"):
        load(tmp_path, '{"providers":\n }')
    with pytest.raises(ConfigError, match="providers must be an object"):
        load(tmp_path, '{"providers": []}')
