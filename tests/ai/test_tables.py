"""The bundled tables of providers and models."""

import msgspec
import pytest

from tau.ai.apis import DIALECTS, dialect
from tau.ai.catalog import DATA, load_catalog
from tau.ai.model import Model
from tau.base.errors import ConfigError

CATALOG = load_catalog()


def test_providers_come_in_the_order_their_keys_are_searched() -> None:
    assert list(CATALOG.providers)[:3] == ["anthropic", "openai", "openrouter"]


@pytest.mark.parametrize("id", CATALOG.providers)
def test_provider_works_with_its_key_alone(id: str) -> None:
    provider = CATALOG.providers[id]
    own = [model.id for model in CATALOG.models if model.provider == id]
    assert provider.default_model in own
    assert 2 <= len(own) <= 8
    assert len(own) == len(set(own))
    assert provider.key_variables
    assert provider.base_url.startswith("https://")
    assert not provider.base_url.endswith("/")


def test_anthropic_login_is_searched_before_its_key() -> None:
    assert CATALOG.providers["anthropic"].key_variables == ["ANTHROPIC_OAUTH_TOKEN", "ANTHROPIC_API_KEY"]


@pytest.mark.parametrize("model", CATALOG.models, ids=lambda model: model.key)
def test_numbers_of_a_model_are_plausible(model: Model) -> None:
    assert 0 < model.max_tokens < model.context_window
    assert 0 <= model.cost.cache_read <= model.cost.input <= model.cost.output < 200
    assert model.input[0] == "text"
    assert model.api in DIALECTS


def test_table_has_one_row_per_line() -> None:
    for name in ("providers.json", "models.json"):
        rows = [line for line in (DATA / name).read_text().splitlines() if line.lstrip().startswith('{"')]
        assert all(msgspec.json.decode(row.rstrip(",")) for row in rows)


def test_every_known_api_has_a_dialect() -> None:
    assert set(DIALECTS)
    for api in DIALECTS:
        assert callable(dialect(api))


def test_unknown_api_names_the_known_ones() -> None:
    with pytest.raises(ConfigError) as caught:
        dialect("smtp")
    assert str(caught.value) == f'Unknown API "smtp"; use one of {", ".join(DIALECTS)}.'
