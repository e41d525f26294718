"""What must not leave this machine in a report: known keys, and whatever looks like one."""

import os

from tau.base.secrets import SecretMask
from tau.config.paths import Paths
from tau.config.secret_mask import make_mask

LEFT_OUT = "[removed]"
_SECRET_FIELDS = frozenset(
    {"apikey", "key", "token", "secret", "password", "authorization", "headers", "env"}
)


def masker_for(paths: Paths) -> SecretMask:
    """Masks the user's keys, and whatever looks like one."""
    return make_mask(os.environ, paths, lambda problem: None)


def without_keys(value: object) -> object:
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
