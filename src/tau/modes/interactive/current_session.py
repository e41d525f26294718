"""The session on the screen, and state that exists without one."""

from pathlib import Path

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
    def busy(self) -> bool:
        return self.session is not None and self.session.busy

    @property
    def running(self) -> bool:
        """Whether a message sent now would steer a running agent."""
        return self.session is not None and self.session.activities.running

    def require(self) -> Session:
        """Raises TauError if there is none."""
        if self.session is None:
            raise TauError("The session is still opening; try again in a moment.")
        return self.session
