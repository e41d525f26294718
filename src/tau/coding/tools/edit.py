"""edit: one exact piece of text in a file replaced by another; every byte outside it stays as it was."""

import asyncio
import stat as modes
import weakref
from pathlib import Path
from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.base.errors import ToolError
from tau.base.text import Decoded, NotText, decode, encode, is_binary
from tau.coding.diff import unified
from tau.coding.output import KIB, format_bytes
from tau.coding.paths import failure, real, resolve, shown
from tau.coding.ports import CodingContext
from tau.coding.replace import MAX_SPANS, Span, apart, find, line_at, replace, why_not_found
from tau.coding.tools import ToolSettings

MAX_FILE_BYTES = 64 * KIB * KIB
MAX_PLACES = 20


class EditParams(Struct, frozen=True):
    aliases: ClassVar[dict[str, str]] = {
        "file_path": "path",
        "old_string": "old_text",
        "new_string": "new_text",
        "oldText": "old_text",
        "newText": "new_text",
    }

    path: Annotated[str, Meta(description="File to change")]
    old_text: Annotated[str, Meta(description="Exact text to find, white space included")]
    new_text: Annotated[str, Meta(description="Text to put in its place")]
    replace_all: Annotated[bool, Meta(description="Replace every occurrence")] = False


class EditDetails(Struct, frozen=True, rename="camel", kw_only=True):
    path: str
    diff: str
    first_changed_line: int
    replacements: int
    added: int
    removed: int


class Edit(Tool[EditParams]):
    name, label = "edit", "Edit"

    def __init__(self, settings: ToolSettings | None = None) -> None:
        # Parallel edits of one file take turns, so that both land; a lock lives as long as somebody holds it.
        self._turns: weakref.WeakValueDictionary[Path, asyncio.Lock] = weakref.WeakValueDictionary()

    def effects(self, params: EditParams, cwd: Path) -> Effects:
        path = resolve(params.path, cwd)
        return Effects(reads=(path,), writes=(path,))

    async def run(self, params: EditParams, ctx: CodingContext) -> ToolOutput:
        if not params.old_text:
            raise ToolError("`old_text` is empty; quote the text to replace, or use write for a new file.")
        if params.old_text == params.new_text:
            raise ToolError("`old_text` and `new_text` are the same, so there is nothing to change.")
        path = resolve(params.path, ctx.cwd)
        key = real(path)
        turn = self._turns.get(key)
        if turn is None:
            turn = self._turns[key] = asyncio.Lock()
        try:
            async with turn:
                return await _edit(path, params, ctx)
        except OSError as error:
            raise failure("edit", shown(path, ctx.cwd), error) from error


async def _edit(path: Path, params: EditParams, ctx: CodingContext) -> ToolOutput:
    name = shown(path, ctx.cwd)
    stat = await ctx.fs.stat(path)
    if stat is None:
        raise ToolError(f"There is no file {name} to edit; use write to create it.")
    if stat.is_dir or not modes.S_ISREG(stat.mode or modes.S_IFREG):
        raise ToolError(f"{name} is not a file that can be edited.")
    if stat.size > MAX_FILE_BYTES:
        raise ToolError(
            f"{name} is too large to edit ({format_bytes(stat.size)}); use bash, for example sed."
        )
    data = await ctx.fs.read(path)
    decoded = _decoded(data, name)
    spans = _places(decoded.text, params, name)
    text = replace(decoded.text, spans, params.new_text)
    if text == decoded.text:
        raise ToolError(
            "`old_text` and `new_text` differ only in line ends, which stay as they are in the file."
        )
    new_data = _encoded(text, decoded, name)
    _check_untouched(data, new_data, decoded, spans)
    after = await ctx.fs.write(path, new_data, expect=stat)
    seen = ctx.snapshots.last_seen(path)
    ctx.snapshots.remember(path, after)
    return _report(path, name, decoded.text, text, spans, changed_meanwhile=seen is not None and seen != stat)


def _decoded(data: bytes, name: str) -> Decoded:
    if is_binary(data):
        raise ToolError(f"{name} is a binary file and was not changed; use bash with a fitting program.")
    try:
        return decode(data)
    except NotText as error:
        raise ToolError(
            f"{name} was not changed, because editing it as text could damage it. {error}. "
            "Use bash: convert it with iconv, or change it with sed or perl."
        ) from None


def _places(text: str, params: EditParams, name: str) -> list[Span]:
    spans = find(text, params.old_text)
    if not spans:
        raise ToolError(f"`old_text` was not found in {name}. {why_not_found(text, params.old_text)}")
    if len(spans) > MAX_SPANS:
        raise ToolError(
            f"`old_text` stands more than {MAX_SPANS} times in {name}; use bash, for example sed."
        )
    if params.replace_all:
        return apart(spans)
    if len(spans) > 1:
        lines = ", ".join(str(line_at(text, span.start)) for span in spans[:MAX_PLACES])
        more = f" and {len(spans) - MAX_PLACES} more" if len(spans) > MAX_PLACES else ""
        raise ToolError(
            f"`old_text` stands {len(spans)} times in {name}, at lines {lines}{more}. "
            "Quote more of the text around the one you mean, or set `replace_all`."
        )
    return spans


def _encoded(text: str, like: Decoded, name: str) -> bytes:
    try:
        return encode(text, like)
    except UnicodeEncodeError as error:
        bad = text[error.start]
        raise ToolError(
            f"`new_text` has the character {bad!r}, which {name} ({like.encoding}) cannot hold."
        ) from None


def _check_untouched(old: bytes, new: bytes, decoded: Decoded, spans: list[Span]) -> None:
    """The promise of this tool, checked on the bytes that will be written."""
    head = len(encode(decoded.text[: spans[0].start], decoded))
    tail = len(decoded.text[spans[-1].end :].encode(decoded.encoding))
    if old[:head] != new[:head] or (tail and old[-tail:] != new[-tail:]):
        raise ToolError("Nothing was changed: this file's encoding would have altered text outside the edit.")


def _report(
    path: Path, name: str, old: str, new: str, spans: list[Span], *, changed_meanwhile: bool
) -> ToolOutput:
    diff = unified(old, new, name)
    first = diff.first_changed_line or line_at(old, spans[0].start)
    details = EditDetails(
        path=str(path),
        diff=diff.text,
        first_changed_line=first,
        replacements=len(spans),
        added=diff.added,
        removed=diff.removed,
    )
    times = "" if len(spans) == 1 else f" in {len(spans)} places"
    note = (
        " It had changed on disk since you last saw it; those changes are kept." if changed_meanwhile else ""
    )
    return ToolOutput.text(
        f"Edited {name}{times} (+{diff.added} -{diff.removed} lines, first at line {first}).{note}", details
    )
