"""What must not leave this machine in a report: known keys, and whatever looks like one."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from tau.base.errors import TauError
from tau.coding.export.secrets import Masker, secret_variables
from tau.config.json_file import read_json

LEFT_OUT = "[removed]"
_PLAIN_FIELDS = frozenset({"type", "email", "expires"})
_SECRET_FIELDS = frozenset(
    {"apikey", "key", "token", "secret", "password", "authorization", "headers", "env"}
)


def masker_for(auth_file: Path) -> Masker:
    """Masks the keys of the environment and auth.json everywhere."""
    values = secret_variables(os.environ)
    with suppress(TauError):  # a damaged file: its keys are unusable anyway
        values += _texts(read_json(auth_file).content)
    return Masker(values)


def _texts(value: Any) -> list[str]:
    match value:
        case dict():
            parts = (part for name, part in value.items() if name not in _PLAIN_FIELDS)
            return [text for part in parts for text in _texts(part)]
        case list():
            return [text for part in value for text in _texts(part)]
        case str() if not value.startswith("!") and value not in os.environ:
            return [value]
    return []


def without_keys(value: Any) -> Any:
    """A settings or models file without anything that could hold a key."""
    match value:
        case dict():
            return {
                name: LEFT_OUT if str(name).lower() in _SECRET_FIELDS else without_keys(part)
                for name, part in value.items()
            }
        case list():
            return [without_keys(part) for part in value]
    return value
