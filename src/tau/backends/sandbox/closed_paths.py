"""Finds files that commands must not see or change, and that the running sandbox shows as they are.

What replaces a file ends the mount over it, and what does not exist cannot be mounted over.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from tau.backends.sandbox.git_guard import GitGuard, identity_of
from tau.backends.sandbox.policy import SandboxPolicy, homes
from tau.backends.sandbox.redacted_files import SettingsWatch


class ClosedPaths:
    """Make one before a sandbox starts. `private` are files of tau, which may not exist yet."""

    def __init__(
        self,
        policy: SandboxPolicy | None = None,
        private: Iterable[Path] = (),
        guard: GitGuard | None = None,
    ) -> None:
        paths = () if policy is None else _closed(policy, guard)
        self._covered = {path: identity_of(path) for path in (*paths, *private)}
        self._settings = SettingsWatch(
            () if policy is None else homes(), () if policy is None else policy.shown, os.environ
        )

    def find_uncovered(self) -> Path | None:
        """A path for which the sandbox must start again."""
        changed = (path for path, known in self._covered.items() if identity_of(path) not in (known, ()))
        return next(changed, None) or self._settings.find_new_secret()


def _closed(policy: SandboxPolicy, guard: GitGuard | None) -> Iterator[Path]:
    yield from (*policy.hidden, *policy.protected, *policy.missing)
    yield from (file.path for file in policy.shown)
    if guard is not None and not guard.restores:
        yield from guard.agents.guarded
