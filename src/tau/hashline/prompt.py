"""The prompt and the grammar of the patch language."""

from functools import cache
from pathlib import Path


@cache
def prompt_text() -> str:
    """The description for the model."""
    return Path(__file__).with_name("prompt.md").read_text(encoding="utf-8").strip()


@cache
def grammar_text() -> str:
    """The strict grammar in Lark's notation, for constrained decoding."""
    return Path(__file__).with_name("grammar.lark").read_text(encoding="utf-8")
