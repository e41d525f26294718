"""The bundled tables of providers and models."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tau.ai.apis import DIALECTS, dialect
from tau.ai.catalog import DATA, Catalog, ModelRow, Provider, load_catalog, pick_model
from tau.ai.model import Model
from tau.base.errors import ConfigError

CATALOG = load_catalog()
ROWS = msgspec.json.decode((DATA / "providers.json").read_bytes(), type=list[Provider])

# Before there were more than these, tau used the first of them that had a key.
FIRST = [
    "anthropic",
    "openai",
    "openrouter",
    "deepseek",
    "groq",
    "mistral",
    "xai",
    "cerebras",
    "together",
    "fireworks",
    "moonshot",
    "zai",
    "google",
]
FORBIDDEN = {"github-copilot", "google-antigravity", "google-gemini-cli", "cursor"}


def test_providers_come_in_the_order_their_keys_are_searched() -> None:
    assert list(CATALOG.providers)[: len(FIRST)] == FIRST
    assert not any(CATALOG.providers[id].on_request for id in FIRST)


def test_table_has_the_providers_people_use() -> None:
    assert len(ROWS) >= 50
    assert len({row.id for row in ROWS}) == len(ROWS)
    plans = {row.id for row in ROWS if row.plan}
    assert {"zai-coding-plan", "kimi-code", "minimax-code", "alibaba-coding-plan"} <= plans
    assert not FORBIDDEN & {row.id for row in ROWS}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_provider_says_how_to_use_it(row: Provider) -> None:
    assert row.key_variables
    assert row.base_url.startswith(("https://", "{"))
    assert not row.base_url.endswith("/")
    assert row.key_page.startswith("https://") or row.id == "litellm"


@pytest.mark.parametrize("id", [id for id in CATALOG.providers if id != "litellm"])
def test_provider_works_with_its_key_alone(id: str) -> None:
    provider = CATALOG.providers[id]
    own = [model.id for model in CATALOG.models_of(id)]
    assert provider.default_model in own
    assert len(own) == len(set(own))


def test_token_for_other_purposes_selects_no_provider() -> None:
    assert CATALOG.providers["huggingface"].on_request
    assert CATALOG.providers["cloudflare-workers-ai"].on_request


def test_token_of_a_claude_plan_is_not_a_key() -> None:
    row = CATALOG.providers["anthropic"]
    assert (row.key_variables, row.closed_variable) == (["ANTHROPIC_API_KEY"], "ANTHROPIC_OAUTH_TOKEN")


@pytest.mark.parametrize("id", CATALOG.providers)
def test_numbers_of_a_model_are_plausible(id: str) -> None:
    for model in CATALOG.models_of(id):
        assert_plausible(model)


def assert_plausible(model: Model) -> None:
    assert 0 < model.max_tokens < model.context_window, model.key
    price = model.cost
    assert 0 <= price.input < 1_000, model.key
    assert 0 <= price.output < 1_000, model.key
    assert 0 <= price.cache_read <= max(price.input, price.output), model.key
    assert model.input[0] == "text", model.key
    assert model.api in DIALECTS, model.key
    lengths = [step.input_tokens_above for step in price.steps]
    assert lengths == sorted(set(lengths)), model.key
    assert all(step.input >= price.input for step in price.steps), model.key


def test_models_of_a_plan_have_no_price() -> None:
    for row in CATALOG.providers.values():
        if row.plan:
            assert not any(model.cost.input or model.cost.output for model in CATALOG.models_of(row.id))


def test_default_models_think_at_the_levels_their_vendors_list() -> None:
    opus = pick_model(CATALOG, "anthropic/claude-opus-4-6").model
    assert "max" in opus.thinking_levels()
    assert "xhigh" not in opus.thinking_levels()
    assert opus.cost.cache_write_1h == 2 * opus.cost.input
    assert (opus.cache_seconds.short, opus.cache_seconds.long) == (300, 3_600)
    assert opus.limits.max_images == 600


def test_openai_prices_have_steps_and_tiers() -> None:
    price = pick_model(CATALOG, "openai/gpt-5.4").model.cost
    assert [step.input_tokens_above for step in price.steps] == [272_000]
    assert price.rates("flex", 1_000).input < price.input < price.rates("priority", 1_000).input


def test_table_has_one_row_per_line() -> None:
    paths = [DATA / "providers.json", *(DATA / "models").glob("*.json")]
    assert len(paths) > 40
    for path in paths:
        rows = [line.strip() for line in path.read_text().splitlines()[1:-1]]
        assert all(msgspec.json.decode(row.rstrip(",")) for row in rows), path


def test_a_run_reads_the_table_of_one_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    load_catalog()  # reads the providers, once in a process
    read: list[str] = []
    real = Path.read_bytes

    def record(path: Path) -> bytes:
        read.append(path.name)
        return real(path)

    monkeypatch.setattr(Path, "read_bytes", record)
    catalog = load_catalog()
    assert pick_model(catalog, "openrouter/openai/gpt-5.4").known
    assert pick_model(catalog, "gpt-5.4", "openai").known
    assert pick_model(catalog, "claude-opus-4-6:high", prefer=["anthropic", "openrouter"]).known
    assert read == ["openrouter.json", "openai.json", "anthropic.json"]


def test_rows_of_a_dialect_that_is_missing_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    rows = [
        {"id": "p", "name": "P", "api": "openai-completions", "baseUrl": "https://p"},
        {"id": "q", "name": "Q", "api": "smoke-signals", "baseUrl": "https://q"},
    ]
    (tmp_path / "providers.json").write_bytes(msgspec.json.encode(rows))
    models = [{"id": "a", "name": "A"}, {"id": "b", "name": "B", "api": "smoke-signals"}]
    (tmp_path / "models" / "p.json").write_bytes(msgspec.json.encode(models))
    catalog = load_catalog(tmp_path)
    assert list(catalog.providers) == ["p"]
    assert [model.key for model in catalog.models] == ["p/a"]


def test_models_are_complete_without_the_folder_of_tables() -> None:
    row = Provider(id="p", name="P", api="openai-completions", base_url="https://p")
    assert Catalog({"p": row}).models == []
    assert msgspec.json.decode(b'{"id":"a","name":"A"}', type=ModelRow).cost.input == 0


def test_tables_stay_small_enough_to_decode_in_every_run() -> None:
    """`bench/ai.py` measures the time; the size decides it."""
    sizes = {path.stem: path.stat().st_size for path in (DATA / "models").glob("*.json")}
    assert max(sizes.values()) < 220_000
    assert sum(sizes.values()) < 800_000


def test_every_known_api_has_a_dialect() -> None:
    assert set(DIALECTS)
    for api in DIALECTS:
        assert callable(dialect(api))


def test_unknown_api_names_the_known_ones() -> None:
    with pytest.raises(ConfigError) as caught:
        dialect("smtp")
    assert str(caught.value) == f'Unknown API "smtp"; use one of {", ".join(DIALECTS)}.'


def test_search_is_imported_only_for_names_that_are_not_exact() -> None:
    code = (
        "import sys; from tau.ai.catalog import load_catalog, pick_model;"
        "pick_model(load_catalog(), 'anthropic/claude-opus-4-6:high');"
        "print('tau.ai.model_search' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
