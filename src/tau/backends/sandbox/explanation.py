"""What a sandbox would let commands do, in words: each path that differs from the rest, and why."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from tau.backends.sandbox.git_guard import GitGuard
from tau.backends.sandbox.mounts import GuardedFiles, Mount, find_mount, plan_mounts
from tau.backends.sandbox.policy import SandboxPolicy, make_policy, real_folder
from tau.backends.sandbox.session import SandboxOptions
from tau.base.files import temporary_folder

Access = Literal["read-only", "writable", "hidden"]
_ACCESS: dict[str, Access] = {
    "read": "read-only",
    "write": "writable",
    "cover": "writable",
    "hide": "hidden",
    "mask": "hidden",
}


class PathAccess(Struct, frozen=True, rename="camel"):
    path: Path
    access: Access
    reason: str


class SandboxExplanation(Struct, frozen=True, kw_only=True, rename="camel"):
    """`paths` are those that differ from the rest, which is read-only."""

    network: str
    paths: tuple[PathAccess, ...]
    all_repositories_found: bool


def explain(options: SandboxOptions) -> SandboxExplanation:
    """Describe the sandbox of a folder without starting it."""
    policy = make_policy(
        options.roots,
        options.rules,
        temporary=temporary_folder() / "tau-PRIVATE",
        caches=options.caches,
        private=options.private,
        protected=options.protected,
    )
    guard = GitGuard(policy.roots)
    repositories = guard.find()
    mounts = plan_mounts(policy, (*repositories, guard.agents))
    return SandboxExplanation(
        network=policy.network,
        paths=tuple(
            PathAccess(
                mount.target,
                _ACCESS[mount.kind],
                _agent_reason(mount, guard.agents) or _reason(mount, policy, repositories, options),
            )
            for mount in mounts
        ),
        all_repositories_found=guard.is_complete,
    )


def explain_path(path: Path, explanation: SandboxExplanation) -> PathAccess:
    """What commands can do with one path."""
    real = real_folder(path)
    mounts = [Mount("read", one.path, one.path) for one in explanation.paths]
    mount = find_mount(real, mounts)
    if mount is None:
        return PathAccess(real, "read-only", "everything is, unless listed")
    found = next(one for one in explanation.paths if one.path == mount.target)
    later = "" if os.path.lexists(real) else "; if it is a credential, it is hidden once it exists"
    return PathAccess(real, found.access, f"{found.reason} ({found.path}){later}")


def _agent_reason(mount: Mount, agents: GuardedFiles) -> str:
    if mount.target in agents.guarded:
        return "it says what agents may do and run"
    return "a folder of an agent, which cannot be moved away" if mount.target in agents.folders else ""


def _reason(
    mount: Mount, policy: SandboxPolicy, repositories: Sequence[GuardedFiles], options: SandboxOptions
) -> str:
    target = mount.target
    if any(target in files.guarded for files in repositories):
        return "Git runs programs that it names"
    if any(target in files.folders for files in repositories):
        return "a Git folder, which cannot be moved away"
    if mount.kind == "read" and mount.source != target:
        return "a copy without passwords"
    if target in policy.protected:
        return "it runs when you log in, open a shell or start tau"
    if target in policy.roots:
        return "the workspace"
    if target in policy.write:
        return "sandbox.write"
    if target in (real_folder(path) for path in options.private):
        return "credentials of tau"
    if target in policy.hidden:
        return "credentials or sockets, or sandbox.hide"
    if target in policy.masked:
        return "a socket of another program"
    if target in policy.sockets:
        return "sandbox.sockets"
    if any(target == folder for folder, _ in policy.caches):
        return f"a cache of this workspace only, kept in {options.caches}"
    if mount.kind == "cover":
        return "private temporary files, removed with the session"
    return "programs need it"
