"""Where keys, passwords and sessions are kept: reading there needs approval in every mode that can ask."""

import os
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from tau.base.errors import ConfigError
from tau.coding.files.paths import real
from tau.config.paths import credential_files, user_paths

MAX_PATH_CHARS = 4096  # no system opens a longer one
# Below a home folder. What is below one of these belongs to it.
STORES = (
    *(".ssh", ".aws", ".azure", ".gnupg", ".kube", ".password-store", ".pki", ".netrc", "_netrc"),
    *(".git-credentials", ".config/git/credentials", ".config/gh", ".config/gcloud", ".config/hub"),
    *(".docker/config.json", ".config/containers/auth.json", ".npmrc", ".yarnrc.yml", ".pypirc"),
    *(".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".terraform.d", ".vault-token"),
    *(".claude/.credentials.json", ".codex/auth.json", ".pi/agent/auth.json", ".omp/agent/auth.json"),
    *(".local/share/keyrings", ".local/share/kwalletd", ".config/op", ".config/Bitwarden", ".pgpass"),
    *(".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware"),
    *(".config/microsoft-edge", ".config/vivaldi", ".config/opera", ".var/app/org.mozilla.firefox"),
    *("snap/firefox", "snap/chromium", "Library/Keychains", "Library/Cookies"),
    *("Library/Application Support/Google/Chrome", "Library/Application Support/Firefox"),
    *("Library/Application Support/BraveSoftware", "Library/Safari"),
    *(".m2/settings.xml", ".gradle/gradle.properties", ".config/pip/pip.conf", ".pip/pip.conf", ".my.cnf"),
    *(".mylogin.cnf", ".s3cfg", ".boto", ".config/rclone", ".databrickscfg", ".huggingface", ".kaggle"),
    *(".config/pypoetry/auth.toml", ".local/share/uv/credentials", ".config/composer/auth.json"),
    *(".composer/auth.json", ".sbt/.credentials", ".ivy2/.credentials", ".config/configstore", ".netlify"),
    *(".config/age", ".config/sops", ".config/netlify", ".config/heroku", ".fly", ".config/hcloud"),
    *(".oci", ".config/glab-cli", ".config/doctl", ".m2/settings-security.xml", ".gemini/oauth_creds.json"),
)
_FOLDED = tuple(store.casefold() for store in STORES)
_PARENTS = ("/home/", "/Users/")  # of home folders
_SYSTEM = ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/krb5.keytab")
# The variables of a process may be keys, and its memory holds them.
_PROCESS_FILES = r"/proc/[^/]+(?:/task/[^/]+)?/(?:environ|mem)"


def is_credential_store(path: Path) -> bool:
    """Whether a path is in a credential store, by its name or by where it leads."""
    text = str(path)
    if len(text) > MAX_PATH_CHARS:
        return False
    return any(_is_store(each) for each in {os.path.normpath(text), str(real(path))})


def stores_below(folder: Path) -> tuple[Path, ...]:
    """The existing credential stores below a folder: reading all of the folder reads them too."""
    text = str(folder)
    if len(text) > MAX_PATH_CHARS or not os.path.isdir(text):  # noqa: PTH112 - quick
        return ()
    root = os.path.realpath(text)
    if _is_store(root):
        return ()
    start = f"{root.rstrip('/')}/"
    stores = (f"{home}{store}" for home in _homes(start) for store in STORES)
    places = (*stores, *_own_keys(), *map(str, credential_files()), *_SYSTEM)
    return tuple(Path(place) for place in places if place.startswith(start) and os.path.lexists(place))


def _is_store(text: str) -> bool:
    folded = text.casefold()
    own = (place.casefold() for place in _own_keys())
    if folded in _SYSTEM or folded in own or re.fullmatch(_PROCESS_FILES, text):
        return True
    if any(_starts_with(folded, [str(named).casefold()]) for named in credential_files()):
        return True
    below = (folded[len(home) :] for home in _homes_of(text) if folded.startswith(home.casefold()))
    return any(_starts_with(rest, _FOLDED) for rest in below)


def _starts_with(rest: str, stores: Iterable[str]) -> bool:
    return any(rest == store or rest.startswith(f"{store}/") for store in stores)


def _homes_of(text: str) -> set[str]:
    """The home folders that a path may be in, each with a slash: the user's own, root's, another user's."""
    homes = {*_own_homes(), "/root/"}
    parts = text.split("/", 3)
    if len(parts) == 4 and f"/{parts[1]}/".casefold() in ("/home/", "/users/"):
        homes.add(f"/{parts[1]}/{parts[2]}/")
    return homes


def _homes(start: str) -> set[str]:
    """The home folders below a folder, or around it."""
    homes = _homes_of(start)
    for parent in _PARENTS:
        if parent.startswith(start):
            homes.update(f"{parent}{name}/" for name in _names(parent))
    return homes


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - returns names, not paths
    except OSError:
        return []


def _own_homes() -> set[str]:
    return _home_spellings(os.environ.get("HOME") or "/")


@lru_cache(maxsize=8)
def _home_spellings(home: str) -> set[str]:
    return {f"{each.rstrip('/')}/" for each in (home, os.path.realpath(home))} - {"/"}


def _own_keys() -> tuple[str, ...]:
    """tau's own files that have keys in them."""
    return _keys_below(os.environ.get("HOME"), os.environ.get("TAU_HOME"))


@lru_cache(maxsize=8)
def _keys_below(home: str | None, tau_home: str | None) -> tuple[str, ...]:
    """By the variables that decide it, which only tests change."""
    try:
        paths = user_paths()
    except ConfigError:  # there is no home
        return ()
    own = (paths.auth, paths.models, paths.secrets, paths.serve_token)
    return tuple(os.path.realpath(path) for path in own)
