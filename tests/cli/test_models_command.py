"""`tau models`, as the real program's entry point runs it, against a real server."""

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tau.ai.catalog import load_catalog, pick_model
from tau.cli.failure import report_failure
from tau.cli.main import run
from tau.config.models_file import load_models_file, merge_models
from tau.config.paths import user_paths
from tests.support.json_server import JsonServer


def write_models(providers: dict[str, Any]) -> None:
    home = Path(os.environ["TAU_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    (home / "models.json").write_text(json.dumps({"providers": providers}))


@pytest.fixture(autouse=True)
def no_discovery() -> None:
    home = Path(os.environ["TAU_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    (home / "settings.json").write_text(json.dumps({"local.discover": False}))


def test_show_tells_limits_prices_levels_and_where_to_get_a_key(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["models", "show", "openai/gpt-5.4"]) == 0
    shown = capfd.readouterr().out
    for fact in (
        "OpenAI (openai-responses",
        "272K",
        "xhigh",
        "price above 272K",
        "flex",
        "set OPENAI_API_KEY",
    ):
        assert fact in shown
    assert run(["models", "show", "anthropic/claude-opus-4-6", "--json"]) == 0
    row = json.loads(capfd.readouterr().out)
    assert row["thinkingLevels"][-1] == "max"
    assert row["cost"]["cacheWrite1h"] == 10
    assert row["cacheSeconds"] == {"short": 300, "long": 3600}


def test_search_finds_all_words_in_any_order(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["models", "search", "4.6", "sonnet", "--json"]) == 0
    names = [row["name"].lower() for row in json.loads(capfd.readouterr().out)]
    assert names and all("sonnet" in name and "4.6" in name for name in names)


def test_list_is_what_the_flag_prints(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["models", "list", "haiku"]) == 0
    by_command = capfd.readouterr().out
    assert run(["--list-models", "haiku"]) == 0
    assert capfd.readouterr().out == by_command
    assert "claude-haiku-4-5" in by_command


@pytest.mark.parametrize(
    "words",
    [
        ["models", "show"],
        ["models", "search"],
        ["models", "list", "a", "b"],
        ["models", "drop"],
    ],
)
def test_misuse_names_the_forms(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert run_code(words) == 2
    assert "Usage: tau models" in capfd.readouterr().err


@pytest.mark.parametrize("words", [["models", "show", "gpt-6"], ["models", "show", "claude-sonet-4-6"]])
def test_name_without_one_meaning_lists_the_nearest(
    words: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_code(words) == 2
    error = capfd.readouterr().err
    assert "openai/gpt-6.1-sol" in error or "claude-sonnet-4-6" in error
    assert error.count("\n") == 1


def run_code(words: list[str]) -> int:
    """With errors reported as `tau` does."""

    try:
        return run(words)
    except Exception as error:
        return report_failure(error)


def known(pattern: str) -> Any:
    return pick_model(merge_models(load_catalog(), load_models_file(user_paths().models)), pattern)


def test_refresh_stores_what_a_gateway_lists(capfd: pytest.CaptureFixture[str]) -> None:
    listing = {
        "data": [
            {
                "id": "big",
                "context_length": 300_000,
                "pricing": {"prompt": "0.000002", "completion": "0.00001"},
                "supported_parameters": ["reasoning"],
                "architecture": {"input_modalities": ["text", "image"]},
            },
            {"id": "small", "max_model_len": 8_192},
        ]
    }
    with JsonServer({"/v1/models": listing}) as server:
        entry = {"baseUrl": f"{server.url}/v1", "api": "openai-completions", "apiKey": "k-123"}
        write_models({"office": {**entry, "discovery": {"type": "openai-models-list"}}})
        assert run(["models", "refresh"]) == 0
        assert capfd.readouterr().out == "office: 2 models\n"
        assert server.keys == ["Bearer k-123"]
    big = known("office/big")
    assert big.known
    assert (big.model.context_window, big.model.cost.input, big.model.cost.output) == (300_000, 2, 10)
    assert (big.model.reasoning, big.model.input) == (True, ("text", "image"))
    assert known("office/small").model.context_window == 8_192


def test_address_of_a_proxy_comes_from_its_variable(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with JsonServer({"/v1/models": {"data": [{"id": "fast"}]}}) as server:
        monkeypatch.setenv("LITELLM_BASE_URL", f"{server.url}/v1")
        assert run(["models", "refresh", "litellm"]) == 0
    assert capfd.readouterr().out == "litellm: 1 model\n"


@pytest.mark.parametrize(
    ("provider", "path", "answer", "header"),
    [
        ("anthropic", "/v1/models", {"data": [{"id": "claude-9", "display_name": "Claude 9"}]}, "x-api-key"),
        (
            "google",
            "/models?pageSize=1000",
            {
                "models": [
                    {"name": "models/gemini-9", "displayName": "Gemini 9", "inputTokenLimit": 2_000_000}
                ]
            },
            "x-goog-api-key",
        ),
    ],
)
def test_vendors_are_asked_in_their_own_way(
    provider: str, path: str, answer: dict[str, Any], header: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with JsonServer({path: answer}, header) as server:
        write_models({provider: {"baseUrl": server.url, "apiKey": "k-123"}})
        assert run(["models", "refresh", provider]) == 0
    assert server.keys == ["k-123"]
    [row] = answer.get("data") or answer["models"]
    model = known(f"{provider}/{row.get('id', 'gemini-9')}").model
    assert model.name == (row.get("display_name") or row["displayName"])


def test_models_of_ollama_elsewhere_get_the_context_that_is_set(capfd: pytest.CaptureFixture[str]) -> None:
    tags = {"models": [{"name": "qwen"}]}
    shown = {"capabilities": ["completion", "tools"], "model_info": {"q.context_length": 20_000}}
    with JsonServer({"/api/tags": tags, "/api/show": shown, "/api/ps": {"models": []}}) as server:
        entry = {"baseUrl": server.url, "api": "ollama-chat", "discovery": {"type": "ollama"}}
        write_models({"box": entry})
        for wanted, served in ((0, 4096), (16_384, 16_384), (32_768, 20_000)):
            settings = {"local.discover": False, "local.numCtx": wanted}
            (Path(os.environ["TAU_HOME"]) / "settings.json").write_text(json.dumps(settings))
            assert run(["models", "refresh", "box"]) == 0
            model = known("box/qwen").model
            assert (model.context_window, model.compat.num_ctx) == (served, served if wanted else 0)


def test_cloud_without_a_list_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_code(["models", "refresh", "amazon-bedrock"]) == 1
    assert "Amazon Bedrock has no list of models" in capfd.readouterr().err


def test_show_says_what_a_server_does_not_tell(capfd: pytest.CaptureFixture[str]) -> None:
    with JsonServer({"/v1/models": {"data": [{"id": "qwen-vl", "max_model_len": 8_192}]}}) as server:
        entry = {"baseUrl": f"{server.url}/v1", "api": "openai-completions"}
        write_models({"gpu": {**entry, "discovery": {"type": "vllm"}}})
        assert run(["models", "refresh"]) == 0
        assert run(["models", "show", "gpu/qwen-vl"]) == 0
    assert "text (a guess: the server does not say if it takes images" in capfd.readouterr().out


def test_refresh_drops_models_that_nobody_could_name_or_use(capfd: pytest.CaptureFixture[str]) -> None:
    rows = [
        *({"id": id} for id in ("", "x\x1b[31m", "a\nb", "x\u202e", "x" * 300)),
        {"id": "negative", "context_length": -1},
        {"id": "liar", "name": "ok\x07"},
        {"id": "fine"},
    ]
    with JsonServer({"/v1/models": {"data": rows}}) as server:
        entry = {"baseUrl": f"{server.url}/v1", "api": "openai-completions", "apiKey": "k-123"}
        write_models({"office": {**entry, "discovery": {"type": "openai-models-list"}}})
        assert run(["models", "refresh"]) == 0
    assert capfd.readouterr().out == "office: 1 model\n"


def test_refresh_sends_no_key_of_yours_unencrypted(capfd: pytest.CaptureFixture[str]) -> None:
    entry = {"baseUrl": "http://gateway.example/v1", "api": "openai-completions"}
    write_models({"office": {**entry, "discovery": {"type": "openai-models-list"}}})
    (Path(os.environ["TAU_HOME"]) / "auth.json").write_text(
        json.dumps({"office": {"type": "api_key", "key": "k-123"}})
    )
    assert run_code(["models", "refresh"]) == 1
    assert "Your key for office was not sent to gateway.example" in capfd.readouterr().err


def test_password_in_an_address_is_not_shown(capfd: pytest.CaptureFixture[str]) -> None:
    entry = {"baseUrl": "https://me:hunter2hunter2@gateway.example/v1", "api": "openai-completions"}
    write_models({"office": {**entry, "models": [{"id": "big"}]}})
    for more in ([], ["--json"]):
        assert run(["models", "show", "office/big", *more]) == 0
        assert "hunter2" not in capfd.readouterr().out


def test_terminal_gets_no_control_characters_of_a_model(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    entry = {"baseUrl": "https://gateway.example/v1", "api": "openai-completions"}
    write_models({"office": {**entry, "models": [{"id": "big", "name": "Big\x1b]0;title\x07\u202e"}]}})
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert run(["models", "list", "office/big"]) == 0
    out = capfd.readouterr().out
    assert "\x1b" not in out and "Big<U+202E>" in out


def test_refresh_reads_limits_and_prices_of_a_proxy() -> None:
    info = {"max_input_tokens": 200_000, "max_output_tokens": 32_000, "input_cost_per_token": 0.000003}
    rows = {"data": [{"model_name": "sonnet", "model_info": {**info, "supports_vision": True}}]}
    with JsonServer({"/model/info": rows}) as server:
        entry = {"baseUrl": f"{server.url}/v1", "api": "openai-completions", "apiKey": "k-123"}
        write_models({"proxy": {**entry, "discovery": {"type": "proxy"}}})
        assert run(["models", "refresh", "proxy"]) == 0
    model = known("proxy/sonnet").model
    assert (model.context_window, model.max_tokens, model.cost.input) == (200_000, 32_000, 3)
    assert model.input == ("text", "image")


def test_refresh_asks_a_server_on_this_machine() -> None:
    tags = {"models": [{"name": "coder:7b"}]}
    show = {"capabilities": ["completion", "thinking"], "model_info": {"q.context_length": 32_768}}
    with JsonServer({"/api/tags": tags, "/api/show": show, "/api/ps": {"models": []}}) as server:
        entry = {"baseUrl": f"{server.url}/v1", "api": "openai-completions"}
        write_models({"box": {**entry, "discovery": {"type": "ollama"}}})
        assert run(["models", "refresh"]) == 0
    assert known("box/coder:7b").model.reasoning


def test_own_models_beat_what_a_server_lists() -> None:
    with JsonServer({"/v1/models": {"data": [{"id": "big"}]}}) as server:
        entry = {"baseUrl": f"{server.url}/v1", "api": "openai-completions", "apiKey": "k-123"}
        own = [{"id": "big", "contextWindow": 9_000}]
        write_models({"office": {**entry, "models": own, "discovery": {"type": "openai-models-list"}}})
        assert run(["models", "refresh"]) == 0
    assert known("office/big").model.context_window == 9_000


def test_failed_refresh_says_so_and_changes_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with JsonServer({}) as server:
        entry = {"baseUrl": f"{server.url}/v1", "api": "openai-completions", "apiKey": "k-123"}
        write_models({"office": {**entry, "discovery": {"type": "openai-models-list"}}})
        assert run_code(["models", "refresh"]) == 1
    assert "answered with status 404" in capfd.readouterr().err
    assert not (user_paths().cache / "models").exists()
    write_models({})
    assert run_code(["models", "refresh"]) == 2
    assert run_code(["models", "refresh", "nobody"]) == 2


def test_json_of_refresh_counts_models(capfd: pytest.CaptureFixture[str]) -> None:
    with JsonServer({"/v1/models": {"data": [{"id": "a"}]}}) as server:
        entry = {"baseUrl": f"{server.url}/v1", "api": "openai-completions", "apiKey": "k-123"}
        write_models({"office": {**entry, "discovery": {"type": "openai-models-list"}}})
        assert run(["models", "refresh", "--json"]) == 0
    assert msgspec.json.decode(capfd.readouterr().out) == {"office": 1}
