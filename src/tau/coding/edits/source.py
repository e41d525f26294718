"""A file as an edit finds it: its state, its bytes, and its text if it can be written back without loss."""

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
    """`stat` and `data` are None where there is no file; `name` is the path as people read it."""

    path: Path
    name: str
    stat: Stat | None = None
    data: bytes | None = None

    def __repr__(self) -> str:
        """Without the content: a log or a trace shall not carry whole files."""
        return f"Source({self.name}, {'nothing' if self.data is None else len(self.data)})"


async def load(path: Path, ctx: ToolContext) -> FileSource:
    """Read one file. Raises ToolError for what no edit may touch: a folder, a device, a giant."""
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
    """The file's text. Raises ToolError if there is none, or if editing it as text could damage it."""
    if source.data is None:
        raise ToolError(f"There is no file {source.name} to edit; use write to create it.")
    if is_binary(source.data):
        raise ToolError(
            f"{source.name} is a binary file and was not changed; use bash with a fitting program."
        )
    try:
        decoded = decode(source.data)
    except NotText as error:
        raise ToolError(
            f"{source.name} was not changed, because editing it as text could damage it. {error}. "
            "Use bash: convert it with iconv, or change it with sed or perl."
        ) from None
    if encode(decoded.text, decoded) != source.data:
        raise ToolError(f"{source.name} was not changed: its encoding would alter text outside the edit.")
    return decoded


def bytes_of(text: str, like: DecodedText, name: str) -> bytes:
    """The new text in the file's own encoding."""
    try:
        return encode(text, like)
    except UnicodeEncodeError as error:
        bad = text[error.start]
        raise ToolError(
            f"The new text has the character {bad!r}, which {name} ({like.encoding}) cannot hold."
        ) from None
