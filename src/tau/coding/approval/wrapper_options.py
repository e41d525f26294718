"""The options of programs and builtins that run other commands, from `wrapper_options.json`.

An option that is not listed here is not understood: it may change which of the words is the program.
"""

from pathlib import Path

import msgspec
from msgspec import Struct


class WrapperOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """Options before the wrapped command, as letters and as long names.

    `values` take the rest of the word or the next word, `optional` only the rest. `operands` come before the
    command. `text`: options whose value is a command for a shell. `folder`: those that change the folder.
    With one of `inert`, nothing runs.
    """

    flags: str = ""
    values: str = ""
    optional: str = ""
    long_flags: tuple[str, ...] = ()
    long_values: tuple[str, ...] = ()
    operands: int = 0
    assignments: bool = False
    text: tuple[str, ...] = ()
    folder: tuple[str, ...] = ()
    inert: tuple[str, ...] = ()


class _Programs(Struct, frozen=True, forbid_unknown_fields=True):
    """`opaque` ones start something under rules too many to list; without arguments, `listers` only list."""

    wrappers: dict[str, WrapperOptions]
    opaque: frozenset[str]
    listers: frozenset[str]


_programs = msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes(), type=_Programs)
WRAPPERS, OPAQUE, LISTERS = _programs.wrappers, _programs.opaque, _programs.listers
