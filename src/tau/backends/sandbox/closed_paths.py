"""Finds files that commands must not see or change, and that the running sandbox shows as they are.

What replaces a file ends the mount over it, and what does not exist cannot be mounted over. All of it is
looked at before each command, so names are strings.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tau.backends.sandbox.git_guard import GitGuard, identity_of
from tau.backends.sandbox.policy import SandboxPolicy, homes
from tau.backends.sandbox.redacted_files import ShownFile, redacted_content, settings_places


class ClosedPaths:
    """Make one before a sandbox starts. `private` are files of tau, which may not exist yet."""

    def __init__(
        self, policy: SandboxPolicy | None = None, private: Iterable[Path] = (), guard: GitGuard | None = None
    ) -> None:
        missing, hidden = ((), ()) if policy is None else (policy.missing, policy.hidden)
        names = dict.fromkeys((*missing, *map(str, (*hidden, *private))))
        self._missing = MissingPaths(name for name in names if not os.access(name, os.F_OK))
        closed = () if policy is None else _closed(policy, guard)
        covered = (*(name for name in names if name not in self._missing.names), *map(str, closed))
        self._covered = {name: identity_of(name) for name in covered}
        self._settings = SettingsWatch(
            () if policy is None else homes(), () if policy is None else policy.shown, os.environ
        )

    def find_uncovered(self) -> Path | None:
        """A path for which the sandbox must start again."""
        if found := self._missing.find_new():
            return Path(found[0])
        for name, known in self._covered.items():
            if (identity := identity_of(name)) != known and identity:
                return Path(name)
        return self._settings.find_new_secret()


def _closed(policy: SandboxPolicy, guard: GitGuard | None) -> Iterator[Path]:
    yield from policy.protected
    yield from (file.path for file in policy.shown)
    if guard is not None and not guard.restores:
        yield from guard.agents.guarded


class MissingPaths:
    """Names of files that do not exist; a link to nothing does not."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = set(names)
        # Many are in a folder that does not exist either: one look is enough for all of them.
        self._outermost: dict[str, list[str]] = {}
        self._group(self.names)

    def find_new(self) -> list[str]:
        """Those that exist now; they are no longer missing."""
        found: list[str] = []
        for outermost in [name for name in self._outermost if os.access(name, os.F_OK)]:
            names = self._outermost.pop(outermost)
            new = [name for name in names if os.access(name, os.F_OK)]
            self.names.difference_update(new)
            self._group(name for name in names if name in self.names)
            found += new
        return found

    def _group(self, names: Iterable[str]) -> None:
        existing: set[str] = set()
        for name in names:
            outermost, above = name, os.path.dirname(name)  # noqa: PTH120
            while above and above not in existing and not os.access(above, os.F_OK):
                outermost, above = above, os.path.dirname(above)  # noqa: PTH120
            existing.add(above)
            self._outermost.setdefault(outermost, []).append(name)


class SettingsWatch:
    """Finds settings files that got a password since commands saw them as they are.

    `shown` are those of which commands see a copy.
    """

    def __init__(self, homes: Iterable[Path], shown: Iterable[ShownFile], environ: Mapping[str, str]) -> None:
        places = dict.fromkeys(place for home in homes for place in settings_places(home, environ))
        for file in shown:
            places.pop(str(file.path), None)
        stamps = {place: _stamp(place) for place in places}
        self._stamps = {place: stamp for place, stamp in stamps.items() if stamp}
        self._missing = MissingPaths(stamps.keys() - self._stamps.keys())

    def find_new_secret(self) -> Path | None:
        self._stamps |= dict.fromkeys(self._missing.find_new(), ())
        for name, known in self._stamps.items():
            stamp = _stamp(name)
            if stamp != known:
                self._stamps[name] = stamp
                if redacted_content(path := Path(os.path.realpath(name))) is not None:
                    return path
        return None


def _stamp(name: str) -> tuple[int, ...]:
    """Changes whenever the file does; of a link, the file that it leads to."""
    try:
        info = os.stat(name)  # noqa: PTH116
    except OSError:
        return ()
    return info.st_dev, info.st_ino, info.st_size, info.st_ctime_ns
