"""Paths: the user's folder, the project's folder, the repository."""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from tau.base.errors import ConfigError, UsageError
from tau.base.files import mode_of, typed_path

PROJECT_FOLDER = ".tau"


class Paths(Struct, frozen=True):
    """All user files are under `home`. Folders are created when needed."""

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
    def themes(self) -> Path:
        return self.home / "themes"

    @property
    def drafts(self) -> Path:
        return self.home / "drafts"

    @property
    def sessions(self) -> Path:
        return self.home / "sessions"

    @property
    def blobs(self) -> Path:
        return self.home / "blobs"

    @property
    def index(self) -> Path:
        return self.home / "index.db"

    @property
    def trash(self) -> Path:
        return self.home / "trash"

    @property
    def terminals(self) -> Path:
        return self.home / "terminals"

    @property
    def cache(self) -> Path:
        return self.home / "cache"

    @property
    def logs(self) -> Path:
        return self.home / "logs"


def user_paths(environ: Mapping[str, str] = os.environ) -> Paths:
    """The user's folder: `$TAU_HOME`, or `~/.tau/agent`."""
    named = environ.get("TAU_HOME", "").strip()
    home = typed_path(named or f"~/{PROJECT_FOLDER}/agent")
    if home.parts[0].startswith("~"):
        raise ConfigError("Cannot find your home folder; set HOME or TAU_HOME.")
    return Paths(home.absolute())


def current_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UsageError("The current folder no longer exists; change to another one.") from None


def repo_root(cwd: Path) -> Path | None:
    """The nearest folder from `cwd` up that has a `.git`, which is a file in a linked worktree."""
    cwd = cwd.absolute()
    for folder in (cwd, *cwd.parents):
        if mode_of(folder / ".git"):
            return folder
    return None


def project_folders(cwd: Path) -> Iterator[Path]:
    """`cwd` and its parents up to the repository root; only `cwd` outside a repository."""
    cwd = cwd.absolute()
    root = repo_root(cwd) or cwd
    for folder in (cwd, *cwd.parents):
        yield folder
        if folder == root:
            return


def project_dir(cwd: Path, paths: Paths) -> Path | None:
    """The project's nearest `.tau` folder. The user's `.tau` is never a project's."""
    for folder in project_folders(cwd):
        found = folder / PROJECT_FOLDER
        if stat.S_ISDIR(mode_of(found)) and not _is_users(found, paths):
            return found
    return None


def _is_users(folder: Path, paths: Paths) -> bool:
    own = (paths.home, paths.home.parent, typed_path("~") / PROJECT_FOLDER)
    return any(path.name == folder.name and path.exists() and path.samefile(folder) for path in own)
