"""A policy as Landlock rules, which can only grant: what is hidden is what no rule covers."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from tau.backends.sandbox.mounts import Mount
from tau.backends.sandbox.policy import SandboxPolicy

Rights = Literal["read", "write", "list"]
MAX_RULES = 4000


class AccessRule(Struct, frozen=True):
    """`read` includes execution; `write` includes reading; `list` is only the names in a folder."""

    path: Path
    rights: Rights


def plan_access(policy: SandboxPolicy, mounts: Sequence[Mount]) -> list[AccessRule]:
    """Grant reading of everything but the hidden paths, and writing of the writable ones.

    A folder above a hidden path is not granted itself, only its other entries, one by one.
    """
    hidden = {Path("/dev")}  # the guest grants single devices
    hidden |= {mount.target for mount in mounts if mount.kind in ("hide", "mask")}
    hidden |= {mount.target for mount in mounts if mount.kind == "cover" and mount.source != mount.target}
    hidden |= {mount.target for mount in mounts if mount.kind == "read" and mount.source != mount.target}
    kept = {mount.source for mount in mounts if mount.kind in ("read", "write")}
    kept |= {mount.source for mount in mounts if mount.kind == "cover"}
    above = {folder for path in hidden for folder in path.parents}
    rules = list(_grant(Path("/"), "read", hidden, above))
    for path in sorted(kept):
        if any(outer == path or outer in path.parents for outer in hidden):
            rules += _grant(path, "read", hidden - {path}, above)
    kept_from = hidden | set(policy.protected)
    above |= {folder for path in policy.protected for folder in path.parents}
    for mount in mounts:
        if mount.kind in ("write", "cover"):
            rules += _grant(mount.source, "write", kept_from - {mount.source}, above)
    return list(dict.fromkeys(rules))[:MAX_RULES]


def _grant(path: Path, rights: Rights, hidden: set[Path], above: set[Path]) -> Iterable[AccessRule]:
    if path in hidden:
        return
    if path not in above:
        yield AccessRule(path, rights)
        return
    yield AccessRule(path, "list")
    try:
        entries = sorted(entry.path for entry in os.scandir(path) if not entry.is_symlink())
    except OSError:
        return
    for entry in entries:
        yield from _grant(Path(entry), rights, hidden, above)
