"""Paths: the user's folder, the project's folder, the repository."""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from tau.base.errors import ConfigError, UsageError
from tau.base.files import mode_of, typed_path
from tau.base.late import late

hashlib = late("hashlib")

PROJECT_FOLDER = ".tau"
MAX_NAME_BYTES = 240  # of a file name: common file systems allow up to 255
SHOWN_FOLDER_CHARS = 50
# Variables that name the credential files of other programs.
CREDENTIAL_VARIABLES = (
    *("GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"),
    *("AWS_WEB_IDENTITY_TOKEN_FILE", "KUBECONFIG", "DOCKER_CONFIG", "GNUPGHOME", "NETRC", "PGPASSFILE"),
)


class Paths:
    """The user's files and folders, all under `home`. Folders are created when needed."""

    def __init__(self, home: Path) -> None:
        self.home: Final = home
        self.serve_token: Final = home / "serve_token"
        self.settings: Final = home / "settings.json"
        self.auth: Final = home / "auth.json"
        self.models: Final = home / "models.json"
        self.secrets: Final = home / "secrets.json"
        self.servers: Final = home / "servers.json"
        self.keybindings: Final = home / "keybindings.json"
        self.themes: Final = home / "themes"
        self.drafts: Final = home / "drafts"
        self.sessions: Final = home / "sessions"
        self.blobs: Final = home / "blobs"
        self.index: Final = home / "index.db"
        self.trash: Final = home / "trash"
        self.terminals: Final = home / "terminals"
        self.cache: Final = home / "cache"
        self.limits: Final = home / "cache" / "limits"
        self.guards: Final = home / "guards"
        self.project_rules: Final = home / "project_rules.json"
        self.logs: Final = home / "logs"


def user_paths(environ: Mapping[str, str] = os.environ) -> Paths:
    """The user's folder: `$TAU_HOME`, or `~/.tau/agent`."""
    named = environ.get("TAU_HOME", "").strip()
    home = typed_path(named or f"~/{PROJECT_FOLDER}/agent")
    if home.parts[0].startswith("~"):
        raise ConfigError("Cannot find your home folder; set HOME or TAU_HOME.")
    return Paths(home.absolute())


def credential_files(environ: Mapping[str, str] = os.environ) -> list[Path]:
    """Files and folders of credentials that variables name; real paths.

    A folder around the home folder is not one of credentials, whatever a variable says.
    """
    named = (environ.get(name, "").split(os.pathsep) for name in CREDENTIAL_VARIABLES if name in environ)
    paths = [typed_path(text) for texts in named for text in texts if text]
    if not paths:
        return []
    real = [Path(os.path.realpath(path)) for path in paths if path.is_absolute()]
    home = Path(os.path.realpath(environ.get("HOME") or "/"))
    return [path for path in real if path != home and path not in home.parents]


def current_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UsageError("The current folder no longer exists; change to another one.") from None


def repo_root(cwd: Path) -> Path | None:
    """The nearest folder from `cwd` up that has a `.git`, which is a file in a linked worktree."""
    cwd = cwd.absolute()
    for folder in (cwd, *cwd.parents):
        if os.path.exists(f"{folder}/.git"):  # noqa: PTH110 - a path per parent costs more than the call
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
        if stat.S_ISDIR(mode_of(found)) and not _belongs_to_user(found, paths):
            return found
    return None


def _belongs_to_user(folder: Path, paths: Paths) -> bool:
    own = (paths.home, paths.home.parent, typed_path("~") / PROJECT_FOLDER)
    return any(path.name == folder.name and path.exists() and path.samefile(folder) for path in own)


def folder_name(cwd: Path) -> str:
    """The name of a folder that holds what belongs to another: `/home/me/x` gives `--home-me-x--`."""
    text = str(cwd)
    for separator in ("/", "\\", ":"):
        text = text.lstrip(separator).replace(separator, "-")
    if len(os.fsencode(text)) > MAX_NAME_BYTES:
        digest = hashlib.sha256(os.fsencode(str(cwd))).hexdigest()
        text = f"{digest[:16]}-{text[-SHOWN_FOLDER_CHARS:]}"
    return f"--{text}--"
