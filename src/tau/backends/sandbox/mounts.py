"""A policy as an ordered list of mounts, which bubblewrap and our own namespaces apply alike."""

import stat
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from tau.backends.sandbox.policy import TEMPORARY, SandboxPolicy
from tau.base.files import mode_of

# read, write: the path itself, or a copy to read instead; hide: an empty folder; mask: an empty file;
# cover: another folder, writable.
MountKind = Literal["read", "write", "hide", "mask", "cover"]


class Mount(Struct, frozen=True):
    kind: MountKind
    target: Path
    source: Path


class GuardedFiles(Struct, frozen=True, kw_only=True):
    """Of a repository or of agents: folders to be mounted, and files in them that name what runs."""

    folders: tuple[Path, ...]
    guarded: tuple[Path, ...]


def plan_mounts(policy: SandboxPolicy, guarded_files: Sequence[GuardedFiles] = ()) -> list[Mount]:
    """Return the mounts in order: an inner path comes after the outer one, and so wins.

    What an outer mount hides anyway is left out, and so is what needs no exception.
    """
    wanted = [Mount("read", path, path) for path in (*policy.visible, *policy.protected)]
    wanted += [Mount("cover", Path(folder), policy.temporary) for folder in TEMPORARY if _is_folder(folder)]
    wanted.append(Mount("cover", policy.temporary, policy.temporary))
    wanted += [Mount("cover", target, source) for target, source in policy.caches]
    wanted += [Mount("hide" if _is_folder(path) else "mask", path, path) for path in policy.hidden]
    wanted += [Mount("mask", path, path) for path in policy.masked]
    wanted += [Mount("read", file.path, file.copy) for file in policy.shown]
    wanted += [Mount("read", path, path) for path in policy.sockets]
    wanted += [Mount("write", path, path) for path in (*policy.roots, *policy.write)]
    for files in guarded_files:
        wanted += [Mount("write", path, path) for path in files.folders if not _is_closed(path, policy)]
    guarded = {path for files in guarded_files for path in files.guarded if not _is_closed(path, policy)}
    wanted += [Mount("read", path, path) for path in guarded]
    guarded |= set(policy.protected)
    best = {mount.target: mount for mount in wanted}  # of two for one path, the later one
    ordered = sorted(best.values(), key=_depth)
    placed: dict[Path, Mount] = {}
    for mount in ordered:
        outer = _outer(mount.target, placed)
        if mount.kind in ("hide", "mask") and _hides(outer):
            continue
        is_same = mount.source == mount.target
        if mount.kind == "read" and is_same and mount.target not in guarded and not _hides(outer):
            continue
        placed[mount.target] = mount
    return _with_pins(placed, {*policy.hidden, *policy.protected, *(file.path for file in policy.shown)})


def _with_pins(placed: dict[Path, Mount], closed: Collection[Path]) -> list[Mount]:
    """Mount the writable folders above closed paths too: a folder that is no mount could be moved.

    Its mounts would move with it, but the files would lose the names by which the next sandbox finds them.
    """
    pinned: dict[Path, Mount] = {}
    for target in placed.keys() & closed:
        for folder in target.parents:
            if folder in placed:
                break
            if (outer := _outer(folder, placed)) is not None and outer.kind == "write":
                pinned[folder] = Mount("write", folder, folder)
    return sorted((*placed.values(), *pinned.values()), key=_depth)


def _depth(mount: Mount) -> tuple[int, str]:
    return len(mount.target.parts), str(mount.target)


def _is_closed(path: Path, policy: SandboxPolicy) -> bool:
    """Whether a path is hidden, protected or covered, so that no repository may open it."""
    opened = {*policy.roots, *policy.write}
    closed = {*policy.hidden, *policy.masked, *policy.protected, *(target for target, _ in policy.caches)}
    return next(
        (folder not in opened for folder in (path, *path.parents) if folder in opened | closed), False
    )


def make_places(mounts: Sequence[Mount], temporary: Path) -> None:
    """Create, in our private folder in place of /tmp, the places where paths below /tmp are mounted."""
    for mount in mounts:
        outer = _outer(mount.target, {other.target: other for other in mounts if other is not mount})
        if outer is None or outer.kind != "cover":
            continue
        place = outer.source / mount.target.relative_to(outer.target)
        if _is_folder(mount.source):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        else:
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            place.touch(mode=0o600)


def find_mount(path: Path, mounts: Iterable[Mount]) -> Mount | None:
    """The mount that decides about a real path."""
    placed = {mount.target: mount for mount in mounts}
    return placed.get(path) or _outer(path, placed)


def _outer(path: Path, placed: dict[Path, Mount]) -> Mount | None:
    return next((placed[folder] for folder in path.parents if folder in placed), None)


def _hides(mount: Mount | None) -> bool:
    """Whether a mount shows other files than those that are at its place."""
    return mount is not None and mount.kind in ("hide", "cover")


def _is_folder(path: Path | str) -> bool:
    return stat.S_ISDIR(mode_of(Path(path)))
