"""A file before an edit: its stat, its bytes, and its text if it round-trips without loss."""

import stat as modes
from pathlib import Path

from msgspec import Struct

from tau.agent.ports import Stat, ToolContext
from tau.base.errors import ToolError
from tau.base.sizes import MIB, format_bytes
from tau.base.text import DecodedText, NotText, decode, encode, is_binary
from tau.coding.files.paths import failure, shown

MAX_FILE_BYTES = 64 * MIB


class FileSource(Struct, frozen=True, kw_only=True):
    """`stat` and `data` are None if there is no file; `name` is the display path."""

    path: Path
    name: str
    stat: Stat | None = None
    data: bytes | None = None

    def __repr__(self) -> str:
        """Omit the content to keep whole files out of logs and tracebacks."""
        return f"Source({self.name}, {'nothing' if self.data is None else len(self.data)})"


async def load(path: Path, ctx: ToolContext) -> FileSource:
    """Read one file. Raises ToolError for a folder, a device or an oversized file."""
    name = shown(path, ctx.cwd)
    try:
        stat = await ctx.fs.stat(path)
        if stat is None:
            return FileSource(path=path, name=name)
        if stat.is_dir or not modes.S_ISREG(stat.mode or modes.S_IFREG):
            raise ToolError(f"{name} is not a file that can be edited.")
        if stat.size > MAX_FILE_BYTES:
            raise ToolError(
                f"{name} is too large to edit ({format_bytes(stat.size)}); use bash, for example sed."
            )
        data = await ctx.fs.read(path)
    except OSError as error:
        raise failure("edit", name, error) from error
    return FileSource(path=path, name=name, stat=stat, data=data)


def text_of(source: FileSource) -> DecodedText:
    """Decode the file's text. Raises ToolError if it is missing or does not round-trip as text."""
    if source.data is None:
        raise ToolError(f"There is no file {source.name} to edit; use write to create it.")
    if is_binary(source.data):
        raise ToolError(f"{source.name} is binary and was not changed; use a suitable program in bash.")
    try:
        decoded = decode(source.data)
    except NotText as error:
        raise ToolError(
            f"{source.name} was not changed: editing it as text could damage it. {error}. "
            "Use bash: convert it with iconv, or change it with sed or perl."
        ) from None
    if encode(decoded.text, decoded) != source.data:
        raise ToolError(f"{source.name} was not changed: its encoding would alter text outside the edit.")
    return decoded


def bytes_of(text: str, like: DecodedText, name: str) -> bytes:
    """Encode the new text in the file's encoding."""
    try:
        return encode(text, like)
    except UnicodeEncodeError as error:
        bad = text[error.start]
        raise ToolError(
            f"The new text has the character {bad!r}, which {name} ({like.encoding}) cannot encode."
        ) from None
