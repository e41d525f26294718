"""Names of repositories, pull requests and runs, as people write them; the repository of a checkout."""

import os
import re
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from tau.base.errors import ToolError
from tau.base.git_dir import git_dir, read_start
from tau.base.sizes import KIB
from tau.base.text import clean_line, shortened
from tau.config.paths import repo_root

DEFAULT_HOST = "github.com"
MAX_CONFIG_BYTES = 256 * KIB
_PART = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*)|\.[A-Za-z0-9_-][A-Za-z0-9_.-]*")
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d{1,5})?")
_SECTION = re.compile(r'\s*\[\s*([\w.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]\s*(.*)')
_VALUE = re.compile(r"\s*([\w-]+)\s*=\s*(.*?)\s*")
_SCP = re.compile(r"(?:[^@/]+@)?([^:/]+):(?!//)/?(.+)")
_REMOTES = ("upstream", "github", "origin")  # in the order that gh prefers them


class RepositoryName(Struct, frozen=True):
    host: str
    owner: str
    name: str

    @property
    def slug(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def argument(self) -> str:
        """For `gh --repo`."""
        return f"{self.host}/{self.slug}"


class GithubUrl(Struct, frozen=True):
    """The address of an issue, a pull request or a run."""

    repository: RepositoryName
    number: int


def default_host() -> str:
    return os.environ.get("GH_HOST") or DEFAULT_HOST


def parse_repository(text: str) -> RepositoryName:
    """`OWNER/REPO`, `HOST/OWNER/REPO` or an address. Raises ToolError."""
    words = text.strip().removesuffix(".git")
    if "://" in words:
        words = words.partition("://")[2].strip("/")
    parts = words.split("/")
    host, *rest = parts if len(parts) == 3 else (default_host(), *parts)
    if len(rest) != 2 or not all(map(_PART.fullmatch, rest)) or not _HOST.fullmatch(host):
        raise ToolError(f'"{_quoted(text)}" is not a repository; write owner/repo.')
    return RepositoryName(host.lower(), *rest)


def parse_url(text: str, *kinds: str) -> GithubUrl | None:
    """`https://HOST/OWNER/REPO/KIND/NUMBER`, whatever follows; None for any other text."""
    kind = "|".join(kinds)
    pattern = rf"https://([^/\s]+)/([^/\s]+)/([^/\s]+)/(?:{kind})/(\d{{1,18}})(?:[/?#]\S*)?"
    found = re.fullmatch(pattern, text.strip())
    if found is None:
        return None
    host, owner, name, number = found.groups()
    return GithubUrl(parse_repository(f"{host}/{owner}/{name}"), int(number))


def check_word(name: str, text: str) -> str:
    """A branch, a number or a login that becomes an argument of a program. Raises ToolError."""
    if not text.strip() or text.startswith("-") or re.search(r"[\x00-\x1f\x7f]", text):
        raise ToolError(f'`{name}` cannot be "{_quoted(text)}".')
    return text


def _quoted(text: str) -> str:
    return shortened(clean_line(text), 100)


class GitSettings(Struct, frozen=True):
    """The repository's own git settings, by section, name and key, without includes."""

    values: dict[tuple[str, str, str], str]

    def get(self, section: str, name: str, key: str) -> str:
        return self.values.get((section, name, key.lower()), "")

    @property
    def remotes(self) -> list[str]:
        """The names, those that gh prefers first."""
        names = [name for section, name, key in self.values if section == "remote" and key == "url"]
        return sorted(names, key=lambda name: _REMOTES.index(name) if name in _REMOTES else len(_REMOTES))


def read_settings(cwd: Path) -> GitSettings:
    """Of the repository around a folder; empty if there is none."""
    root = repo_root(cwd)
    values: dict[tuple[str, str, str], str] = {}
    try:
        text = "" if root is None else read_start(git_dir(root).common / "config", MAX_CONFIG_BYTES)
    except OSError:
        text = ""
    section = name = ""
    for line in text.splitlines():
        rest = line
        if found := _SECTION.fullmatch(line):
            section, name = found[1].lower(), re.sub(r"\\(.)", r"\1", found[2] or "")
            rest = found[3]
        if found := _VALUE.fullmatch(rest):
            values[section, name, found[1].lower()] = re.sub(r"\\(.)", r"\1", found[2].strip('"'))
    return GitSettings(values)


def parse_remote(url: str) -> RepositoryName | None:
    """The repository behind the address of a remote."""
    if "://" in url:
        address = urlsplit(url)
        host, path = (address.hostname or "") + _port(address.scheme, address.netloc), address.path
    elif found := _SCP.fullmatch(url):
        host, path = found[1], found[2]
    else:
        return None
    try:
        return parse_repository(f"{host}/{path.strip('/')}")
    except ToolError:
        return None


def _port(scheme: str, netloc: str) -> str:
    found = re.search(r":(\d+)$", netloc)
    return f":{found[1]}" if found and scheme in ("http", "https") else ""


def checkout_repository(cwd: Path) -> RepositoryName | None:
    """What the remotes of a checkout say, without asking GitHub."""
    settings = read_settings(cwd)
    chosen = [name for name in settings.remotes if settings.get("remote", name, "gh-resolved") == "base"]
    for remote in (*chosen, *settings.remotes):
        if (found := parse_remote(settings.get("remote", remote, "url"))) is not None:
            return found
    return None


def checkout_host(cwd: Path) -> str:
    """Where gh looks for the repository of a folder."""
    found = checkout_repository(cwd)
    return default_host() if found is None or os.environ.get("GH_HOST") else found.host
