"""Installed plugins: one link per plugin to one copy; an update is a single rename of the link."""

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

from msgspec import DecodeError, Struct, json
from msgspec.structs import replace

from tau.base.clock import iso, now_ms
from tau.base.errors import TauError
from tau.base.files import locked, make_private, write_atomic
from tau.ext.plugins.manifest import PluginManifest, read_manifest

COPIES, DISABLED = ".copies", ".disabled"
LOCK = "plugins.lock.json"
IGNORED = frozenset((".git", "__pycache__", "node_modules", ".venv", ".pytest_cache"))
MAX_FILES, MAX_BYTES = 20_000, 500 << 20
MAX_SHOWN_CHARS = 2_000
Scope = Literal["user", "project"]


class PluginRecord(Struct, frozen=True, rename="camel", kw_only=True):
    """An installed plugin. `source` is what the user typed; `hash` is of its content."""

    name: str
    source: str
    kind: Literal["copy", "link", "package"] = "copy"
    version: str = ""
    commit: str = ""
    hash: str = ""
    installed_at: str = ""
    enabled: bool = True


class PluginStore:
    """The plugins of one scope, in `folder`. A copy is at `.copies/NAME-HASH`, its record beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._copies = folder / COPIES

    def records(self) -> list[PluginRecord]:
        """What the links say is installed; the lock only repeats it."""
        found = [
            *self._linked(self.folder, enabled=True),
            *self._linked(self.folder / DISABLED, enabled=False),
        ]
        return sorted(found, key=lambda one: one.name)

    def get(self, name: str) -> PluginRecord:
        """Raises TauError."""
        for record in self.records():
            if record.name == name:
                return record
        raise TauError(f'There is no plugin "{name}"; see tau plugin list.')

    def path(self, record: PluginRecord) -> Path:
        return (self.folder if record.enabled else self.folder / DISABLED) / record.name

    def install(self, staged: Path, source: str, *, commit: str = "", name: str = "") -> PluginRecord:
        """Copy a plugin in and put its link in place; an equal copy is left alone. Raises TauError."""
        manifest = read_manifest(staged)
        record = PluginRecord(
            name=name or manifest.name,
            source=source,
            version=manifest.version,
            commit=commit,
            hash=content_hash(staged),
            installed_at=iso(now_ms()),
        )
        make_private(self.folder)
        with locked(self.folder / "lock"):
            current = next((one for one in self.records() if one.name == record.name), None)
            if current is not None and current.kind == "link":
                raise TauError(f"{record.name} is linked to your own folder; remove it first.")
            target = self._copies / f"{record.name}-{record.hash[:16]}"
            if not target.exists():
                stage = self._copies / f".stage-{record.name}-{os.getpid()}"
                shutil.rmtree(stage, ignore_errors=True)
                shutil.copytree(staged, stage, symlinks=True, ignore=lambda _, names: IGNORED & set(names))
                stage.rename(target)
            write_atomic(_record_path(target), json.encode(record))
            is_enabled = current is None or current.enabled
            self._point(record.name, os.path.join(COPIES, target.name), enabled=is_enabled)  # noqa: PTH118
            self._clean()
        return replace(record, enabled=is_enabled)

    def link(self, folder: Path, name: str) -> PluginRecord:
        """Use the author's own folder, without a copy."""
        make_private(self.folder)
        with locked(self.folder / "lock"):
            self._point(name, str(folder.resolve()), enabled=True)
            self._write_lock()
        return self.get(name)

    def set_enabled(self, name: str, *, enabled: bool) -> None:
        """Move the link between the folder that is loaded and the one that is not: one rename."""
        record = self.get(name)
        if record.enabled == enabled:
            raise TauError(f"{name} is {'enabled' if enabled else 'disabled'} already.")
        with locked(self.folder / "lock"):
            make_private(self.folder / DISABLED)
            before, after = self.path(record), self.path(replace(record, enabled=enabled))
            text = os.readlink(before)  # noqa: PTH115
            if not os.path.isabs(text):  # noqa: PTH117
                inner = text.removeprefix("../")
                text = inner if enabled else os.path.join("..", inner)  # noqa: PTH118
            _replace_link(before, text, before.with_name(f".{name}.moving"))
            before.rename(after)
            self._write_lock()

    def remove(self, name: str) -> PluginRecord:
        record = self.get(name)
        with locked(self.folder / "lock"):
            self.path(record).unlink()
            self._clean()
        return record

    def _point(self, name: str, text: str, *, enabled: bool) -> None:
        place = (self.folder if enabled else self.folder / DISABLED) / name
        if place.exists() and not place.is_symlink():
            raise TauError(f"{place} is in the way: it was not installed by tau.")
        if not enabled and not os.path.isabs(text):  # noqa: PTH117
            text = os.path.join("..", text)  # noqa: PTH118
        _replace_link(place, text, place.with_name(f".{name}.new"))

    def _linked(self, folder: Path, *, enabled: bool) -> Iterator[PluginRecord]:
        try:
            entries = sorted(folder.iterdir())
        except OSError:
            return
        for entry in entries:
            if entry.name.startswith(".") or not entry.is_symlink():
                continue
            target = Path(os.path.realpath(entry))
            if target.parent.name == COPIES:
                with suppress(OSError, DecodeError):
                    record = json.decode(_record_path(target).read_bytes(), type=PluginRecord)
                    yield replace(record, enabled=enabled)
            else:
                yield PluginRecord(name=entry.name, source=str(target), kind="link", enabled=enabled)

    def _clean(self) -> None:
        """Drop copies that no link names, and write the lock."""
        used = {Path(os.path.realpath(self.path(one))).name for one in self.records()}
        for entry in self._copies.iterdir() if self._copies.is_dir() else ():
            if entry.is_dir() and entry.name not in used:
                shutil.rmtree(entry, ignore_errors=True)
                _record_path(entry).unlink(missing_ok=True)
        self._write_lock()

    def _write_lock(self) -> None:
        rows = {one.name: one for one in self.records()}
        data = json.format(json.encode({"version": 1, "plugins": rows}), indent=2)
        write_atomic(self.folder / LOCK, data)


def _record_path(copy: Path) -> Path:
    return copy.with_name(f"{copy.name}.json")


def _replace_link(place: Path, text: str, new: Path) -> None:
    new.unlink(missing_ok=True)
    new.symlink_to(text)
    new.replace(place)


def content_hash(folder: Path) -> str:
    """Of the names and contents of all files that count. Raises TauError if there are too many."""
    digest = hashlib.sha256()
    files = size = 0
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in IGNORED)
        linked = [name for name in folders if Path(base, name).is_symlink()]  # which are not walked into
        for name in sorted((*names, *linked)):
            path = Path(base, name)
            files += 1
            digest.update(f"{path.relative_to(folder)}\0".encode("utf-8", "surrogateescape"))
            if path.is_symlink():
                if not _stays_inside(path, folder):
                    raise TauError(f"The plugin has a link that leads out of its folder: {path.name}.")
                digest.update(os.readlink(path).encode("utf-8", "surrogateescape"))  # noqa: PTH115
                continue
            if not path.is_file():
                raise TauError(f"The plugin has something that is not a file: {path.name}.")
            data = path.read_bytes()
            size += len(data)
            if files > MAX_FILES or size > MAX_BYTES:
                raise TauError("The plugin is too large.")
            digest.update(f"{len(data)}\0".encode())
            digest.update(data)
    return digest.hexdigest()


def _stays_inside(link: Path, folder: Path) -> bool:
    """Whether a link leads to the same folder now and in a copy of it elsewhere."""
    depth = len(link.parent.relative_to(folder).parts)
    for part in link.readlink().parts:
        depth += -1 if part == ".." else 1
        if part == "/" or depth < 0:
            return False
    return Path(os.path.realpath(link)).is_relative_to(os.path.realpath(folder))


def describe(manifest: PluginManifest) -> list[str]:
    """What a plugin brings, and first of all what it runs."""
    lines = [
        f"{manifest.name} {manifest.version}".rstrip(),
        *([manifest.description] if manifest.description else []),
    ]
    lines += [f"  runs {_brief(text)}" for text in manifest.runs] or ["  runs nothing"]
    shown = [
        f"{len(names)} {kind if len(names) > 1 else kind.removesuffix('s')}"
        for kind, names in manifest.contents.items()
    ]
    return [*lines, f"  has {', '.join(shown) or 'nothing'}"]


def _brief(text: str) -> str:
    more = len(text) - MAX_SHOWN_CHARS
    return f"{text[:MAX_SHOWN_CHARS]} ... ({more:,} more characters)" if more > 0 else text
