"""What the index keeps of a session file, and where reading it has stopped."""

from collections.abc import Callable

from msgspec import Struct


class SearchableText(Struct, frozen=True, gc=False):
    """Words that can be searched: a prompt, an answer, or a command that the user ran. Blanks are single."""

    number: int
    role: str
    text: str


class SessionSummary(Struct, kw_only=True, array_like=True, gc=False):
    """What the index keeps of a session. All of it comes from the file's lines, in their order.

    `named` is whether the latest entry about the name can be read: None if there is no such entry.
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
    damaged: int = 0  # lines that cannot be read
    texts: int = 0

    @property
    def shown_name(self) -> str:
        """The name as the session itself gives it."""
        return self.name if self.named else self.title


class FileFingerprint(Struct, frozen=True, gc=False):
    """By which a file is known to be as it was."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


class ScanResult(Struct, kw_only=True):
    """What reading a file gave. The bytes up to `done`, with their checksum, need not be read again if the
    file only grows; -1: any change means to begin anew. `ids` and `texts` are those of what was read now,
    which is what came behind something known if the file has `grown`.
    """

    summary: SessionSummary
    signature: FileFingerprint
    done: int
    checksum: int
    ids: list[str]
    texts: list[SearchableText]
    grown: bool = False


class ScanProgress(Struct, frozen=True):
    """Where an earlier reading has stopped, and what it had found."""

    summary: SessionSummary
    done: int
    checksum: int
    inode: int
    ids: Callable[[], set[str]]
