"""write: a whole file, new or replaced."""

import stat as modes
from pathlib import Path
from typing import Annotated, ClassVar

from msgspec import UNSET, Meta, Struct, UnsetType

from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.ports import Stat
from tau.agent.tool import Tool
from tau.base.errors import ToolError
from tau.base.text import NotText, decode, is_binary
from tau.coding.diff import unified
from tau.coding.output import format_bytes
from tau.coding.paths import failure, resolve, shown
from tau.coding.ports import CodingContext
from tau.coding.tools import ToolSettings

MAX_DIFFED_BYTES = 1024 * 1024


class WriteParams(Struct, frozen=True):
    aliases: ClassVar[dict[str, str]] = {"file_path": "path", "file": "path", "filename": "path"}

    path: Annotated[str, Meta(description="File to create or replace")]
    content: Annotated[str, Meta(description="Its whole content")]


class WriteDetails(Struct, frozen=True, rename="camel", kw_only=True):
    """`diff` is there when a text file was replaced."""

    path: str
    bytes: int
    lines: int
    created: bool
    executable: bool = False
    diff: str | UnsetType = UNSET
    added: int | UnsetType = UNSET
    removed: int | UnsetType = UNSET


class Write(Tool[WriteParams]):
    name, label = "write", "Write"

    def __init__(self, settings: ToolSettings | None = None) -> None:
        """Nothing can be set yet."""

    def effects(self, params: WriteParams, cwd: Path) -> Effects:
        return Effects(writes=(resolve(params.path, cwd, existing=False),))

    async def run(self, params: WriteParams, ctx: CodingContext) -> ToolOutput:
        path = resolve(params.path, ctx.cwd, existing=False)
        name = shown(path, ctx.cwd)
        data = _encoded(params.content)
        try:
            before = await ctx.fs.stat(path)
            old = await _old_text(path, name, before, ctx)
            after = await ctx.fs.write(path, data, expect=before)
        except OSError as error:
            raise failure("write", name, error) from error
        ctx.snapshots.remember(path, after)
        return _report(path, name, params.content, old, created=before is None, mode=after.mode)


def _encoded(content: str) -> bytes:
    try:
        return content.encode()
    except UnicodeEncodeError as error:
        raise ToolError(
            f"The content has half a character (a lone surrogate) at offset {error.start}."
        ) from None


async def _old_text(path: Path, name: str, before: Stat | None, ctx: CodingContext) -> str | None:
    """What is about to be replaced, None if it is no text or too long. Refuses what must not be replaced."""
    if before is None:
        return None
    if before.is_dir:
        raise ToolError(f"{name} is a directory; name a file inside it.")
    seen = ctx.snapshots.last_seen(path)
    if seen is not None and seen != before:
        raise ToolError(
            f"{name} has changed on disk since you last saw it; nothing was written. Read it again first."
        )
    if before.size > MAX_DIFFED_BYTES or not modes.S_ISREG(before.mode or modes.S_IFREG):
        return None
    data = await ctx.fs.read(path)
    try:
        return None if is_binary(data) else decode(data).text
    except NotText:
        return None


def _report(path: Path, name: str, content: str, old: str | None, *, created: bool, mode: int) -> ToolOutput:
    size = len(content.encode())
    lines = content.count("\n") + (not content.endswith("\n") if content else 0)
    made_executable = created and content.startswith("#!") and bool(mode & modes.S_IXUSR)
    diff = None if old is None else unified(old, content, name)
    details = WriteDetails(
        path=str(path),
        bytes=size,
        lines=lines,
        created=created,
        executable=made_executable,
        diff=UNSET if diff is None else diff.text,
        added=UNSET if diff is None else diff.added,
        removed=UNSET if diff is None else diff.removed,
    )
    amount = f"{lines} {'line' if lines == 1 else 'lines'}, {format_bytes(size)}"
    change = "" if diff is None else f"; +{diff.added} -{diff.removed} lines"
    note = "; made executable" if made_executable else ""
    return ToolOutput.text(
        f"{'Created' if created else 'Replaced'} {name} ({amount}{change}{note}).", details
    )
