"""Read matching files: small ones whole, for edits by line; of others only the lines to show."""

import asyncio
from collections.abc import Set as AbstractSet
from pathlib import Path

from msgspec import Struct

from tau.base.text import NotText, decode
from tau.coding.ports import CodingContext

CHUNK_BYTES = 1024 * 1024
MAX_LINE_BYTES = 64 * 1024  # longer lines are truncated


class FileContent(Struct, frozen=True, kw_only=True):
    """`text` is the whole file, if it round-trips as text; `lines` are the requested ones."""

    lines: dict[int, str]
    text: str | None = None
    binary: bool = False


async def read_lines(
    path: Path, wanted: AbstractSet[int], ctx: CodingContext, *, max_bytes: int
) -> FileContent:
    """Read the wanted lines; keeps no full text above `max_bytes`. Raises OSError."""
    stat = await ctx.fs.stat(path)
    if stat is not None and stat.size > max_bytes:
        return FileContent(lines=await _picked(path, wanted))
    return content_of(await ctx.fs.read(path), wanted)


def content_of(data: bytes, wanted: AbstractSet[int]) -> FileContent:
    marked = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    if not marked and b"\0" in data:
        return FileContent(lines={}, binary=True)
    try:
        text: str | None = decode(data).text
    except NotText:
        text = None
    lines = (data.decode("utf-8", "replace") if text is None else text).split("\n")
    if not lines[-1]:
        del lines[-1]
    shown = {number: lines[number - 1].removesuffix("\r") for number in wanted if number <= len(lines)}
    return FileContent(lines=shown, text=text)


async def _picked(path: Path, wanted: AbstractSet[int]) -> dict[int, str]:
    """Read the file in chunks, keeping the beginning of each wanted line."""
    last = max(wanted, default=0)
    kept: dict[int, bytes] = {}
    number = 1
    with path.open("rb") as file:
        while number <= last and (chunk := file.read(CHUNK_BYTES)):
            breaks = chunk.count(b"\n")
            if any(number <= line <= number + breaks for line in wanted):
                for index, piece in enumerate(chunk.split(b"\n"), number):
                    if index in wanted:
                        kept[index] = (kept.get(index, b"") + piece)[:MAX_LINE_BYTES]
            number += breaks
            await asyncio.sleep(0)
        if number in kept and not kept[number]:
            del kept[number]  # the file ends with a line break: no line follows
    return {line: data.removesuffix(b"\r").decode("utf-8", "replace") for line, data in kept.items()}
