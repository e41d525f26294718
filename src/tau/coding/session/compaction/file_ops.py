"""Which files a conversation has read and changed, from its tool calls and earlier summaries."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from tau.agent.call_runner import STOPPED
from tau.ai.wire import AppMessage, AssistantMessage, ToolCall, ToolResultMessage, text_of
from tau.base.errors import ToolError
from tau.coding.files.paths import split_selector
from tau.coding.session.compaction.estimate import text_tokens
from tau.coding.session.compaction.truncation import plain
from tau.hashline.format import parse_header

MAX_READ_SHOWN = 20
MAX_READ_KEPT = 500
_PATH_KEYS = ("path", "file_path", "file", "filename", "notebook_path")
_ENVELOPE = re.compile(r"\*\*\*\s*(?:(?:Add|Delete|Update) File|Move to):[ \t]*(.*?)\s*$", re.IGNORECASE)
_RENAME = re.compile(r"(?:rename|copy) (?:from|to) (.+?)\s*$")
_BLOCK = re.compile(r"\n*<(modified|read)-files[^>]*>\n.*?\n</\1-files>", re.DOTALL)


class FileOps(Struct, frozen=True):
    """Paths as first written; a changed file is not listed as read."""

    read: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()

    def details(self) -> dict[str, list[str]]:
        """As stored in the `details` of a compaction or a branch summary."""
        return {"readFiles": list(self.read), "modifiedFiles": list(self.modified)}


class CallResult(Struct, frozen=True):
    """A call, its result and the result's index; None and -1 if there is no result."""

    call: ToolCall
    result: ToolResultMessage | None
    index: int

    @property
    def failed(self) -> bool:
        """Whether it has done nothing: a call stopped by the user may have done part of its work."""
        result = self.result
        return result is not None and result.is_error and text_of(result.content) != STOPPED


def earlier_file_ops(details: object) -> FileOps:
    """The files listed in the details of an earlier summary."""
    found = plain(details)
    if not isinstance(found, dict):
        return FileOps()
    return FileOps(_texts(found.get("readFiles")), _texts(found.get("modifiedFiles")))


def file_ops(messages: Sequence[AppMessage], cwd: str, before: Iterable[FileOps] = ()) -> FileOps:
    """All files of these messages and of the summaries `before` them."""
    read: dict[str, str] = {}
    modified: dict[str, str] = {}
    for ops in before:
        _add_paths(read, ops.read, cwd)
        _add_paths(modified, ops.modified, cwd)
    for called in calls_with_results(messages):
        if called.failed:
            continue
        if called.call.name == "read":
            if called.result is not None:
                _add_paths(read, read_paths(called.call), cwd)
        else:
            _add_paths(modified, changed_paths(called.call, called.result), cwd)
    only_read = [path for normalized, path in read.items() if normalized not in modified]
    return FileOps(tuple(only_read[-MAX_READ_KEPT:]), tuple(modified.values()))


def calls_with_results(messages: Sequence[AppMessage]) -> list[CallResult]:
    """Every call in order, with its result."""
    calls: list[ToolCall] = []
    results: dict[int, ToolResultMessage] = {}
    indexes: dict[int, int] = {}
    waiting: dict[str, list[int]] = {}
    for index, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            for call in message.tool_calls:
                waiting.setdefault(call.id, []).append(len(calls))
                calls.append(call)
        elif isinstance(message, ToolResultMessage) and (open_calls := waiting.get(message.tool_call_id)):
            number = open_calls.pop()
            results[number], indexes[number] = message, index
    return [
        CallResult(call, results.get(number), indexes.get(number, -1)) for number, call in enumerate(calls)
    ]


def read_paths(call: ToolCall) -> list[str]:
    return [path_of(text) for text in _argument_paths(call.arguments) if not _is_internal(text)]


def path_of(text: str) -> str:
    """The path without a line selector."""
    try:
        return split_selector(text)[0]
    except ToolError:
        return text


def changed_paths(call: ToolCall, result: ToolResultMessage | None) -> list[str]:
    """The files that a successful call changed, or that an unfinished one may have changed."""
    details = None if result is None else plain(result.details)
    reported = list(_result_paths(details)) if isinstance(details, dict) else []
    match call.name:
        case "write":
            paths = _argument_paths(call.arguments)
            if any(map(_is_internal, paths)) and result is not None:
                return [*_headers(text_of(result.content)), *reported]
            return [*(path for path in paths if not _is_internal(path)), *reported]
        case "edit" | "multi_edit" | "apply_patch":
            return [*_argument_paths(call.arguments), *_patch_paths(call.arguments), *reported]
        case "ast_edit" | "resolve":
            if isinstance(details, dict) and "state" in details:
                return reported if details["state"] == "applied" else []
            return list(_strings(call.arguments.get("paths"))) if call.name == "ast_edit" else []
    return []


def file_lists(ops: FileOps, room_tokens: float) -> str:
    """The file lists for the model, "" if there are no files.

    Every changed file is named. If a list exceeds `room_tokens`, it is grouped by folder; if even that does
    not fit, it ends with a count.
    """
    text = ""
    if ops.modified:
        full = _block("modified-files", ops.modified)
        if text_tokens(full) > room_tokens:
            full = _block("modified-files", _by_folder(ops.modified))
        if text_tokens(full) > room_tokens:
            full = _truncated_block("modified-files", ops.modified, room_tokens)
        text += full
    if ops.read:
        shown = ops.read[-MAX_READ_SHOWN:]
        more = f' shown="{len(shown)}" of="{len(ops.read)}"' if len(shown) < len(ops.read) else ""
        block = _block("read-files", shown, more)
        if text_tokens(text) + text_tokens(block) <= room_tokens:
            text += block
    return text


def without_file_lists(summary: str) -> str:
    """The summary without its file lists, which are made again for the next one."""
    return _BLOCK.sub("", summary).strip()


def _add_paths(found: dict[str, str], paths: Iterable[str], cwd: str) -> None:
    for path in paths:
        if path.strip() and "\0" not in path:
            found.setdefault(normalize_path(path, cwd), path)


def normalize_path(path: str, cwd: str) -> str:
    """Normalize a path, without access to the disk."""
    return os.path.normpath(os.path.join(cwd, os.path.expanduser(path)))  # noqa: PTH111, PTH118


def _argument_paths(arguments: dict[str, object]) -> list[str]:
    """The paths named in the arguments, including inside a list of edits."""
    found = [path for key in _PATH_KEYS for path in _strings(arguments.get(key))]
    edits = arguments.get("edits")
    if isinstance(edits, list):
        found += [path for edit in edits if isinstance(edit, dict) for path in _argument_paths(edit)]
    for key in ("rename", "new_path", "move_to"):
        found += _strings(arguments.get(key))
    return found


def _patch_paths(arguments: dict[str, object]) -> Iterator[str]:
    """The paths that a patch names, in all patch formats."""
    for key in ("input", "patch", "diff"):
        for text in _strings(arguments.get(key)):
            lines = text.splitlines()
            yield from _headers(text)
            for index, line in enumerate(lines):
                if (head := _ENVELOPE.match(line)) is not None or (head := _RENAME.match(line)) is not None:
                    yield head[1]
                elif line.startswith("+++ ") and index and lines[index - 1].startswith("--- "):
                    yield from filter(None, map(_diff_name, (lines[index - 1], line)))


def _diff_name(line: str) -> str:
    name = line[4:].split("\t")[0].strip().strip('"')
    if name == "/dev/null":
        return ""
    return name[2:] if name[:2] in ("a/", "b/") else name


def _headers(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line[:1] in ("¶", "[") and (header := parse_header(line)) is not None and header.path:
            yield header.path


def _result_paths(details: dict[str, object]) -> Iterator[str]:
    """Paths in the details of a result that changed files."""
    yield from _strings(details.get("path"))
    for key in ("perFileResults", "files"):
        rows = details.get(key)
        if isinstance(rows, list):
            for row in rows:
                yield from _strings(row.get("path") if isinstance(row, dict) else row)


def _strings(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return _texts(value)


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _is_internal(path: str) -> bool:
    return "://" in path and not path.startswith("file://")


def _block(name: str, lines: Iterable[str], more: str = "") -> str:
    return f"\n\n<{name}{more}>\n" + "\n".join(map(_line, lines)) + f"\n</{name}>"


def _line(path: str) -> str:
    """A path on one line, whatever characters its name contains."""
    return path if path.isprintable() else path.encode("unicode_escape").decode()


def _by_folder(paths: Sequence[str]) -> list[str]:
    folders: dict[str, list[str]] = {}
    for path in paths:
        folder, slash, name = path.rpartition("/")
        folders.setdefault(folder + slash, []).append(name)
    return [
        folder + names[0] if len(names) == 1 else f"{folder}{{{','.join(names)}}}"
        for folder, names in folders.items()
    ]


def _truncated_block(name: str, paths: Sequence[str], room_tokens: float) -> str:
    shown: list[str] = []
    left = room_tokens - 40
    for path in paths:
        left -= text_tokens(path) + 1
        if left < 0:
            break
        shown.append(path)
    shown.append(f"… and {len(paths) - len(shown)} more; the session file has all of them")
    return _block(name, shown)
