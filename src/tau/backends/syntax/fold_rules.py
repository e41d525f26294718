"""Node kinds that a summary can fold, per language, from `fold_rules.json`."""

from pathlib import Path

import msgspec
from msgspec import Struct


class FoldRules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`bodies` fold inside one of the `owners`; `literals` if long; `nested` whenever bodies do.

    `tails` keep their first line and fold the rest. `data` marks languages without functions.
    """

    owners: tuple[str, ...] = ()
    bodies: tuple[str, ...] = ()
    owner_pattern: str = ""  # what the text of an owner must begin with
    literals: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()
    tails: tuple[str, ...] = ()
    comments: tuple[str, ...] = ("comment",)
    data: bool = False
    prose: bool = False


FOLDS = msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes(), type=dict[str, FoldRules])
