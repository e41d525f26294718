"""What `tau plugin` does: each function returns the lines to print."""

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from tau.base.errors import TauError, UsageError
from tau.base.files import make_private
from tau.base.text import clean_line, quantity
from tau.config.paths import Paths, project_folders
from tau.ext.plugins.doctor import check_code
from tau.ext.plugins.fetch import PluginSource, fetch, parse_source
from tau.ext.plugins.manifest import PluginManifest, check_manifest, read_manifest, valid_name
from tau.ext.plugins.marketplace import MANIFEST, Marketplace, Marketplaces, plugin_source, read_marketplace
from tau.ext.plugins.packages import PackageStore
from tau.ext.plugins.plugin_settings import PluginSettings
from tau.ext.plugins.store import PluginRecord, PluginStore, Scope, content_hash, describe

NEXT = "It is loaded with the next session."
Allows = Callable[[PluginManifest], bool]


class PluginOffer(Struct, frozen=True, kw_only=True):
    """A plugin before it is installed; of a package, only the name is known."""

    source: PluginSource
    typed: str
    manifest: PluginManifest | None = None
    folder: Path | None = None
    commit: str = ""


class Plugins:
    """The plugins of a user and a project."""

    def __init__(self, paths: Paths, cwd: Path, scope: Scope = "user") -> None:
        self.paths, self.cwd = paths, cwd
        folder = paths.home if scope == "user" else list(project_folders(cwd))[-1] / ".tau"
        self.store = PluginStore(folder / "plugins")
        self.markets = Marketplaces(paths.home)
        self.packages = PackageStore(paths.home / "python")

    def records(self) -> list[PluginRecord]:
        return [*self.store.records(), *self.packages.records()]

    @contextmanager
    def offer(self, text: str) -> Iterator[PluginOffer]:
        """What would be installed, fetched once: just what is shown gets installed."""
        source = self._source(text)
        if source.kind == "folder" and not source.name:
            text = source.text  # the same folder when it is updated from elsewhere
        if source.kind in ("package", "wheel"):
            yield PluginOffer(source=source, typed=text)
            return
        with tempfile.TemporaryDirectory(prefix="tau-plugin-") as stage:
            folder, commit = asyncio.run(fetch(source, Path(stage)))
            manifest = read_manifest(folder, shown=text)
            yield PluginOffer(source=source, typed=text, manifest=manifest, folder=folder, commit=commit)

    def accept(self, offer: PluginOffer) -> list[str]:
        if offer.folder is None:
            record = self.packages.install(offer.source.text)
            return [f"Installed {record.name} {record.version}. {NEXT}"]
        record = self.store.install(offer.folder, offer.typed, commit=offer.commit, name=offer.source.name)
        return [f"Installed {record.name} {record.version}".rstrip() + f". {NEXT}"]

    def install(self, text: str) -> list[str]:
        with self.offer(text) as offer:
            return self.accept(offer)

    def update(self, names: Sequence[str], allows: Allows = lambda new: True) -> list[str]:
        """Fetch again and compare contents, whatever the versions say.

        `allows` is asked about a plugin that would run more than before.
        """
        lines = []
        for record in self.store.records():
            if (names and record.name not in names) or record.kind == "link":
                continue
            with self.offer(record.source) as offer:
                if offer.folder is None or offer.manifest is None:
                    continue
                if content_hash(offer.folder) == record.hash:
                    lines.append(f"{record.name} is up to date.")
                    continue
                before = read_manifest(self.store.path(record)).runs
                if set(offer.manifest.runs) - set(before) and not allows(offer.manifest):
                    lines.append(f"{record.name} was not updated: it would run more than before.")
                    continue
                new = self.store.install(offer.folder, record.source, commit=offer.commit, name=record.name)
            lines.append(
                f"Updated {new.name} to {new.version} {(new.commit or new.hash)[:12]}.".replace("  ", " ")
            )
        versions = {one.name: one.version for one in self.packages.records()}
        if any(not names or name in names for name in versions):
            self.packages.update()  # all, since their versions have to fit
            for one in self.packages.records():
                is_new = one.version != versions[one.name]
                lines.append(
                    f"Updated {one.name} to {one.version}." if is_new else f"{one.name} is up to date."
                )
        missing = [name for name in names if not any(name in line for line in lines)]
        if missing:
            raise TauError(f'There is no plugin "{missing[0]}" to update; see tau plugin list.')
        return lines or ["There is nothing to update."]

    def remove(self, name: str) -> list[str]:
        if self.packages.get(name) is not None:
            self.packages.remove(name)
        else:
            self.store.remove(name)
        return [f"Removed {name}."]

    def link(self, text: str) -> list[str]:
        source = parse_source(text, self.cwd)
        manifest = read_manifest(Path(source.text))
        self.store.link(Path(source.text), manifest.name)
        return [f"Linked {manifest.name} to {source.text}. {NEXT}"]

    def set_enabled(self, name: str, *, enabled: bool) -> list[str]:
        if self.packages.get(name) is not None:
            switch = f"tau extensions {'enable' if enabled else 'disable'} extension-module:NAME"
            raise TauError(f"{name} is a Python package; turn its extensions on and off with {switch}.")
        self.store.set_enabled(name, enabled=enabled)
        return [f"{name} is {'on' if enabled else 'off'} from the next session."]

    def show(self, name: str) -> list[str]:
        if (package := self.packages.get(name)) is not None:
            facts = {"source": package.source, "path": str(self.packages.link)}
            return [
                f"{package.name} {package.version}",
                "  runs Python, in tau's own process",
                *_listed(facts),
            ]
        record = self.store.get(name)
        lines = describe(read_manifest(self.store.path(record)))
        facts = {
            "source": record.source,
            "commit": record.commit,
            "hash": record.hash,
            "path": str(self.store.path(record)),
        }
        return [*lines, *_listed(facts)]

    def config(self, name: str, key: str = "", value: str | None = None, *, reset: bool = False) -> list[str]:
        """Show or change the settings of a plugin. Raises TauError."""
        record = self.store.get(name)
        settings = PluginSettings(self.paths.home, self.store.path(record), name)
        if not key:
            return settings.lines()
        if value is not None or reset:
            settings.change(key, value)
        return [line for line in settings.lines() if line.startswith(f"{key} =")] or settings.lines()

    def validate(self, text: str) -> list[str]:
        """The faults of a plugin or marketplace in a folder; empty if there are none."""
        folder = Path(parse_source(text, self.cwd).text)
        if (folder / MANIFEST).is_file() and not (folder / ".claude-plugin/plugin.json").is_file():
            name, rows = read_marketplace(folder)
            market = Marketplace(name=name, source=text, folder=str(folder))
            return [problem for row in rows for problem in _check_row(market, row["name"])]
        return check_manifest(folder)

    def doctor(self) -> list[str]:
        """Problems of installed plugins, found without running them."""
        lines = []
        for record in self.store.records():
            path = self.store.path(record)
            problems = [*check_manifest(path), *check_code(path)]
            if record.kind == "copy" and content_hash(path) != record.hash:
                problems.append("Its files were changed after it was installed; update or install it again.")
            lines += [f"{record.name}: {problem}" for problem in problems]
        return lines

    def marketplace(self, words: Sequence[str]) -> list[str]:
        """What `tau plugin marketplace` and /marketplace do. Raises TauError."""
        match words:
            case () | ("list",):
                return self.marketplaces()
            case ("add", place):
                return self.add_marketplace(place)
            case ("remove", name):
                self.markets.remove(name)
                return [f"Removed the marketplace {name}; its plugins stay."]
        raise UsageError("Usage: marketplace [list|add FOLDER|URL|remove NAME].")

    def add_marketplace(self, text: str) -> list[str]:
        source = parse_source(text, self.cwd)
        if source.kind == "folder":
            name, rows = read_marketplace(Path(source.text))
            text = source.text
            market = Marketplace(name=name, source=text, folder=text)
        elif source.kind == "git":
            with tempfile.TemporaryDirectory(prefix="tau-marketplace-") as stage:
                folder, commit = asyncio.run(fetch(source, Path(stage)))
                name, rows = read_marketplace(folder)
                self.markets.check(name, text)
                target = self.markets.folder / valid_name(name)
                make_private(self.markets.folder)
                shutil.rmtree(target, ignore_errors=True)
                shutil.copytree(folder, target, symlinks=True)
            market = Marketplace(name=name, source=text, folder=str(target), commit=commit)
        else:
            raise TauError(f'"{text}" is neither a folder nor a git repository.')
        self.markets.check(market.name, text)
        self.markets.save(market)
        size = quantity(len(rows), "plugin")
        return [f"Added {market.name}: {size}. Install one: tau plugin install NAME@{market.name}"]

    def marketplaces(self) -> list[str]:
        lines = []
        for market in self.markets.all():
            _, rows = read_marketplace(Path(market.folder))
            lines.append(f"{market.name} ({market.source})")
            told = (clean_line(f"{row['name']}: {row.get('description', '')}") for row in rows)
            lines += [f"  {text}".rstrip(": ") for text in told]
        return lines or ["There are no marketplaces; add one with tau plugin marketplace add FOLDER|URL."]

    def _source(self, text: str) -> PluginSource:
        source = parse_source(text, self.cwd)
        if source.kind != "marketplace":
            return source
        return plugin_source(self.markets.get(source.text), source.name)


def _listed(facts: dict[str, str]) -> list[str]:
    return [f"  {key}: {value}" for key, value in facts.items() if value]


def _check_row(market: Marketplace, name: str) -> list[str]:
    try:
        source = plugin_source(market, name)
    except TauError as error:
        return [str(error)]
    if source.kind != "folder":
        return []
    return [f"{name}: {problem}" for problem in check_manifest(Path(source.text, source.folder))]
