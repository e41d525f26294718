"""Trust in repositories, by the content of what they could run; kept in the user's `trust.json`.

Trust is a set of files with their digests, not a folder: a change asks again, and the same files in another
work tree or clone do not. Until a repository is trusted, nothing in it starts a process or is imported.
"""

import os
import time
from pathlib import Path
from typing import Any, Literal

from msgspec import Raw, Struct, ValidationError, convert, json

from tau.base.errors import ConfigError, TauError
from tau.base.git_dir import shared_git_dir
from tau.base.late import late
from tau.base.text import reveal_line
from tau.config.json_file import change_json, read_json
from tau.config.paths import Paths, project_folders, repo_root
from tau.config.trust_locations import has_any
from tau.config.trust_scan import TrustItem, TrustScan, line_digests, scan

difflib = late("difflib")

MAX_SNAPSHOTS = 500
MAX_PER_REPOSITORY = 20
CONTEXT_LINES = 2
Change = Literal["new", "changed", "removed"]


class TrustedFile(Struct, frozen=True):
    """A trusted item: its kind, the digest of what counts in it, and those of its lines."""

    kind: str
    digest: str
    lines: list[str] = []


class TrustSnapshot(Struct, frozen=True, kw_only=True):
    """What the user decided on at one time. `repository` is the git directory that work trees share."""

    repository: str
    root: str
    at: str
    items: dict[str, TrustedFile]
    refused: bool = False

    def covers(self, items: tuple[TrustItem, ...]) -> bool:
        return all(
            (known := self.items.get(item.path)) is not None and known.digest == item.digest for item in items
        )


class TrustChange(Struct, frozen=True, kw_only=True):
    """How an item differs from what was trusted. `diff` has the lines of the new text, as far as known."""

    change: Change
    path: str
    kind: str
    diff: tuple[str, ...] = ()


class TrustStatus(Struct, frozen=True, kw_only=True):
    """`items` could run; `changes` compare them with what was trusted before; `problems` prevent trust.

    `known`: the repository itself was trusted before. `refused`: the user declined just these items.
    """

    trusted: bool
    root: Path
    items: tuple[TrustItem, ...] = ()
    problems: tuple[str, ...] = ()
    changes: tuple[TrustChange, ...] = ()
    known: bool = False
    refused: bool = False

    @property
    def is_open(self) -> bool:
        """Whether there is something to ask the user about."""
        return bool(self.items) and not self.trusted and not self.refused and not self.problems


class TrustStore:
    """`trust.json` in the user's folder. Several tau processes may use it at once."""

    def __init__(self, paths: Paths) -> None:
        self._path = paths.home / "trust.json"

    def status(self, cwd: Path) -> TrustStatus:
        """What could run here and whether the user trusts it. Raises ConfigError for a broken store."""
        found = _scan(cwd)
        snapshots = self.snapshots()
        own = _repository(found.root)
        before = [one for one in snapshots if one.repository == own and not one.refused]
        trusts = (one for one in snapshots if not one.refused)
        is_trusted = any(one.covers(found.items) for one in trusts) if found.items else bool(before)
        refused = any(one.refused and one.covers(found.items) for one in snapshots)
        return TrustStatus(
            trusted=is_trusted and not found.problems,
            root=found.root,
            items=found.items,
            problems=found.problems,
            changes=() if is_trusted or not before else _changes(found.items, before[-1]),
            known=bool(before),
            refused=bool(found.items) and refused and not is_trusted,
        )

    def trust(self, cwd: Path, seen: TrustStatus | None = None) -> TrustStatus:
        """Trust what could run here: just what the user has `seen`. Raises TauError if that is impossible."""
        status = seen or self.status(cwd)
        if status.problems:
            raise TauError(status.problems[0])
        self._add(status, refused=False)
        return self.status(cwd)

    def refuse(self, status: TrustStatus) -> None:
        """Do not ask about these items again."""
        self._add(status, refused=True)

    def remove(self, cwd: Path) -> int:
        """Forget every decision on this repository, and what makes its content trusted; return how many."""
        found = _scan(cwd)
        own = _repository(found.root)
        removed = 0

        def change(snapshots: list[TrustSnapshot]) -> list[TrustSnapshot]:
            nonlocal removed
            kept = [
                one
                for one in snapshots
                if one.repository != own and not (found.items and one.covers(found.items))
            ]
            removed = len(snapshots) - len(kept)
            return kept

        self._change(change)
        return removed

    def snapshots(self) -> list[TrustSnapshot]:
        """All decisions, the oldest first. Raises ConfigError."""
        return _snapshots(self._path, read_json(self._path).content.get("snapshots", []))

    def _add(self, status: TrustStatus, *, refused: bool) -> None:
        own = _repository(status.root)
        snapshot = TrustSnapshot(
            repository=own,
            root=str(status.root),
            at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            items={
                item.path: TrustedFile(item.kind, item.digest, line_digests(item.text))
                for item in status.items
            },
            refused=refused,
        )

        def change(snapshots: list[TrustSnapshot]) -> list[TrustSnapshot]:
            others = [one for one in snapshots if one.repository != own]
            # Parts of the repository that are not in view from this folder stay trusted.
            mine = [one for one in snapshots if one.repository == own and not one.covers(status.items)]
            return [*others, *mine[1 - MAX_PER_REPOSITORY :], snapshot][-MAX_SNAPSHOTS:]

        self._change(change)

    def _change(self, change: Any) -> None:
        def apply(members: dict[str, Raw]) -> None:
            raw = members.get("snapshots")
            before = _snapshots(self._path, json.decode(raw) if raw is not None else [])
            members["snapshots"] = Raw(json.encode(change(before)))

        change_json(self._path, apply, mode=0o600)


def trust_status(cwd: Path, paths: Paths) -> TrustStatus:
    """The status of a folder. A broken store trusts nothing and becomes a problem."""
    try:
        return TrustStore(paths).status(cwd)
    except ConfigError as error:
        return TrustStatus(trusted=False, root=cwd, problems=(str(error),))


def has_changed(cwd: Path, paths: Paths) -> bool:
    """Whether something in a trusted folder could run by now that is not trusted: an agent may write it."""
    status = trust_status(cwd, paths)
    return bool(status.items or status.problems) and not status.trusted


def notices(status: TrustStatus) -> list[str]:
    """One line for someone who cannot be asked; none if nothing could run."""
    if status.problems:
        rest = f" ({len(status.problems) - 1} more: tau trust show.)" if len(status.problems) > 1 else ""
        return [f"{status.problems[0]}{rest}"]
    if not status.items:
        return []
    more = len(status.items) - 1
    others = f" and {more} more file{'s' if more > 1 else ''}" if more else ""
    could, none = effects(status.items)
    what = reveal_line(f"{status.items[0].path}{others} could {could}")
    verb = "has changed since you trusted it" if status.known else "is not trusted"
    advice = "see tau trust show, or pass --trust for this run."
    return [f"This repository {verb}: {what}. None of it {none}; {advice}"]


def effects(items: tuple[TrustItem, ...], where: str = "") -> tuple[str, str]:
    """What they could do, and what none of them does without trust: "run programs", "runs"."""
    kinds = {"prompt" if item.kind == "system prompt" else "program" for item in items}
    could = [f"run programs{where}"] * ("program" in kinds) + ["change the system prompt"] * (
        "prompt" in kinds
    )
    return " or ".join(could), "is used" if "prompt" in kinds else "runs"


def _scan(cwd: Path) -> TrustScan:
    folders = list(project_folders(Path(os.path.realpath(cwd))))
    return scan(folders[0]) if has_any(folders) else TrustScan(folders[-1], (), ())


def _repository(root: Path) -> str:
    """What identifies a repository: the git directory that its work trees share, else its folder."""
    shared = shared_git_dir(root) if repo_root(root) == root else None
    return os.path.realpath(shared or root)


def _snapshots(path: Path, content: Any) -> list[TrustSnapshot]:
    try:
        return convert(content, list[TrustSnapshot])
    except ValidationError as error:
        raise ConfigError(f"Invalid trust data: {error}; delete the file to start over.", path=path) from None


def _changes(items: tuple[TrustItem, ...], before: TrustSnapshot) -> tuple[TrustChange, ...]:
    changes: list[TrustChange] = []
    for item in items:
        old = before.items.get(item.path)
        if old is None:
            diff = tuple(f"+ {line}" for line in item.text.splitlines())
            changes.append(TrustChange(change="new", path=item.path, kind=item.kind, diff=diff))
        elif old.digest != item.digest:
            diff = tuple(_diff(item.text, old.lines))
            changes.append(TrustChange(change="changed", path=item.path, kind=item.kind, diff=diff))
    present = {item.path for item in items}
    changes += [
        TrustChange(change="removed", path=path, kind=old.kind)
        for path, old in before.items.items()
        if path not in present
    ]
    return tuple(changes)


def _diff(text: str, old: list[str]) -> list[str]:
    """The new lines with some context; of lines that are gone, only their number is known."""
    lines, new = text.splitlines(), line_digests(text)
    rows: list[str] = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for group in matcher.get_grouped_opcodes(CONTEXT_LINES):
        rows.append(f"@ line {group[0][3] + 1}")
        for tag, old_start, old_end, start, end in group:
            if tag in ("delete", "replace"):
                count = old_end - old_start
                rows.append(f"- ({count} earlier line{'s' if count > 1 else ''})")
            sign = "  " if tag == "equal" else "+ "
            rows += [f"{sign}{line}" for line in lines[start:end]]
    return rows
