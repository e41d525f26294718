"""The cost of an answer: its tokens at the model's price."""

from tau.ai.dialect import Tokens
from tau.ai.model import Price
from tau.ai.wire import Cost, Usage

PER_TOKENS = 1_000_000
FREE = Price()


def priced(tokens: Tokens, price: Price) -> Usage:
    """Compute the usage of one answer. Missing counts are 0 and cost nothing."""
    input = tokens.input or 0
    output = tokens.output or 0
    cache_read = tokens.cache_read or 0
    cache_write = tokens.cache_write or 0
    if price == FREE:
        return Usage(input, output, cache_read, cache_write)
    parts = (
        input * price.input / PER_TOKENS,
        output * price.output / PER_TOKENS,
        cache_read * price.cache_read / PER_TOKENS,
        cache_write * price.cache_write / PER_TOKENS,
    )
    return Usage(input, output, cache_read, cache_write, Cost(*parts, total=sum(parts)))
