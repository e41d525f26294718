"""What models see of the tools and what faces get from them: changes here are changes of a contract."""

from typing import Any

import msgspec
from inline_snapshot import snapshot

from tau.coding.output import EntryLimit, OutputMeta, Truncation
from tau.coding.tools import create_tools
from tau.coding.tools.bash import BashDetails
from tau.coding.tools.edit import EditDetails
from tau.coding.tools.read import ReadDetails
from tau.coding.tools.write import WriteDetails


def as_json(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def test_schemas() -> None:
    assert {tool.name: tool.spec.parameters for tool in create_tools()} == snapshot(
        {
            "read": {
                "type": "object",
                "properties": {
                    "path": {
                        "description": "File or directory, with optional line selector, e.g. src/a.py:50-100",
                        "type": "string",
                    }
                },
                "required": ["path"],
            },
            "bash": {
                "type": "object",
                "properties": {
                    "command": {"description": "Shell text", "type": "string"},
                    "timeout": {"type": "integer", "description": "Seconds, 1 to 3600"},
                    "cwd": {"type": "string", "description": "Directory to run in"},
                },
                "required": ["command"],
            },
            "edit": {
                "type": "object",
                "properties": {
                    "path": {"description": "File to change", "type": "string"},
                    "old_text": {"description": "Exact text to find, white space included", "type": "string"},
                    "new_text": {"description": "Text to put in its place", "type": "string"},
                    "replace_all": {"description": "Replace every occurrence", "type": "boolean"},
                },
                "required": ["path", "old_text", "new_text"],
            },
            "write": {
                "type": "object",
                "properties": {
                    "path": {"description": "File to create or replace", "type": "string"},
                    "content": {"description": "Its whole content", "type": "string"},
                },
                "required": ["path", "content"],
            },
        }
    )


def test_prompts() -> None:
    assert {tool.name: tool.spec.description for tool in create_tools()} == snapshot(
        {
            "read": """\
Read a text file, an image (png, jpeg, gif, webp) or a directory.
Text comes as `N:text`: line number, colon, then the line exactly as it is.
Without a selector you get the first 300 lines; one call gives at most 3000 lines or 50 KiB.
Selectors behind the path: `:50-100`, `:50+10` (10 lines from 50), `:50-` (to the end), `:5-9,40-60`,
`:raw` (no line numbers). `artifact://ID` is the full output of an earlier call.\
""",
            "bash": """\
Run a command in a fresh shell: `cd` and variables end with the call. No terminal, stdin is empty,
stdout and stderr come together. Time limit 300 s unless you set `timeout`.
Of long output you get the beginning and the end; all of it is kept as artifact://ID for read.
For files prefer read, edit and write. Start a server with `&` and send its output to a file.\
""",
            "edit": """\
Replace `old_text` in a file by `new_text`. `old_text` must match the file exactly, indentation
included, without the `N:` that read shows, and occur once unless `replace_all` is set: quote just
enough of the lines around the change to be unique. Encoding and line ends of the file are kept.\
""",
            "write": """\
Create a file or replace a whole one; to change a part of a file use edit. Parent directories are
made; a new file that begins with `#!` becomes executable.\
""",
        }
    )


def test_the_tools_of_a_request_stay_small() -> None:
    """The whole first request may have 6,000 bytes, and the system prompt needs its share."""
    specs = [msgspec.structs.asdict(tool.spec) for tool in create_tools()]
    assert len(msgspec.json.encode(specs)) < 3_300


def test_details_on_the_wire() -> None:
    truncation = Truncation(
        kept="ends",
        ranges=[(1, 5), (8, 9)],
        total_lines=9,
        total_bytes=90,
        shown_bytes=70,
        artifact_id="0",
    )
    meta = OutputMeta(truncation=truncation, entries=EntryLimit(5, 9))
    details = [
        ReadDetails(path="/a", kind="file", total_lines=9, first_line=1, last_line=9, meta=meta),
        ReadDetails(path="/a", kind="image", mime_type="image/png"),
        BashDetails(command="ls", cwd="/", exit_code=0, duration_ms=12),
        BashDetails(command="ls", cwd="/", signal="SIGKILL", timed_out=True, duration_ms=12),
        EditDetails(path="/a", diff="d", first_changed_line=1, replacements=1, added=1, removed=1),
        WriteDetails(path="/a", bytes=1, lines=1, created=True),
        WriteDetails(path="/a", bytes=1, lines=1, created=False, diff="d", added=1, removed=1),
    ]
    assert as_json(details) == snapshot(
        [
            {
                "path": "/a",
                "kind": "file",
                "totalLines": 9,
                "firstLine": 1,
                "lastLine": 9,
                "meta": {
                    "truncation": {
                        "kept": "ends",
                        "ranges": [[1, 5], [8, 9]],
                        "totalLines": 9,
                        "totalBytes": 90,
                        "shownBytes": 70,
                        "cutLines": 0,
                        "artifactId": "0",
                    },
                    "entries": {"shown": 5, "total": 9},
                },
            },
            {"path": "/a", "kind": "image", "mimeType": "image/png"},
            {"command": "ls", "cwd": "/", "exitCode": 0, "timedOut": False, "durationMs": 12},
            {
                "command": "ls",
                "cwd": "/",
                "exitCode": None,
                "signal": "SIGKILL",
                "timedOut": True,
                "durationMs": 12,
            },
            {"path": "/a", "diff": "d", "firstChangedLine": 1, "replacements": 1, "added": 1, "removed": 1},
            {"path": "/a", "bytes": 1, "lines": 1, "created": True, "executable": False},
            {
                "path": "/a",
                "bytes": 1,
                "lines": 1,
                "created": False,
                "executable": False,
                "diff": "d",
                "added": 1,
                "removed": 1,
            },
        ]
    )
