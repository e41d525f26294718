"""Fills `{{Name}}` in configured texts, once and without escaping."""

from collections.abc import Mapping, Sequence

from tau.relay.config import VARIABLE


def fill(text: str, values: Mapping[str, str]) -> str:
    """Replace each variable by its value, an unknown one by nothing. Values are not templates."""
    return VARIABLE.sub(lambda match: values.get(match[1], ""), text)


def fill_all(words: Sequence[str], values: Mapping[str, str]) -> list[str]:
    return [fill(word, values) for word in words]
