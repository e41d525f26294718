"""Tokens at the model's price."""

import pytest

from tau.ai.assembler import compute_usage
from tau.ai.dialect import Tokens
from tau.ai.model import LongContextRates, Price, SteppedRates
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


LONG = LongContextRates(input=6, output=22.5, cache_read=0.6, cache_write=7.5, input_tokens_above=200_000)


def test_long_prompt_costs_more_from_its_first_token_on() -> None:
    price = Price(3, 15, 0.3, 3.75, steps=(LONG,))
    assert compute_usage(Tokens(200_000, 1_000), price).cost.total == pytest.approx(0.615)
    assert compute_usage(Tokens(200_001, 1_000), price).cost.total == pytest.approx(1.200006 + 0.0225)


def test_cached_tokens_count_toward_the_length_of_a_prompt() -> None:
    price = Price(3, 15, 0.3, 3.75, steps=(LONG,))
    cost = compute_usage(Tokens(1_000, 0, 200_000, 0), price).cost
    assert cost.input == pytest.approx(0.006)
    assert cost.cache_read == pytest.approx(0.12)


def test_highest_step_below_the_length_counts() -> None:
    steps = tuple(LongContextRates(input=n, input_tokens_above=n * 1_000) for n in (10, 20, 30))
    price = Price(1, steps=steps)
    assert [price.rates(None, count).input for count in (10_000, 10_001, 25_000, 99_000)] == [1, 10, 20, 30]


def test_cost_named_by_the_server_is_split_in_proportion_to_the_prices() -> None:
    tokens = Tokens(1_000_000, 500_000, 2_000_000, 100_000, cost=22.95)
    assert compute_usage(tokens, Price(3, 15, 0.3, 3.75)).cost == Cost(
        *map(pytest.approx, (6, 15, 1.2, 0.75)), total=22.95
    )


def test_tokens_cached_for_an_hour_have_their_own_price() -> None:
    tokens = Tokens(0, 0, 0, 1_000_000, cache_write_1h=400_000)
    assert compute_usage(tokens, Price(5, 25, 0.5, 6.25, 10)).cost.cache_write == pytest.approx(7.75)
    assert compute_usage(tokens, Price(5, 25, 0.5, 6.25)).cost.cache_write == pytest.approx(6.25)


def test_tier_that_answered_sets_the_price() -> None:
    flex = SteppedRates(1.25, 7.5, 0.13, steps=(LongContextRates(input=2.5, input_tokens_above=272_000),))
    price = Price(2.5, 15, 0.25, tiers={"flex": flex})
    assert compute_usage(Tokens(100_000, 0, tier="flex"), price).cost.total == pytest.approx(0.125)
    assert compute_usage(Tokens(300_000, 0, tier="flex"), price).cost.total == pytest.approx(0.75)
    assert compute_usage(Tokens(100_000, 0, tier="default"), price).cost.total == pytest.approx(0.25)


def test_figure_of_the_server_beats_the_table() -> None:
    cost = compute_usage(Tokens(1_000_000, 1_000_000, cost=9), Price(3, 15)).cost
    assert (cost.total, cost.input + cost.output) == (9, pytest.approx(9))
    assert cost.input == pytest.approx(1.5)
    assert compute_usage(Tokens(10, 20, cost=0.5), Price()).cost == Cost(total=0.5)
    assert compute_usage(Tokens(1_000, 0, cost=0), Price(3, 15)).cost.total == 0
