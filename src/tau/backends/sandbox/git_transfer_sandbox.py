"""A sandbox for one Git transfer: the network and the user's keys, but only the repository is writable.

Git writes some of its files through links; here, links in a repository cannot lead it to other files.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from tau.backends.sandbox.engines import Engine, SandboxSpec
from tau.backends.sandbox.git_guard import GitGuard
from tau.backends.sandbox.mounts import Mount
from tau.backends.sandbox.policy import SandboxPolicy, real_folder
from tau.backends.sandbox.session import SandboxOptions, SessionSandbox
from tau.base.run import LocalRunner


def make_transfer_sandbox(
    folders: Sequence[Path], guarded: Sequence[Path], engine: str, runner: LocalRunner
) -> SessionSandbox:
    """`folders` are those of the repository; `guarded` are files in them that must not change either."""
    roots = tuple(map(real_folder, folders))

    def make_spec(
        engine: Engine, options: SandboxOptions, guard: GitGuard, temporary: Path, control: int
    ) -> SandboxSpec:
        policy = SandboxPolicy(roots=roots, temporary=temporary, network="on", env={"TMPDIR": str(temporary)})
        writable = (*roots, temporary)
        mounts = [Mount("write", path, path) for path in writable]
        mounts += [Mount("read", path, path) for path in guarded if path.exists()]
        home = real_folder(Path(os.environ.get("HOME") or "/"))
        closed = [str(path) for path in (Path("/usr"), home) if path not in writable]
        checks = {"files": (closed, [str(path) for path in writable])}
        return SandboxSpec(policy=policy, mounts=mounts, checks=checks, control=control)

    options = SandboxOptions(roots=roots, caches=roots[0], mode="required", engine=engine)
    return SessionSandbox(options, runner, make_spec=make_spec)
