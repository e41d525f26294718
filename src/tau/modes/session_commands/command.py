"""A command as data: its name, what it takes, what it answers, and what it does."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from tau.base.errors import TauError
from tau.modes.session_host import SessionHost

if TYPE_CHECKING:
    from tau.modes.session_commands.host_tools import HostLink


CallId: TypeAlias = str | int


class CommandCall(Struct, frozen=True):
    """`id` is the program's own name for this call; `send` reports what happens before the answer.

    `link` reaches the program's own tools, if the connection can.
    """

    host: SessionHost
    id: CallId | None = None
    send: Callable[[Struct], None] = lambda frame: None
    link: "HostLink | None" = None


class SessionCommand(Struct, frozen=True, kw_only=True):
    """A row of the table.

    A `slow` one waits for something that takes long: later commands do not wait for it.
    """

    name: str
    summary: str
    request: type[Struct]
    response: Any = None  # the type of `data` in the answer; None: no data
    run: Callable[[CommandCall, Any], Awaitable[Any]]
    slow: bool = False


def command(
    run: Callable[[CommandCall, Any], Awaitable[Any]], summary: str, *, name: str = "", slow: bool = False
) -> SessionCommand:
    """A row for a function: its name, what it takes and what it answers are in its signature."""
    types = run.__annotations__
    return SessionCommand(
        name=name or run.__name__,
        summary=summary,
        request=types["request"],
        response=types["return"],
        run=run,
        slow=slow,
    )


class NoFields(Struct, frozen=True):
    """The request of a command without parameters."""


class CommandError(TauError):
    """A command failed; `code` is for programs."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code
