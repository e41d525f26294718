"""What the index stores about a session file, and where the last scan stopped."""

from collections.abc import Callable

from msgspec import Struct


class SearchableText(Struct, frozen=True, gc=False):
    """Searchable text: a prompt, an answer or a user's command, with whitespace collapsed."""

    number: int
    role: str
    text: str


class SessionSummary(Struct, kw_only=True, array_like=True, gc=False):
    """What the index stores about a session, all of it from the file's lines in order.

    `named` is whether the latest entry about the name is readable; None if there is no such entry.
    """

    cwd: str = ""
    title: str = ""
    name: str = ""
    named: bool | None = None
    first_prompt: str = ""
    model: str = ""
    created_ms: int = 0
    messages: int = 0
    prompts: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost: float = 0.0  # US dollars
    parent: str = ""
    problem: str = ""
    damaged: int = 0  # unreadable lines
    texts: int = 0

    @property
    def shown_name(self) -> str:
        """The name as the session itself shows it."""
        return self.name if self.named else self.title


class FileFingerprint(Struct, frozen=True, gc=False):
    """Equal fingerprints mean an unchanged file."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


class ScanResult(Struct, kw_only=True):
    """The result of a scan. The bytes up to `done`, with their checksum, need not be read again if the file
    only grows; with -1, any change means a full scan. `ids` and `texts` are those of this scan, which covers
    only the appended part if the file has `grown`.
    """

    summary: SessionSummary
    signature: FileFingerprint
    done: int
    checksum: int
    ids: list[str]
    texts: list[SearchableText]
    grown: bool = False


class ScanProgress(Struct, frozen=True):
    """Where an earlier scan stopped. `ids` fetches the entries' ids: most changed files cannot be resumed."""

    summary: SessionSummary
    done: int
    checksum: int
    inode: int
    ids: Callable[[], set[str]]
