"""A handoff: the document with which a new session takes over the work of this one."""

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tau.base.clock import iso, now_ms
from tau.base.errors import TauError
from tau.base.files import make_private, write_atomic
from tau.coding.session.compaction import summary as summaries
from tau.coding.session.compaction.file_ops import file_lists, file_ops
from tau.coding.session.compaction.shrink import CompactionInput, ask

MAX_DOCUMENT_TOKENS = 8_192


class Handoff(Struct, frozen=True):
    """`path` is set where the document is kept as a file."""

    document: str
    path: Path | None = None

    @property
    def prompt(self) -> str:
        """What to send first in the new session."""
        return (
            "This session takes over work that was begun in another one, which you do not see. "
            "All that is known of it is in this document:\n\n"
            f"<handoff>\n{self.document}\n</handoff>\n\n"
            "Look at the files before you rely on what it says of them, then go on with the next step."
        )


async def make_handoff(job: CompactionInput, folder: Path | None) -> Handoff:
    """Ask the model for the document; `folder`: keep it there too. Raises TauError where there is none."""
    tokens = min(MAX_DOCUMENT_TOKENS, job.window // 4)
    wish = summaries.SummaryRequest(
        kind="handoff",
        messages=job.messages,
        previous=job.previous,
        focus=job.focus,
        answer_tokens=tokens,
    )
    notes = await ask(job, wish, tokens)
    if notes.again:
        notes = await ask(job, replace(wish, hard=True), tokens)
    if not notes.text:
        raise TauError(notes.why)
    ops = file_ops(job.written, job.cwd, job.earlier)
    document = notes.text + file_lists(ops, tokens)
    return Handoff(document, None if folder is None else save(document, folder))


def save(document: str, folder: Path) -> Path:
    """Keep the document beside the session's artifacts."""
    path = folder / f"handoff-{iso(now_ms()).replace(':', '-')}.md"
    try:
        make_private(folder)
        write_atomic(path, document.encode(errors="replace"))
    except OSError as error:
        raise TauError(f"The handoff cannot be kept as {path}: {error.strerror or error}.") from error
    return path
