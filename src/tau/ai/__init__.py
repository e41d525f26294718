"""Talks to models: wire types, one module per dialect, provider and model tables, local servers.

`complete` and `stream` work without a session.
"""

from typing import TYPE_CHECKING, Any

from tau.base.late import late

if TYPE_CHECKING:
    from tau.ai.standalone import complete as complete
    from tau.ai.standalone import stream as stream

_standalone = late("tau.ai.standalone")


def __getattr__(name: str) -> Any:
    """Import the client with its first use: most of tau only wants a module of this package."""
    if name in ("complete", "stream"):
        return getattr(_standalone, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
