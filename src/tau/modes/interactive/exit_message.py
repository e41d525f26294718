"""The line left on the terminal at exit: how to resume the session."""

from itertools import takewhile
from pathlib import Path
from shlex import quote

from tau.base.text import plain
from tau.coding.session.session import Session
from tau.config.paths import Paths

ID_CHARS = 8


def farewell(session: Session, paths: Paths) -> str:
    """Empty if there is nothing to resume: no messages, or an unsaved session."""
    path = session.log.path
    if path is None or not path.is_file():
        return ""
    name = plain(session.log.name or "").strip()
    known = path.parent.parent == paths.sessions
    wanted = _short(session.log.header.id, path.parent) if known else quote(str(path))
    return f"Resume with tau -r {wanted}{f': {name}' if name else ''}"


def _short(id: str, folder: Path) -> str:
    """The shortest prefix that is unique in this folder; ids start with a timestamp."""
    others = [path.stem.rpartition("_")[2] for path in folder.glob("*.jsonl")]
    shared = max((_common(id, other) for other in others if other != id), default=0)
    return id[: max(shared + 1, ID_CHARS)]


def _common(one: str, other: str) -> int:
    """The length of the common prefix."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
