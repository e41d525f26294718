"""The session on the screen, and requests to switch to another."""

from pathlib import Path
from typing import Literal, NamedTuple

from tau.ai.model import Model
from tau.ai.wire import ImageContent
from tau.base.errors import TauError
from tau.coding.session.session import Session
from tau.config.layers import RunOverrides
from tau.config.paths import Paths
from tau.config.settings import Settings


class CurrentSession:
    """`session` is None until one is open. `overrides` are this run's additions to the settings files."""

    def __init__(self, settings: Settings, paths: Paths, folder: Path, overrides: RunOverrides) -> None:
        self.session: Session | None = None
        self.settings = settings
        self.paths = paths
        self.folder = folder
        """The startup folder."""
        self.overrides = overrides

    @property
    def cwd(self) -> Path:
        return self.folder if self.session is None else self.session.cwd

    @property
    def running(self) -> bool:
        """Whether a message sent now would steer a running agent."""
        return self.session is not None and self.session.activities.running

    def require(self) -> Session:
        """Raises TauError if there is none."""
        if self.session is None:
            raise TauError("The session is still opening; try again in a moment.")
        return self.session


class SessionSwitch(NamedTuple):
    """Which session to open next."""

    kind: Literal["first", "new", "resume", "fork"]
    session: str = ""
    """Id or path of the session to resume or fork."""
    prompt: str = ""
    """What to send first."""
    draft: str = ""
    """Initial text of the editor."""
    images: tuple[ImageContent, ...] = ()
    """Images of the draft."""
    notice: str = ""
    model: str = ""
    """The model the user chose, overriding flags and settings."""
    carried: Model | None = None
    """The model of the session that this one continues."""
    entry: str = ""
    """The last entry of a fork; empty for the whole session."""
    is_agreed: bool = False
    """Whether the extensions were asked already."""
    is_shown: bool = False
    """The screen shows its conversation already."""


FIRST = SessionSwitch("first")
