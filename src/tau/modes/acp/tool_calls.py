"""Tool calls as editors show them: kind, title, files, diffs."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from acp import schema as a
from msgspec import UNSET, Struct

from tau.agent.ports import FileSystem
from tau.ai.wire import ImageContent, TextContent, UserContent, text_of
from tau.base.sizes import MIB
from tau.coding.edits.report import EditDetails, FileDetails
from tau.coding.files.targets import locate_for_write
from tau.coding.session.snippets import arguments_line
from tau.coding.tools.read import ReadDetails
from tau.coding.tools.write import WriteDetails
from tau.modes.acp.content import image_block, text_block

ToolContent = a.ContentToolCallContent | a.FileEditToolCallContent | a.TerminalToolCallContent

KINDS: dict[str, a.ToolKind] = {
    "read": "read",
    "inspect_image": "read",
    "edit": "edit",
    "ast_edit": "edit",
    "write": "edit",
    "search": "search",
    "find": "search",
    "ast_grep": "search",
    "lsp": "search",
    "recall": "search",
    "web_search": "fetch",
    "browser": "fetch",
    "github": "fetch",
    "bash": "execute",
    "eval": "execute",
    "ssh": "execute",
    "debug": "execute",
    "job": "execute",
    "todo": "think",
}
TITLE_CHARS = 200
MAX_DIFF_BYTES = 8 * MIB


class ShownCall(Struct, frozen=True):
    """A call as it starts."""

    id: str
    tool: str
    arguments: dict[str, Any]
    cwd: Path

    @property
    def kind(self) -> a.ToolKind:
        return KINDS.get(self.tool, "other")

    @property
    def title(self) -> str:
        """A command is shown whole; other calls by what they are about."""
        if (command := self.arguments.get("command")) and isinstance(command, str):
            return command
        return f"{self.tool} {arguments_line(self.arguments)[:TITLE_CHARS]}".rstrip()

    @property
    def locations(self) -> list[a.ToolCallLocation]:
        path = self.arguments.get("path")
        if not isinstance(path, str) or not path or "://" in path:
            return []
        return [location(path.partition(":")[0], self.cwd)]

    def start(self, status: a.ToolCallStatus) -> a.ToolCallStart:
        return a.ToolCallStart(
            session_update="tool_call",
            tool_call_id=self.id,
            title=self.title,
            kind=self.kind,
            status=status,
            locations=self.locations,
            raw_input=self.arguments,
        )

    async def planned(self, files: FileSystem) -> list[ToolContent]:
        """What the arguments say about a change, before it is made to what `files` has."""
        path, new = self.arguments.get("path"), self.arguments.get("content")
        if self.tool == "write" and isinstance(path, str) and isinstance(new, str):
            target = locate_for_write(path, self.cwd)
            if target.kind == "file":
                return [_diff(target.path, await _read_text(files, target.path.resolve()), new)]
        old, changed = self.arguments.get("old_text"), self.arguments.get("new_text")
        if (
            self.tool == "edit"
            and isinstance(path, str)
            and isinstance(old, str)
            and isinstance(changed, str)
        ):
            return [_diff(self.cwd / path, old, changed)]
        return []

    def end(self, content: Sequence[UserContent], details: object, *, is_error: bool) -> a.ToolCallProgress:
        """What a finished call shows: diffs for changed files, else its text and images."""
        found = _typed(self.tool, details)
        diffs = list(_diffs(self.arguments, found, self.cwd))
        return a.ToolCallProgress(
            session_update="tool_call_update",
            tool_call_id=self.id,
            status="failed" if is_error else "completed",
            content=diffs or [_block(part) for part in content],
            locations=_locations(found, self.cwd) or self.locations,
            raw_output={"text": text_of(content)},
        )


def _typed(tool: str, details: object) -> EditDetails | WriteDetails | ReadDetails | None:
    """The details as the tool's struct; those of a stored session are plain values."""
    kinds: dict[str, type[EditDetails | WriteDetails | ReadDetails]] = {
        "edit": EditDetails,
        "write": WriteDetails,
        "read": ReadDetails,
    }
    kind = kinds.get(tool)
    if kind is None:
        return None
    try:
        return details if isinstance(details, kind) else msgspec.convert(details, kind, strict=False)
    except (msgspec.ValidationError, TypeError, ValueError):
        return None


def _locations(details: object, cwd: Path) -> list[a.ToolCallLocation]:
    match details:
        case EditDetails():
            files = [details] if details.per_file_results is UNSET else details.per_file_results
            return [location(file.path, cwd, file.first_changed_line) for file in files]
        case WriteDetails():
            return [location(details.path, cwd)] if "://" not in details.path else []
        case ReadDetails(resolved_path=str() as path):
            line = details.first_line
            return [location(path, cwd, line if isinstance(line, int) else None)]
    return []


def location(path: str, cwd: Path, line: int | None = None) -> a.ToolCallLocation:
    return a.ToolCallLocation(path=str(cwd / path), line=line)


def _block(part: UserContent) -> a.ContentToolCallContent:
    shown = image_block(part) if isinstance(part, ImageContent) else text_block(part.text)
    return a.ContentToolCallContent(type="content", content=shown)


def text_content(text: str) -> a.ContentToolCallContent:
    return _block(TextContent(text))


def _diffs(arguments: dict[str, object], details: object, cwd: Path) -> Iterator[ToolContent]:
    match details:
        case EditDetails():
            files = [details] if details.per_file_results is UNSET else details.per_file_results
            for file in files:
                yield from _hunks(file, cwd)
        case WriteDetails(created=True) if isinstance(text := arguments.get("content"), str):
            yield _diff(cwd / details.path, None, text)
        case WriteDetails(diff=str() as diff):
            yield from (_diff(cwd / details.path, old, new) for old, new in parse_hunks(diff))


def _hunks(file: FileDetails, cwd: Path) -> Iterator[ToolContent]:
    for old, new in parse_hunks(file.diff):
        yield _diff(cwd / file.path, None if file.op == "create" else old, new)


def parse_hunks(diff: str) -> Iterator[tuple[str, str]]:
    """The old and new text of each hunk of a unified diff."""
    old: list[str] = []
    new: list[str] = []
    for row in [*diff.split("\n")[2:], "@@"]:
        if row.startswith("@@"):
            if old or new:
                yield "\n".join(old), "\n".join(new)
            old, new = [], []
        elif row[:1] in (" ", "-", "+"):
            if row[0] != "+":
                old.append(row[1:])
            if row[0] != "-":
                new.append(row[1:])


def _diff(path: Path, old: str | None, new: str) -> a.FileEditToolCallContent:
    return a.FileEditToolCallContent(type="diff", path=str(path), old_text=old, new_text=new)


async def _read_text(files: FileSystem, path: Path) -> str | None:
    """None for what is no file: a pipe has no end."""
    try:
        if not path.is_file() or path.stat().st_size > MAX_DIFF_BYTES:
            return None
        return (await files.read(path)).decode()
    except (OSError, UnicodeDecodeError):
        return None
