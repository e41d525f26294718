"""A handoff: the document that starts a successor session."""

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tau.base import secrets
from tau.base.clock import iso, now_ms
from tau.base.errors import TauError
from tau.base.files import make_private, write_atomic
from tau.coding.session.compaction import summary as summaries
from tau.coding.session.compaction.attempts import CompactionInput, request_summary
from tau.coding.session.compaction.file_ops import file_lists, file_ops

MAX_DOCUMENT_TOKENS = 8_192


class Handoff(Struct, frozen=True):
    """`path` is set if the document is saved to a file."""

    document: str
    path: Path | None = None

    @property
    def prompt(self) -> str:
        """What to send first in the new session."""
        return (
            "This session takes over work from another one, which you do not see. "
            "All that is known of it is in this document:\n\n"
            f"<handoff>\n{self.document}\n</handoff>\n\n"
            "Look at the files before you rely on what it says of them, then continue with the next step."
        )


async def make_handoff(job: CompactionInput, folder: Path | None) -> Handoff:
    """Ask the model for the document, and save it in `folder` if given. Raises TauError if it fails."""
    tokens = min(MAX_DOCUMENT_TOKENS, job.window // 4)
    request = summaries.SummaryRequest(
        kind="handoff", messages=job.messages, previous=job.previous, focus=job.focus, answer_tokens=tokens
    )
    attempt = await request_summary(job, request, tokens)
    if attempt.retryable:
        attempt = await request_summary(job, replace(request, reduced=True), tokens)
    if not attempt.text:
        raise TauError(attempt.problem)
    ops = file_ops(job.written, job.cwd, job.earlier)
    document = attempt.text + file_lists(ops, tokens)
    return Handoff(document, None if folder is None else save(document, folder))


def save(document: str, folder: Path) -> Path:
    """Save the document next to the session's artifacts."""
    path = folder / f"handoff-{iso(now_ms()).replace(':', '-')}.md"
    try:
        make_private(folder)
        write_atomic(path, secrets.mask(document).encode(errors="replace"))
    except OSError as error:
        raise TauError(f"The handoff cannot be saved to {path}: {error.strerror or error}.") from error
    return path
