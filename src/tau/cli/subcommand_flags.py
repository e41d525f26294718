"""The flags that only one subcommand takes, from `subcommand_flags.json`."""

from pathlib import Path

from msgspec import json

from tau.cli.flags import Flag


def own_flags(subcommand: str) -> tuple[Flag, ...]:
    table = Path(__file__).with_suffix(".json").read_bytes()
    rows = json.decode(table, type=dict[str, list[dict[str, str]]])[subcommand]
    return tuple(Flag(**row) for row in rows)
