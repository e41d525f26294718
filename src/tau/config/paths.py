"""Where things live: the user's folder, the project's folder, the repository."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from tau.base.errors import ConfigError

PROJECT_FOLDER = ".tau"


class Paths(Struct, frozen=True):
    """Everything that belongs to the user lies under `home`. Nothing is made before it is needed."""

    home: Path

    @property
    def settings(self) -> Path:
        return self.home / "settings.json"

    @property
    def auth(self) -> Path:
        return self.home / "auth.json"

    @property
    def models(self) -> Path:
        return self.home / "models.json"

    @property
    def keybindings(self) -> Path:
        return self.home / "keybindings.json"

    @property
    def sessions(self) -> Path:
        return self.home / "sessions"

    @property
    def logs(self) -> Path:
        return self.home / "logs"

    @property
    def artifacts(self) -> Path:
        """For output of runs that keep no session; a session has its artifacts beside its file."""
        return self.home / "artifacts"

    @property
    def cache(self) -> Path:
        return self.home / "cache"

    @property
    def prompts(self) -> Path:
        return self.home / "prompts"

    def make_home(self) -> Path:
        """The user's folder, made for its owner alone."""
        return self.make(self.home)

    def make(self, folder: Path) -> Path:
        """A folder under `home`, made with its parents; new ones are closed to others."""
        try:
            for missing in reversed([folder, *folder.parents]):
                if missing.is_relative_to(self.home):
                    missing.mkdir(mode=0o700, exist_ok=True)
                elif not missing.is_dir():
                    missing.mkdir(exist_ok=True)
        except OSError as error:
            raise ConfigError(f"This folder cannot be made: {error.strerror}.", path=folder) from error
        return folder


def user_paths(environ: Mapping[str, str] = os.environ) -> Paths:
    """The user's folder: `$TAU_HOME`, or `~/.tau/agent`."""
    named = environ.get("TAU_HOME", "").strip()
    home = Path(named).expanduser() if named else Path.home() / PROJECT_FOLDER / "agent"
    return Paths(home.absolute())


def repo_root(cwd: Path) -> Path | None:
    """The nearest folder from `cwd` upwards that holds a `.git`, which is a file in a linked work tree."""
    cwd = cwd.absolute()
    for folder in (cwd, *cwd.parents):
        if (folder / ".git").exists():
            return folder
    return None


def project_folders(cwd: Path) -> Iterator[Path]:
    """`cwd` and its parents up to the repository's root; `cwd` alone outside a repository."""
    cwd = cwd.absolute()
    root = repo_root(cwd) or cwd
    for folder in (cwd, *cwd.parents):
        yield folder
        if folder == root:
            return


def project_dir(cwd: Path, paths: Paths) -> Path | None:
    """The nearest `.tau` folder of the project. The user's own `.tau` is never a project's."""
    for folder in project_folders(cwd):
        found = folder / PROJECT_FOLDER
        if found.is_dir() and not _is_users(found, paths):
            return found
    return None


def _is_users(folder: Path, paths: Paths) -> bool:
    own = (paths.home, paths.home.parent, Path.home() / PROJECT_FOLDER)
    return any(path.name == folder.name and path.exists() and path.samefile(folder) for path in own)
