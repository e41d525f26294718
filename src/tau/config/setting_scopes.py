"""What a project's settings file may do with each setting.

A repository is written by others. It may say how to work in it, and it may be stricter than the user. It may
not decide where requests go, what is sent, what runs, or how the screen looks and reacts. A setting that is
not listed in `setting_scopes.json` belongs to the user; a test wants each one to be listed, or marked
`extra=USER`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, json

LOWER = "lower"


class _ScopeTable(Struct, frozen=True, rename="camel"):
    """`user_groups` and `user`: how the screen looks, what tau connects to, who gets the conversation.

    `tighten`: a project may move these toward the safe side of the user's value: turn them on or off, lower
    them, or move along the values from strict to loose. `any`: how to work in this repository: sizes,
    formats, time limits, and `tools.ask` and `tools.deny`, whose rules are added to the user's.
    """

    user_groups: tuple[str, ...]
    user: frozenset[str]
    tighten: dict[str, Literal["on", "off", "lower"] | tuple[str, ...]]
    any: frozenset[str]


_TABLE = json.decode(Path(__file__).with_name("setting_scopes.json").read_bytes(), type=_ScopeTable)
USER_GROUPS, USER_ONLY, ANY = _TABLE.user_groups, _TABLE.user, _TABLE.any
_ORDERS: dict[str, tuple[bool, bool]] = {"off": (False, True), "on": (True, False)}
TIGHTEN: dict[str, tuple[Any, ...] | str] = {
    key: _ORDERS.get(order, order) if isinstance(order, str) else order
    for key, order in _TABLE.tighten.items()
}
"""The values from strict to loose, or `LOWER`."""


def scope_of(key: str) -> Literal["any", "user", "tighten"]:
    if key in ANY:
        return "any"
    return "tighten" if key in TIGHTEN else "user"


def tightens(key: str, value: Any, current: Any) -> bool:
    """Whether a project's value is at least as strict as the user's."""
    order = TIGHTEN[key]
    if order == LOWER:
        return type(value) is int and type(current) is int and value <= current
    return _place(value, order, len(order)) <= _place(current, order, -1)


def _place(value: Any, order: Sequence[Any], unknown: int) -> int:
    """Equal values of another type do not count: 1 is not True."""
    same = (place for place, one in enumerate(order) if type(one) is type(value) and one == value)
    return next(same, unknown)
