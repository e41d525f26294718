"""Late imports: `pdf = late("tau.coding.readers.documents.pdf")` at module top, loaded on first use.

The entry point uses this too, so it imports nothing itself, not even `typing`.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any


class LateModule:
    """A placeholder for a module until one of its names is used."""

    __slots__ = ("_module", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._module: ModuleType | None = None

    def __getattr__(self, attribute: str) -> "Any":
        if self._module is None:
            __import__(self._name)
            self._module = sys.modules[self._name]
        return getattr(self._module, attribute)

    def __repr__(self) -> str:
        state = "loaded" if self._module is not None else "not loaded"
        return f"<late module {self._name}, {state}>"


def late(name: str) -> "Any":
    """Return a lazy module. Use it at module top level only; a shape test reads every such string."""
    return LateModule(name)
