"""What a sandbox lets commands see, write and reach."""

import os
import pwd
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Literal

from msgspec import Struct

from tau.backends.sandbox.redacted_files import ShownFile, copy_settings
from tau.base.files import make_private, mode_of, typed_path
from tau.base.hard_links import other_names
from tau.config.paths import credential_files

Network = Literal["off", "list", "on"]

PACKAGE_REGISTRIES = "registries"  # among hosts: all of the default list
MAX_SOCKETS = 100  # masks of sockets outside the workspace; each takes a third of a millisecond
MAX_HIDDEN_ENTRIES = 100  # of a hidden folder are looked for under other names
TEMPORARY = ("/tmp", "/var/tmp")
# Where credentials and other people's sockets are. `~` is the home folder.
HIDDEN = (
    *("~/.ssh", "~/.aws", "~/.gnupg", "~/.azure", "~/.kube", "~/.docker", "~/.oci", "~/.config/gcloud"),
    *("~/.netrc", "~/.git-credentials", "~/.config/git/credentials", "~/.pypirc", "~/.vault-token"),
    *("~/.config/gh", "~/.config/glab-cli", "~/.config/hub", "~/.config/op", "~/.config/doctl"),
    *("~/.password-store", "~/.local/share/keyrings", "~/.local/share/kwalletd", "~/.pki"),
    *("~/.mozilla", "~/.thunderbird", "~/.config/google-chrome", "~/.config/chromium"),
    *("~/.config/BraveSoftware", "~/.config/microsoft-edge", "~/.config/vivaldi", "~/.config/opera"),
    *("~/.var/app", "~/snap", "~/.cargo/credentials", "~/.cargo/credentials.toml"),
    *("~/.terraform.d/credentials.tfrc.json", "~/.gem/credentials", "~/.m2/settings-security.xml"),
    *("~/.claude/.credentials.json", "~/.codex/auth.json", "~/.gemini/oauth_creds.json"),
    *("~/.pi/agent/auth.json", "~/.omp/agent/auth.json", "~/.config/containers/auth.json", "~/_netrc"),
    *("~/.pgpass", "~/.my.cnf", "~/.mylogin.cnf", "~/.config/Bitwarden", "/etc/krb5.keytab", "~/.kaggle"),
    *("~/.s3cfg", "~/.boto", "~/.config/rclone", "~/.databrickscfg", "~/.huggingface", "~/.config/hcloud"),
    *("~/.config/pypoetry/auth.toml", "~/.local/share/uv/credentials", "~/.config/composer/auth.json"),
    *("~/.composer/auth.json", "~/.sbt/.credentials", "~/.ivy2/.credentials", "~/.config/configstore"),
    *("~/.config/age", "~/.config/sops", "~/.netlify", "~/.config/netlify", "~/.config/heroku", "~/.fly"),
    *("/run", "/var/run", "/root/.ssh", "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d"),
)
# What runs when the user logs in or opens a shell, an editor or Git: never writable.
STARTUP_FILES = (
    *("~/.bashrc", "~/.bash_profile", "~/.bash_login", "~/.bash_logout", "~/.bash_aliases", "~/.profile"),
    *("~/.zshrc", "~/.zshenv", "~/.zprofile", "~/.zlogin", "~/.inputrc", "~/.xprofile", "~/.pam_environment"),
    *("~/.config", "~/.local", "~/.gitconfig", "~/.vimrc", "~/.vim", "~/.emacs", "~/.emacs.d", "~/.npmrc"),
    *("~/.cargo", "~/.rustup", "~/.pyenv", "~/.nvm", "~/.oh-my-zsh", "~/.tmux.conf", "~/bin"),
)
# Caches that commands write to: each workspace has its own, mounted over the user's.
CACHES = ("~/.cache", "~/.npm", "~/.cargo/registry", "~/go/pkg")
CACHE_VARIABLE = "XDG_CACHE_HOME"
# Where programs find a cache that cannot be mounted over the user's, by the name of its folder.
CACHE_VARIABLES = {"cache": CACHE_VARIABLE, "npm": "npm_config_cache", "pkg": "GOMODCACHE"}


class SandboxRules(Struct, frozen=True, kw_only=True):
    """What the user's settings say: more to write or hide, sockets to reach, where to connect."""

    network: Network = "list"
    hosts: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()
    sockets: tuple[str, ...] = ()
    show: tuple[str, ...] = ()  # files in hidden folders


class SandboxPolicy(Struct, frozen=True, kw_only=True):
    """Real paths that exist. Everything else can be read and not written."""

    roots: tuple[Path, ...]  # the workspace
    write: tuple[Path, ...] = ()  # other writable paths
    hidden: tuple[Path, ...] = ()
    missing: tuple[str, ...] = ()  # would be hidden if they existed; a link to nothing does not
    protected: tuple[Path, ...] = ()  # read-only even in a writable folder
    visible: tuple[Path, ...] = ()  # to be seen even where an outer folder is hidden
    sockets: tuple[Path, ...] = ()  # to be reached
    masked: tuple[Path, ...] = ()  # sockets outside the workspace that someone listens on
    caches: tuple[tuple[Path, Path], ...] = ()  # a folder, and ours that takes its place
    shown: tuple[ShownFile, ...] = ()  # settings files that have passwords, and copies without them
    temporary: Path  # a private folder, in place of /tmp
    network: Network = "off"
    hosts: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    unmasked: int = 0  # listening sockets beyond the limit


def make_policy(
    roots: Sequence[Path],
    rules: SandboxRules,
    *,
    temporary: Path,
    caches: Path,
    private: Iterable[Path] = (),
    protected: Iterable[Path] = (),
    environ: Mapping[str, str] = os.environ,
) -> SandboxPolicy:
    """Apply the rules to this machine as it is now. `private` are files of tau to hide, `protected` to keep.

    Folders below `caches` replace the user's caches; they are created.
    """
    home, account_home = homes(environ)
    inside = _real(roots)
    # With another HOME, credentials are still where the user's account says.
    hidden = (
        *_expand(HIDDEN, home),
        *_expand(HIDDEN, account_home),
        *_in_config_folder(HIDDEN, environ),
        *_expand(rules.hide, home),
        *map(str, (*_named_credentials(inside, environ), *private)),
    )
    sockets = _real(_expand(rules.sockets, home))
    visible = _real((*_needed(home, environ), *_expand(rules.show, home)))
    private_places = [Path("/run"), *map(Path, TEMPORARY)]
    listening = [
        path
        for path in _listening_sockets()
        if path not in sockets
        and not is_within(path, inside)
        and (is_within(path, visible) or not is_within(path, private_places))
    ]
    mounted, env = _caches(caches, home, environ)
    copies = (copy_settings(each, caches / "settings", environ) for each in (home, account_home))
    shown = {file.path: file for files in copies for file in files}
    write = _real(_expand(rules.write, home))
    concealed = _real(hidden)
    if not is_within(home, (*inside, *write)):
        # Settings that are links into the workspace are what commands work on: a copy would be committed.
        shown = {path: file for path, file in shown.items() if not is_within(path, (*inside, *write))}
    return SandboxPolicy(
        roots=inside,
        write=write,
        hidden=(*concealed, *_other_names(concealed, (*inside, *write))),
        missing=tuple(name for name in dict.fromkeys(hidden) if not os.access(name, os.F_OK)),
        protected=_protected((*_expand(STARTUP_FILES, home), *protected), (*inside, *write)),
        visible=visible,
        sockets=sockets,
        masked=tuple(listening[:MAX_SOCKETS]),
        caches=mounted,
        shown=tuple(shown.values()),
        temporary=real_folder(temporary),
        network=rules.network,
        hosts=rules.hosts,
        env={"TMPDIR": str(temporary), **env},
        unmasked=len(listening[MAX_SOCKETS:]),
    )


def _named_credentials(roots: Sequence[Path], environ: Mapping[str, str]) -> list[Path]:
    """Credentials that variables name, unless they are in the workspace or contain it."""
    named = credential_files(environ)
    return [path for path in named if not any(is_within(path, [r]) or is_within(r, [path]) for r in roots)]


def _other_names(hidden: Sequence[Path], writable: Sequence[Path]) -> list[Path]:
    """Names in the workspace of files that are hidden, or are in a hidden folder."""
    files = [str(path) for path in hidden]
    for folder in hidden:
        with suppress(OSError), os.scandir(folder) as entries:
            files += [entry.path for entry in islice(entries, MAX_HIDDEN_ENTRIES)]
    return [Path(name) for name in other_names(files, [str(path) for path in writable])]


def _protected(paths: Iterable[Path | str], writable: Sequence[Path]) -> tuple[Path, ...]:
    """Those that would be writable; a folder that contains a writable one is not among them."""
    return tuple(path for path in _real(paths) if is_within(path, writable) and path not in writable)


def cache_variables(policy: SandboxPolicy) -> dict[str, str]:
    """Variables that name the caches and copied settings, for an engine without mounts.

    tmux looks for its sockets in /tmp even if there is a TMPDIR.
    """
    found: list[tuple[str | None, Path]] = [("TMUX_TMPDIR", policy.temporary)]
    found += [(CACHE_VARIABLES.get(own.name), own) for _, own in policy.caches]
    found += [(file.variable, file.copy) for file in policy.shown]
    return {name: str(own) for name, own in found if name}


def startup_files() -> tuple[Path, ...]:
    """The home folder, and what in it runs when the user logs in or opens a program."""
    home = real_folder(Path.home())
    return (home, *_real(_expand(STARTUP_FILES, home)))


def homes(environ: Mapping[str, str] = os.environ) -> tuple[Path, Path]:
    """The home folder, and that of the user's account, which may be another one."""
    home = real_folder(Path(environ.get("HOME") or "~").expanduser())
    return home, _account_home(home)


def real_folder(path: Path) -> Path:
    return Path(os.path.realpath(path))


def is_within(path: Path, folders: Iterable[Path]) -> bool:
    name = f"{path}/"
    return any(name.startswith(f"{str(folder).rstrip('/')}/") for folder in folders)


def _real(paths: Iterable[Path | str]) -> tuple[Path, ...]:
    """The real paths of those that exist, once each."""
    found = dict.fromkeys(os.path.realpath(path) for path in paths if os.path.lexists(path))
    return tuple(Path(name) for name in found if os.path.lexists(name) and name != "/")


def _account_home(default: Path) -> Path:
    try:
        return real_folder(Path(pwd.getpwuid(os.getuid()).pw_dir))
    except (KeyError, OSError):
        return default


def _expand(names: Iterable[str], home: Path) -> list[str]:
    """Names rather than paths: there are two hundred, and few exist."""
    start = str(home).rstrip("/")
    return [start + name[1:] if name.startswith("~/") else str(typed_path(name)) for name in names]


def _in_config_folder(names: Iterable[str], environ: Mapping[str, str]) -> list[str]:
    """What is in ~/.config by default, where XDG_CONFIG_HOME says that it is."""
    folder, default = environ.get("XDG_CONFIG_HOME", ""), "~/.config/"
    found = (name.removeprefix(default) for name in names if name.startswith(default))
    return [f"{folder}/{name}" for name in found] if folder.startswith("/") else []


def _needed(home: Path, environ: Mapping[str, str]) -> list[Path | str]:
    """What programs need even where it is below a hidden folder: home, programs, name servers, Python."""
    programs = [folder for folder in os.get_exec_path(environ) if folder.startswith("/")]
    own = Path(__file__).parents[2]
    return [home, *programs, sys.prefix, sys.base_prefix, own, "/etc/resolv.conf"]


def _caches(
    folder: Path, home: Path, environ: Mapping[str, str]
) -> tuple[tuple[tuple[Path, Path], ...], dict[str, str]]:
    """Folders to mount over the user's caches, and variables for one that does not exist."""
    mounted = []
    env = {}
    named = environ.get(CACHE_VARIABLE, "")
    wanted = [Path(named) if named.startswith("/") else home / CACHES[0][2:]]
    for path in (*wanted, *map(Path, _expand(CACHES[1:], home))):
        own = folder / ("cache" if path == wanted[0] else path.name.lstrip("."))
        if stat.S_ISDIR(mode_of(path)):
            make_private(own)
            mounted.append((real_folder(path), own))
        elif path == wanted[0]:
            make_private(own)
            mounted.append((real_folder(own), own))
            env[CACHE_VARIABLE] = str(own)
    return tuple(mounted), env


def _listening_sockets() -> list[Path]:
    """Socket files that processes of this network namespace listen on."""
    try:
        lines = Path("/proc/net/unix").read_text(errors="surrogateescape").splitlines()[1:]
    except OSError:
        return []
    found: dict[Path, None] = {}
    for line in lines:
        fields = line.split(None, 7)
        if len(fields) == 8 and fields[7].startswith("/"):
            path = Path(os.path.realpath(fields[7]))
            if stat.S_ISSOCK(mode_of(path)):  # one that we cannot access cannot be reached either
                found[path] = None
    return list(found)
