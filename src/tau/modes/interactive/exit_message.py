"""The lines left on the terminal at exit: what was stopped, and how to resume the session."""

from pathlib import Path
from shlex import quote

from tau.base.text import plain
from tau.coding.session.session import Session
from tau.config.paths import Paths

ID_CHARS = 8


def exit_message(session: Session, paths: Paths) -> str:
    """The background jobs that end with the session, and how to resume it; may be empty."""
    return "\n".join(filter(None, [*stopped_jobs(session), resume_hint(session, paths)]))


def stopped_jobs(session: Session) -> list[str]:
    """What to say about jobs that end with the session."""
    running = [job for job in session.jobs.list() if job.running]
    return [f"Stopped background job {job.id}: {plain(job.label)}" for job in running]


def resume_hint(session: Session, paths: Paths) -> str:
    """Empty if there is nothing to resume: no messages, or an unsaved session."""
    path = session.log.path
    if path is None or not path.is_file():
        return ""
    name = plain(session.log.name or "").strip()
    is_standard = path.parent.parent == paths.sessions
    target = _short_id(session.log.header.id, path.parent) if is_standard else quote(str(path))
    return f"Resume with tau -r {target}{f': {name}' if name else ''}"


def _short_id(id: str, folder: Path) -> str:
    """The shortest prefix that is unique in this folder; ids start with a timestamp."""
    ids = [path.stem.rpartition("_")[2] for path in folder.glob("*.jsonl")]
    prefixes = (id[:length] for length in range(ID_CHARS, len(id)))
    return next((prefix for prefix in prefixes if sum(one.startswith(prefix) for one in ids) <= 1), id)
