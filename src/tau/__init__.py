"""tau: a coding agent for the terminal and for programs."""

from tau.base.late import late
from tau.base.version import VERSION as __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tau.sdk import SessionOptions, create_session

__all__ = ["SessionOptions", "__version__", "create_session"]

sdk = late("tau.sdk")


def __getattr__(name: str) -> object:
    """What programs use, loaded at first use: the command line must not pay for it."""
    if name not in __all__:
        raise AttributeError(f"module 'tau' has no attribute {name!r}")
    return getattr(sdk, name)
