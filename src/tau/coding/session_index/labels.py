"""Labels for lists of sessions: title, age, folder, speaker."""

from collections.abc import Iterable

from tau.ai.normalization import clean
from tau.base.clock import now_ms
from tau.base.files import typed_path
from tau.base.text import clean_line
from tau.coding.session.titles import UNTITLED, first_words
from tau.coding.session_index.index import SessionRow
from tau.coding.session_index.records import SessionSummary

_UNITS = (
    ("min", 60, 60),
    ("h", 3600, 24),
    ("d", 86_400, 61),
    ("mo", 2_629_800, 24),
    ("y", 31_557_600, 10_000),
)
_SPEAKERS = {"user": "You: ", "assistant": "Answer: "}


def title_of(summary: SessionSummary) -> str:
    """The name, the first words, or the problem with the file; on one line, safe for a terminal."""
    title = clean_line(summary.shown_name)
    if not title and summary.first_prompt:
        title = first_words(summary.first_prompt)
    if summary.problem:
        return f"{title} ({summary.problem})" if title else f"({summary.problem})"
    return title or UNTITLED


def age_text(then_ms: int, now: int | None = None) -> str:
    """How long ago, in the largest unit that fits."""
    seconds = ((now_ms() if now is None else now) - then_ms) // 1000
    if seconds < 60:
        return "now"
    return next((f"{seconds // size} {unit}" for unit, size, most in _UNITS if seconds < size * most), "?")


def folder_text(cwd: str, home: str = "") -> str:
    """A folder as people write it: `~/src/tau`."""
    if not cwd:
        return "(unknown folder)"
    home = home or str(typed_path("~"))
    inside = cwd == home or cwd.startswith(f"{home}/")
    return clean_line(f"~{cwd.removeprefix(home)}" if inside else cwd)


def speaker(role: str) -> str:
    """The prefix for text found in a session."""
    return _SPEAKERS.get(role, "")


def sessions_in(rows: Iterable[SessionRow], cwd: str) -> list[SessionRow]:
    """The sessions of a working folder, since two can share a folder of session files.

    A session without a folder belongs to every folder.
    """
    here = (clean(cwd), "")
    return [row for row in rows if row.summary.cwd in here]
