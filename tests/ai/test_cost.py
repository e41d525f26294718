"""Tokens at the model's price."""

import pytest

from tau.ai.assembler import compute_usage
from tau.ai.dialect import Tokens
from tau.ai.model import Price
from tau.ai.wire import Cost, Usage


def test_each_kind_of_token_has_its_own_price() -> None:
    usage = compute_usage(Tokens(1_000_000, 500_000, 2_000_000, 100_000), Price(3, 15, 0.3, 3.75))
    assert (usage.input, usage.output, usage.cache_read, usage.cache_write) == (
        1_000_000,
        500_000,
        2_000_000,
        100_000,
    )
    assert usage.cost.input == 3
    assert usage.cost.output == pytest.approx(7.5)
    assert usage.cost.cache_read == pytest.approx(0.6)
    assert usage.cost.cache_write == pytest.approx(0.375)
    assert usage.cost.total == pytest.approx(11.475)


def test_missing_counts_are_zero() -> None:
    assert compute_usage(Tokens(), Price(3, 15)) == Usage(0, 0, 0, 0, Cost())


def test_model_without_a_price_is_free() -> None:
    assert compute_usage(Tokens(10, 20), Price()) == Usage(10, 20, 0, 0, Cost())
