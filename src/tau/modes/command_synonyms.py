"""Words that people type for a command that tau calls something else."""

from pathlib import Path

from msgspec import json

_WORDS = json.decode(Path(__file__).with_name("command_synonyms.json").read_bytes(), type=dict[str, str])
"""By command, in the order in which they are suggested."""
MOST = 2
"""How many commands one word may suggest."""


def meant(word: str) -> list[str]:
    """The commands that this word may mean, best first."""
    wanted = word.lower().replace("_", "-")
    return [command for command, words in _WORDS.items() if wanted in words.split()]
