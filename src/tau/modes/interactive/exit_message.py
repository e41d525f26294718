"""The line that is left on the terminal at the end: how to go on with the session."""

from itertools import takewhile
from pathlib import Path
from shlex import quote

from tau.base.text import plain
from tau.coding.session.session import Session
from tau.config.paths import Paths

ID_CHARS = 8


def farewell(session: Session, paths: Paths) -> str:
    """Nothing where there is nothing to go on with: nobody has said anything, or the session is not kept."""
    path = session.log.path
    if path is None or not path.is_file():
        return ""
    name = plain(session.log.name or "").strip()
    known = path.parent.parent == paths.sessions
    wanted = _short(session.log.header.id, path.parent) if known else quote(str(path))
    return f"tau -r {wanted} goes on with this session{f': {name}' if name else '.'}"


def _short(id: str, folder: Path) -> str:
    """As much of the id as tells it from the others in this folder: an id begins with its time."""
    others = [path.stem.rpartition("_")[2] for path in folder.glob("*.jsonl")]
    shared = max((_common(id, other) for other in others if other != id), default=0)
    return id[: max(shared + 1, ID_CHARS)]


def _common(one: str, other: str) -> int:
    """How many letters they begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
