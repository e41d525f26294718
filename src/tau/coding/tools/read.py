"""read: files by line, directories and images, all through one path with an optional line selector."""

import binascii
import os
import stat as modes
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.ports import Stat
from tau.agent.tool import Tool
from tau.ai.wire import ImageContent, TextContent
from tau.base.errors import ToolError
from tau.base.late import late
from tau.base.text import NotText, decode, is_binary
from tau.coding.output import (
    KIB,
    EntryLimit,
    Limits,
    OutputMeta,
    Truncation,
    format_bytes,
    notice,
    take,
    with_notice,
)
from tau.coding.paths import Lines, Selector, failure, resolve, shown, split_selector
from tau.coding.ports import CodingContext
from tau.coding.tools import ToolSettings

difflib = late("difflib")

MAX_FILE_BYTES = 64 * KIB * KIB
MAX_IMAGE_BYTES = 5 * KIB * KIB
MAX_ENTRIES = 500
LINES_BEFORE, LINES_AFTER = 1, 3  # shown around the lines that were asked for
GAP = "[…]"


class ReadParams(Struct, frozen=True):
    aliases: ClassVar[dict[str, str]] = {"file_path": "path", "file": "path", "filename": "path"}

    path: Annotated[
        str, Meta(description="File or directory, with optional line selector, e.g. src/a.py:50-100")
    ]


class ReadDetails(Struct, frozen=True, rename="camel", kw_only=True):
    """`first_line` and `last_line` are what is shown, counted from 1."""

    path: str
    kind: Literal["file", "directory", "image"]
    total_lines: int | UnsetType = UNSET
    first_line: int | UnsetType = UNSET
    last_line: int | UnsetType = UNSET
    mime_type: str | UnsetType = UNSET
    meta: OutputMeta | UnsetType = UNSET


class Source(Struct, frozen=True):
    """What was found under a name, before anyone looked into it. `stat` is None for what is no file."""

    name: str
    path: Path | None
    data: bytes
    stat: Stat | None


class Read(Tool[ReadParams]):
    name, label = "read", "Read"

    def __init__(self, settings: ToolSettings | None = None) -> None:
        self._first_lines = min(max((settings or ToolSettings()).read_lines, 1), Limits().lines)

    @cached_property
    def description(self) -> str:
        return super().description.replace("{{lines}}", str(self._first_lines))

    def effects(self, params: ReadParams, cwd: Path) -> Effects:
        if "://" in params.path and not params.path.startswith("file://"):
            return Effects()
        return Effects(reads=(_path_and_selector(params.path, cwd)[0],))

    async def run(self, params: ReadParams, ctx: CodingContext) -> ToolOutput:
        if params.path.lower().startswith(("http://", "https://")):
            raise ToolError("read takes files, not web addresses; fetch the page with bash and curl.")
        if ctx.urls.handles(params.path):
            url, selector = split_selector(params.path)
            resource = await ctx.urls.resolve(url, ctx)
            return self._show(Source(url, resource.path, resource.data, None), selector)
        path, selector = _path_and_selector(params.path, ctx.cwd)
        name = shown(path, ctx.cwd)
        try:
            stat = await ctx.fs.stat(path)
            if stat is None:
                raise ToolError(await _missing_text(path, name, ctx))
            if stat.is_dir:
                return await _directory(path, name, selector, ctx)
            _check_readable(name, stat)
            source = Source(name, path, await ctx.fs.read(path), stat)
        except OSError as error:
            raise failure("read", name, error) from error
        output = self._show(source, selector)
        ctx.snapshots.remember(path, stat)
        return output

    def _show(self, source: Source, selector: Selector) -> ToolOutput:
        mime_type = _image_type(source.data)
        if mime_type is not None:
            return _image(source, mime_type)
        if is_binary(source.data):
            size = format_bytes(len(source.data))
            raise ToolError(
                f"{source.name} is binary ({size}), not text; look inside with bash: file, strings, xxd."
            )
        try:
            text, remark = decode(source.data).text, ""
        except NotText as error:
            text = source.data.decode("utf-8", "replace")
            remark = f"[{error}. Such bytes are shown as \ufffd; edit will refuse this file]"
        return _text(source, text, remark, selector, self._first_lines)


def _path_and_selector(text: str, cwd: Path) -> tuple[Path, Selector]:
    """A file whose own name looks like one with a selector is that file."""
    path_text, selector = split_selector(text)
    if path_text != text and os.path.lexists(whole := resolve(text, cwd)):
        return whole, Selector()
    return resolve(path_text, cwd), selector


def _check_readable(name: str, stat: Stat) -> None:
    if stat.mode and not modes.S_ISREG(stat.mode):
        raise ToolError(f"{name} is a device, pipe or socket, not a file; reading it might never end.")
    if stat.size > MAX_FILE_BYTES:
        raise ToolError(
            f"{name} has {format_bytes(stat.size)}, read takes at most {format_bytes(MAX_FILE_BYTES)}; "
            "look at a part with bash: sed -n '1,200p', grep -n, tail."
        )


def _text(source: Source, text: str, remark: str, selector: Selector, first_lines: int) -> ToolOutput:
    separator = "\r" if "\n" not in text and "\r" in text else "\n"
    total = text.count(separator) + (not text.endswith(separator) if text else 0)
    path = str(source.path or source.name)
    if total == 0:
        return ToolOutput.text("[The file is empty]", ReadDetails(path=path, kind="file", total_lines=0))
    if selector.ranges and selector.ranges[0].first > total:
        beyond = f"[Nothing there: {source.name} has {total} lines, the last of them is :{total}]"
        return ToolOutput.text(beyond, ReadDetails(path=path, kind="file", total_lines=total))
    wanted = _with_context(selector.ranges, total) or [Lines(1, min(first_lines, total))]
    lines = text.split(separator, max(span.last or total for span in wanted))
    taken = take(_numbered(lines, wanted, selector.raw), Limits())
    shown_ranges = _covered(wanted, len(taken.lines))
    truncation = None
    if taken.cut or shown_ranges != [(1, total)]:
        truncation = Truncation(
            kept="head",
            ranges=shown_ranges,
            total_lines=total,
            total_bytes=len(source.data),
            shown_bytes=sum(len(line.encode(errors="replace")) + 1 for line in taken.lines),
            cut_lines=taken.cut,
        )
    last = shown_ranges[-1][1]
    more = f"continue with {source.name}:{last + 1}-" if last < total else ""
    told = "\n".join(part for part in (notice(truncation, more=more), remark) if part)
    details = ReadDetails(
        path=path,
        kind="file",
        total_lines=total,
        first_line=shown_ranges[0][0],
        last_line=last,
        meta=UNSET if truncation is None else OutputMeta(truncation=truncation),
    )
    return ToolOutput.text(with_notice("\n".join(taken.lines), told), details)


def _with_context(ranges: Sequence[Lines], total: int) -> list[Lines]:
    """The ranges within the file, each with a few lines around it, neighbours joined."""
    result: list[Lines] = []
    for span in ranges:
        if span.first > total:
            break
        first = max(span.first - LINES_BEFORE, 1)
        last = total if span.last is None else min(span.last + LINES_AFTER, total)
        if result and first <= (result[-1].last or total) + 1:
            first = result.pop().first
        result.append(Lines(first, last))
    return result


def _numbered(lines: list[str], wanted: list[Lines], raw: bool) -> Iterator[str]:
    for index, span in enumerate(wanted):
        if index:
            yield GAP
        for number in range(span.first, (span.last or len(lines)) + 1):
            line = lines[number - 1].removesuffix("\r")
            yield line if raw else f"{number}:{line}"


def _covered(wanted: list[Lines], count: int) -> list[tuple[int, int]]:
    """Which lines `count` output rows hold, gaps between the ranges being rows too."""
    covered: list[tuple[int, int]] = []
    for span in wanted:
        if count <= 0:
            break
        last = min(span.last or span.first, span.first + count - 1)
        covered.append((span.first, last))
        count -= last - span.first + 2
    return covered


async def _directory(path: Path, name: str, selector: Selector, ctx: CodingContext) -> ToolOutput:
    entries = sorted(await ctx.fs.list(path), key=lambda entry: (entry.casefold(), entry))
    span = selector.ranges[0] if selector.ranges else Lines(1)
    last = min(span.last or len(entries), span.first + MAX_ENTRIES - 1, len(entries))
    rows = [await _entry_row(path / entry, ctx) for entry in entries[span.first - 1 : last]]
    if not entries:
        return ToolOutput.text("[The directory is empty]", ReadDetails(path=str(path), kind="directory"))
    told, meta = "", None
    if len(rows) < len(entries):
        more = f"; continue with {name}:{last + 1}-" if last < len(entries) else ""
        told = f"[Showing {len(rows)} of {len(entries)} entries{more}]"
        meta = OutputMeta(entries=EntryLimit(len(rows), len(entries)))
    return ToolOutput.text(
        with_notice("\n".join(rows), told),
        ReadDetails(path=str(path), kind="directory", total_lines=len(entries), meta=meta or UNSET),
    )


async def _entry_row(path: Path, ctx: CodingContext) -> str:
    try:
        stat = await ctx.fs.stat(path)
    except OSError:
        stat = None
    if stat is None:
        return f"{path.name} (broken link)"
    return f"{path.name}/" if stat.is_dir else f"{path.name} ({format_bytes(stat.size)})"


async def _missing_text(path: Path, name: str, ctx: CodingContext) -> str:
    folder = path.parent
    stat = await ctx.fs.stat(folder)
    if stat is None:
        while stat is None and folder != folder.parent:
            folder = folder.parent
            stat = await ctx.fs.stat(folder)
        return f"There is no file {name}; of its folders only {shown(folder, ctx.cwd)} exists."
    if not stat.is_dir:
        return f"There is no file {name}: {shown(folder, ctx.cwd)} is a file, not a directory."
    names = await ctx.fs.list(folder)
    similar = [entry for entry in names if entry.casefold() == path.name.casefold()]
    similar = similar or difflib.get_close_matches(path.name, names, n=3, cutoff=0.6)
    hint = ", ".join(shown(folder / entry, ctx.cwd) for entry in similar)
    return f"There is no file {name}." + (f" Did you mean {hint}?" if hint else "")


def _image_type(data: bytes) -> str | None:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if data.startswith(b"RIFF") and data[8:12] == b"WEBP" else None


def _image(source: Source, mime_type: str) -> ToolOutput:
    size = format_bytes(len(source.data))
    details = ReadDetails(path=str(source.path or source.name), kind="image", mime_type=mime_type)
    if len(source.data) > MAX_IMAGE_BYTES:
        limit = format_bytes(MAX_IMAGE_BYTES)
        return ToolOutput.text(
            f"[{mime_type}, {size}: too large to show (at most {limit}); scale it down]", details
        )
    encoded = binascii.b2a_base64(source.data, newline=False).decode()
    return ToolOutput([TextContent(f"[{mime_type}, {size}]"), ImageContent(encoded, mime_type)], details)
