"""Marketplaces: lists of plugins in a folder or a git repository, in the form of Claude Code."""

import re
from pathlib import Path
from typing import Any

from msgspec import DecodeError, Struct, json

from tau.base.errors import TauError
from tau.base.files import make_private, write_atomic
from tau.base.text import clean_line
from tau.ext.plugins.fetch import PluginSource

MANIFEST = ".claude-plugin/marketplace.json"
_NAME = re.compile(r"[A-Za-z0-9_][\w.-]{0,99}", re.ASCII)
_OWNER_AND_NAME = re.compile(r"[\w.-]+/[\w.-]+")
"""Of a repository on GitHub."""
_NPM = re.compile(r"(@[a-z0-9_][\w.-]*/)?[A-Za-z0-9_][\w.-]*(@[\w.^~-]+)?", re.ASCII)


class Marketplace(Struct, frozen=True, rename="camel", kw_only=True):
    """`folder` is where it was fetched to; `source` what the user typed."""

    name: str
    source: str
    folder: str
    commit: str = ""


class Marketplaces:
    """The known ones, in `marketplaces.json`."""

    def __init__(self, home: Path) -> None:
        self._path = home / "marketplaces.json"
        self.folder = home / "marketplaces"

    def all(self) -> list[Marketplace]:
        try:
            return json.decode(self._path.read_bytes(), type=list[Marketplace])
        except FileNotFoundError:
            return []
        except DecodeError as error:
            raise TauError(f"{self._path} cannot be read: {error}") from error

    def get(self, name: str) -> Marketplace:
        for one in self.all():
            if one.name == name:
                return one
        raise TauError(f'There is no marketplace "{name}"; add one with tau plugin marketplace add.')

    def check(self, name: str, source: str) -> None:
        """Raises TauError if another marketplace has the name: its plugins would be updated from here."""
        if known := next((one for one in self.all() if one.name == name and one.source != source), None):
            raise TauError(
                f"{clean_line(source)} calls itself {name}, like the marketplace from {known.source}."
                f" Remove that one first: tau plugin marketplace remove {name}"
            )

    def save(self, market: Marketplace) -> None:
        rows = [*(one for one in self.all() if one.name != market.name), market]
        make_private(self._path.parent)
        write_atomic(self._path, json.format(json.encode(rows), indent=2))

    def remove(self, name: str) -> None:
        market = self.get(name)
        rows = [one for one in self.all() if one != market]
        write_atomic(self._path, json.format(json.encode(rows), indent=2))


def read_marketplace(folder: Path) -> tuple[str, list[dict[str, Any]]]:
    """Its name and plugins. Raises TauError."""
    path = folder / MANIFEST
    try:
        content = json.decode(path.read_bytes())
        name, plugins = content["name"], content["plugins"]
    except FileNotFoundError:
        raise TauError(f"{folder} is not a marketplace: it has no {MANIFEST}.") from None
    except (DecodeError, KeyError, TypeError, RecursionError) as error:
        raise TauError(f"{path} needs a name and a list of plugins: {error!r}") from error
    if not isinstance(name, str) or not isinstance(plugins, list):
        raise TauError(f"{path} needs a name and a list of plugins.")
    if not _NAME.fullmatch(name):
        raise TauError(f'{path}: the name "{clean_line(name)}" may have letters, digits, "-", "_" and ".".')
    return name, [row for row in plugins if isinstance(row, dict) and isinstance(row.get("name"), str)]


def plugin_source(market: Marketplace, name: str) -> PluginSource:
    """Where a plugin of a marketplace is. Raises TauError."""
    folder = Path(market.folder)
    _, rows = read_marketplace(folder)
    row = next((row for row in rows if row["name"] == name), None)
    if row is None:
        raise TauError(f"The marketplace {market.name} has no plugin {name}; it has {_names(rows)}.")
    source = row.get("source", f"./{name}")
    if isinstance(source, str):
        if not source.startswith("./"):
            raise TauError(f'{market.name}: the source "{source}" of {name} must start with "./".')
        return PluginSource(kind="folder", text=str(folder), folder=source, name=name)
    if not isinstance(source, dict):
        raise TauError(f"{market.name}: the source of {name} is neither a path nor an object.")
    fields = {key: str(source[key]) for key in ("ref", "sha") if source.get(key)}
    inner = str(source.get("path") or source.get("subdir") or "")
    match source.get("source"):
        case "github":
            url = f"https://github.com/{source.get('repo')}.git"
            return PluginSource(kind="git", text=url, folder=inner, name=name, **fields)
        case "git" | "url" | "git-subdir":
            url = str(source.get("url"))
            url = f"https://github.com/{url}.git" if _OWNER_AND_NAME.fullmatch(url) else url
            return PluginSource(kind="git", text=url, folder=inner, name=name, **fields)
        case "npm":
            version = f"@{source['version']}" if source.get("version") else ""
            package = f"{source.get('package')}{version}"
            if not _NPM.fullmatch(package):  # an address or an option could run programs
                raise TauError(f'{market.name}: "{clean_line(package)}" is not the name of an npm package.')
            return PluginSource(kind="npm", text=package, folder=inner, name=name)
        case other:
            raise TauError(f"{market.name}: tau does not know the source {other!r} of {name}.")


def _names(rows: list[dict[str, Any]]) -> str:
    return ", ".join(row["name"] for row in rows[:20]) or "none"
