"""Extensions as a session and its face see them: `ext` implements one side, each mode the other."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct

from tau.agent.ui import Ui

ChangeKind = Literal["new", "resume", "fork"]
Choice: TypeAlias = tuple[str, str]
"""What can be typed, and what it means."""


class SessionChange(Struct, frozen=True, kw_only=True):
    """Another session to open: `target` is the session to resume, or the last entry of a fork."""

    kind: ChangeKind
    target: str = ""
    draft: str = ""


class ExtensionCommand(Struct, frozen=True, kw_only=True):
    name: str
    description: str
    source: str
    complete: Callable[[str], Sequence[Choice]] | None = None


class ExtensionShortcut(Struct, frozen=True, kw_only=True):
    key: str
    description: str
    source: str
    run: Callable[[], Awaitable[None]]


class ExtensionScreen(Protocol):
    """What only a screen can do; see `ctx.ui`."""

    async def custom(self, factory: Any, *, overlay: bool) -> Any: ...
    def working_message(self, text: str | None) -> None: ...
    def header(self, lines: Any) -> None: ...
    def footer(self, lines: Any) -> None: ...
    def editor_text(self) -> str: ...
    def set_editor(self, text: str) -> None: ...
    def paste(self, text: str) -> None: ...
    def themes(self) -> Sequence[str]: ...
    def use_theme(self, name: str) -> None: ...
    def theme(self) -> Any: ...
    def tools_expanded(self, expanded: bool | None) -> bool: ...
    def on_key(self, listener: Callable[[Any], bool | None]) -> Callable[[], None]: ...
    def close(self) -> None:
        """Remove everything that extensions put there."""
        ...


class Face(Protocol):
    """A mode that runs a session; `screen` is None if it cannot draw."""

    @property
    def mode(self) -> str: ...
    @property
    def screen(self) -> ExtensionScreen | None: ...
    @property
    def display(self) -> Ui | None:
        """Where notices and widgets go, if the mode shows them; dialogs go to the session's own."""
        ...

    def prompt(self, text: str) -> None:
        """Send a message: at once, or while the agent works as a steering message."""
        ...

    def wake(self) -> None:
        """Start a turn on queued notes if the agent is idle."""
        ...

    def set_editor(self, text: str) -> None:
        """Put a text into the user's editor, if there is one."""
        ...

    def shutdown(self) -> None: ...
    async def change_session(self, change: SessionChange) -> bool:
        """Open another session; False if that was refused. Raises TauError if the mode has only one."""
        ...


class Renderers(Protocol):
    """Each returns a component, or None for the usual view."""

    def tool_call(self, name: str) -> Callable[..., Any] | None: ...
    def tool_result(self, name: str) -> Callable[..., Any] | None: ...
    def message(self, kind: str) -> Callable[..., Any] | None: ...
    def entry(self, kind: str) -> Callable[..., Any] | None: ...
    def thinking(self) -> Callable[[str], str] | None: ...
    def fail(self, kind: str, name: str, problem: str) -> None:
        """What a renderer returned cannot be shown: do not use it again."""
        ...


class StoppableCommands(Protocol):
    def stop(self) -> None:
        """Stop all that run now."""
        ...


class SessionExtensions(Protocol):
    """The extensions of a session. `renderers` draw their tools and messages."""

    @property
    def renderers(self) -> Renderers: ...
    @property
    def running_commands(self) -> StoppableCommands: ...
    def start(self) -> None:
        """Tell the extensions that the session is open."""
        ...

    async def close(self) -> None:
        """Let them finish, and unload them; before the session closes."""
        ...

    def attach(self, face: Face) -> None:
        """Name the mode that runs the session; its actions are available from now on."""
        ...

    def commands(self) -> Sequence[ExtensionCommand]: ...
    def shortcuts(self) -> Sequence[ExtensionShortcut]: ...
    async def run_command(self, text: str) -> bool:
        """Run `/name arguments`; False if no extension has this command. Raises TauError if it fails.

        It is an activity of the session, which Escape stops.
        """
        ...

    async def settle(self) -> None:
        """Wait until the handlers of all past events have run."""
        ...

    async def reload(self) -> list[str]:
        """Load all of them again; one that fails stays as it was. Returns what to say."""
        ...

    def report(self) -> Sequence[Any]:
        """What was loaded and what was not; see `ExtensionReport`."""
        ...
