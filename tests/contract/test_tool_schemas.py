"""What models see of the tools and what faces get from them: changes here are changes of a contract."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from inline_snapshot import snapshot

from tau.coding.edits.report import EditDetails
from tau.coding.output import EntryLimit, OutputMeta, Truncation
from tau.coding.tools import create_tools
from tau.coding.tools.bash import BashDetails
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
                    "env": {
                        "description": "Variables for this call",
                        "type": "object",
                        "additionalProperties": {"type": "string"},
                    },
                    "pty": {"description": "Run in a terminal", "type": "boolean"},
                    "async": {"description": "Run as a job", "type": "boolean"},
                    "fresh": {"description": "Run in a new shell", "type": "boolean"},
                },
                "required": ["command"],
            },
            "edit": {
                "type": "object",
                "properties": {
                    "input": {"description": "Sections of hunks, one section per file", "type": "string"}
                },
                "required": ["input"],
            },
            "write": {
                "type": "object",
                "properties": {
                    "path": {"description": "File to create or replace", "type": "string"},
                    "content": {"description": "Its whole content", "type": "string"},
                },
                "required": ["path", "content"],
            },
            "search": {
                "type": "object",
                "properties": {
                    "pattern": {"description": "Regular expression", "type": "string"},
                    "paths": {
                        "description": "Files, directories, globs or internal URLs; `.` for everything",
                        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
                    },
                    "i": {"description": "Ignore case", "type": "boolean"},
                    "gitignore": {"description": "Respect .gitignore", "type": "boolean", "default": True},
                    "skip": {"description": "Matching files to skip, for the next page", "type": "number"},
                },
                "required": ["pattern", "paths"],
            },
            "find": {
                "type": "object",
                "properties": {
                    "paths": {
                        "description": "Globs, directories or files",
                        "type": "array",
                        "items": {"type": "string"},
                    },
                    "hidden": {"description": "Include hidden files", "type": "boolean", "default": True},
                    "gitignore": {"description": "Respect .gitignore", "type": "boolean", "default": True},
                    "limit": {"description": "Most paths to return", "type": "number", "default": 200},
                    "timeout": {"description": "Seconds, 0.5 to 60", "type": "number", "default": 5.0},
                },
                "required": ["paths"],
            },
            "ast_grep": {
                "type": "object",
                "properties": {
                    "pat": {"description": "Code with holes: $NAME, $$$NAME", "type": "string"},
                    "paths": {
                        "description": "Files, directories or globs; `.` for everything",
                        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
                    },
                    "skip": {
                        "description": "Matching files to skip, for the next page",
                        "type": "integer",
                        "minimum": 0,
                    },
                },
                "required": ["pat", "paths"],
            },
            "ast_edit": {
                "type": "object",
                "properties": {
                    "ops": {
                        "description": "What to replace by what",
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "pat": {"description": "Code with holes: $NAME, $$$NAME", "type": "string"},
                                "out": {
                                    "description": "Its replacement, with the same holes; empty to delete",
                                    "type": "string",
                                },
                            },
                            "required": ["pat", "out"],
                        },
                        "minItems": 1,
                    },
                    "paths": {
                        "description": "Files, directories or globs",
                        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
                    },
                },
                "required": ["ops", "paths"],
            },
            "resolve": {
                "type": "object",
                "properties": {
                    "action": {
                        "description": "What to do with the preview",
                        "enum": ["apply", "discard"],
                        "type": "string",
                    },
                    "reason": {"description": "Why, in one sentence", "type": "string"},
                },
                "required": ["action"],
            },
            "job": {
                "type": "object",
                "properties": {
                    "poll": {
                        "type": "array",
                        "items": {"type": "string"},
                        "description": "Ids of jobs to wait for until the first one ends",
                    },
                    "cancel": {
                        "type": "array",
                        "items": {"type": "string"},
                        "description": "Ids of jobs to stop",
                    },
                    "list": {"description": "Show every job now, without waiting", "type": "boolean"},
                },
                "required": [],
            },
            "eval": {
                "type": "object",
                "properties": {
                    "cells": {
                        "description": "Run in this order",
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "language": {
                                    "description": "Kernel to run it in",
                                    "enum": ["js", "py"],
                                    "type": "string",
                                },
                                "code": {"description": "Code as it is, no fences", "type": "string"},
                                "title": {"type": "string", "description": "Short label"},
                                "timeout": {
                                    "description": "Seconds, 1 to 600",
                                    "type": "integer",
                                    "minimum": 1,
                                    "maximum": 600,
                                    "default": 30,
                                },
                                "reset": {
                                    "description": "Start this language's kernel anew first",
                                    "type": "boolean",
                                },
                            },
                            "required": ["language", "code"],
                        },
                        "minItems": 1,
                    }
                },
                "required": ["cells"],
            },
            "todo": {
                "type": "object",
                "properties": {
                    "ops": {
                        "description": "What to do, in this order",
                        "type": "array",
                        "items": {
                            "description": "One operation; which fields it needs depends on `op`.",
                            "type": "object",
                            "properties": {
                                "op": {
                                    "description": "What to do",
                                    "enum": ["append", "done", "drop", "init", "note", "rm", "start", "view"],
                                    "type": "string",
                                },
                                "list": {
                                    "type": "array",
                                    "items": {
                                        "type": "object",
                                        "properties": {
                                            "phase": {"description": "Name of the phase", "type": "string"},
                                            "items": {
                                                "description": "Its tasks in order",
                                                "type": "array",
                                                "items": {"type": "string"},
                                                "minItems": 1,
                                            },
                                        },
                                        "required": ["phase", "items"],
                                    },
                                    "description": "init: the whole new list, phase by phase",
                                },
                                "task": {
                                    "type": "string",
                                    "description": "start, note, and done, drop, rm of one task: its exact text",
                                },
                                "phase": {
                                    "type": "string",
                                    "description": "append, and done, drop, rm of a whole phase: its exact name",
                                },
                                "items": {
                                    "type": "array",
                                    "items": {"type": "string"},
                                    "minItems": 1,
                                    "description": "append: the tasks to add",
                                },
                                "text": {
                                    "type": "string",
                                    "description": "note: what to remember about the task",
                                },
                            },
                            "required": ["op"],
                        },
                        "minItems": 1,
                    }
                },
                "required": ["ops"],
            },
        }
    )


def test_prompts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = tmp_path / "node"  # what is said about JavaScript depends on it
    node.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert {tool.name: tool.spec.description for tool in create_tools()} == snapshot(
        {
            "read": """\
Read a file, a directory or an image (png, jpeg, gif, webp). Text files come under a header `¶PATH#TAG`, which edit
needs, as lines `N:text`: line number, colon, then the line exactly as it is.
A long file of code without a selector is shown in brief, its bodies left out: read the ranges you need. Otherwise you
get the first 300 lines; one call gives at most 3000 lines or 50 KiB.
Selectors behind the path: `:50-100`, `:50+10` (10 lines from 50), `:50-` (to the end), `:5-9,40-60`, `:raw` (as it is).
Also read: archives (`a.zip:inner/path`), SQLite (`a.db`, `a.db:table`, `a.db:table:key`, `a.db?q=SELECT ...`), notebooks
as cells, pdf, docx, pptx, xlsx, epub, `artifact://ID` (the full output of an earlier call), `local://PATH` (your
notes), `tau://` (tau's own documentation).\
""",
            "bash": """\
Run a command in a fresh shell: `cd` and variables end with the call. No terminal, stdin is empty,
stdout and stderr come together. Time limit 300 s unless you set `timeout`.
Of long output you get the beginning and the end; all of it is kept as artifact://ID for read.
For files prefer read, edit and write. Start a server with `&` and send its output to a file.\
""",
            "edit": """\
Edits files by line number. `input` has one section per file: the header `¶PATH#TAG`, copied from the latest read, search, write or edit of that file, then hunks.

- `replace N..M:` replaces lines N to M with the body
- `delete N..M` deletes them; it has no body
- `insert before N:` / `insert after N:` / `insert head:` / `insert tail:`
- `replace block N:` / `delete block N` / `insert after block N:` apply to the whole construct (function, class, statement) that starts on line N: its first line, or that of its decorators; not a comment above it.

A body follows each header that ends in `:`. Its rows are `+TEXT`, with the exact indentation; `+` alone is a blank line. There are no `-` rows and no context rows: lines outside every range stay, so name only the lines that change. Write text that starts with `+` or `-` as `++…` or `+-…`.

All numbers refer to the file as shown under the tag, even in later hunks. Each line belongs to at most one hunk. All sections apply together or not at all. The result has a new tag and new numbers: use them next. If the tag is rejected, check the lines in the result before retrying.

Example, for a file shown as

¶src/app.py#0A3B
1:import os
2:
3:def main():
4:    print("hi")
5:    return

input:

¶src/app.py#0A3B
replace 4..4:
+    name = os.environ["USER"]
+    print("hello", name)
insert after 1:
+import sys\
""",
            "write": """\
Create a file or replace a whole one; to change a part of a file use edit. Parent directories are
made; a new file that begins with `#!` becomes executable.
Also written: an entry of an archive (`a.zip:inner/path`), a row of a SQLite table (`a.db:table` inserts,
`a.db:table:key` updates; `content` is a JSON object, empty deletes the row), notes of your own (`local://PATH`).\
""",
            "search": """\
Search file contents with a regular expression (Rust syntax, as in ripgrep; no look-around).
`paths` are files, directories, globs (`src/**/*.py`), archive members (`a.zip:src/x.py`) or internal URLs; put
`:50-100` behind a single file to search these lines only. Escape literal braces: `interface\\{\\}`.
Only a pattern with `\\n` matches across lines. Hidden files are searched, ignored ones and those above 4 MiB are not
(name such a file, or set `gitignore` to false).
Rows are `*LINE:text` for matches, ` LINE:text` for lines around them, under `¶PATH#TAG`, which edit takes.
You get 20 files a page, 20 matches of each (200 of a single file); `skip` gets the next page.\
""",
            "find": """\
Find files and directories by name: globs (`*.py` anywhere, `src/*.py` in that directory, `src/**/*.py` below it),
directories (everything in them) or files. Newest first, at most 200, grouped by directory; directories end with `/`.
Ignored files are left out unless `gitignore` is false. To look into files use search.\
""",
            "ast_grep": """\
Find code by its structure. `pat` is a piece of code in the language of the files, with holes: `$NAME` fits one
expression, name or statement, `$$$NAME` any number of them, `$_` anything; the same name twice must fit the same
code. White space and layout do not matter. Examples: `print($A)`, `if ($A) { $$$B }`, `def $F($$$ARGS): $$$BODY`.
A pattern is one complete expression, statement or declaration. `paths` are files, directories or globs; ignored files
and languages without a parser are passed over. For plain text use search.
You get 20 files a page, 20 matches of each (200 of a single file); `skip` gets the next page.\
""",
            "ast_edit": """\
Change code by its structure, in many places at once. Each op replaces what `pat` fits by `out`; `pat` is code with
holes as in ast_grep (`$NAME` one thing, `$$$NAME` several), and `out` may use the same holes. Example:
`{"pat": "assertEqual($A, $B)", "out": "assert $A == $B"}`. An empty `out` deletes. All ops look at the files as they
are now; of matches inside one another the outer one is changed.
You get a preview. Nothing is written until you call resolve with action `apply`.\
""",
            "resolve": "Apply or discard the change that a tool has just shown as a preview. Nothing is written before you apply it.",
            "job": """\
Wait for background jobs, stop them, or look at them. Without parameters: wait until one of the running jobs ends.
`poll` waits for the first of the named jobs to end, at most 30 s; then call again for the others. `cancel` stops
jobs and does not wait. `list` shows all jobs at once and goes alone.
What a job has to say when it ends comes to you by itself: wait only when you cannot go on without it.\
""",
            "eval": """\
Run code in kernels that keep their variables between cells and calls, instead of `python -c` or `node -e` in bash. Cells run in
order and stop at the first failure; `reset` starts the kernel of that language anew. You see what is printed, the value of the
last line, and what is displayed: `display(x)` shows lists and objects as JSON, images as images. Nobody types: stdin fails.
py: the project's own Python. Top-level await works. Figures of matplotlib are shown after the cell. Markdown(text) and HTML(text)
make rich text.
js: Node.js. Top-level await, return and import work; const and let may be declared again. The helpers below that touch files or
tau are async, and options are a trailing object: await read("a.txt", {limit: 10}).
Helpers: read(path, offset=1, limit=None), write(path, text), append(path, text), tree(path, max_depth=3, hidden=False),
diff(path, path), env(key, value), sort(text, reverse, unique), uniq(text, count), counter(items, limit, reverse), output(artifact_id),
log(message), phase(title). tool.NAME(argument=value) calls another tool and gives its text. completion(prompt,
model="default"|"smol"|"slow", system=None, schema=None) asks a model, parallel([function, ...]) and pipeline(items, stage, ...) work
side by side.\
""",
            "todo": """\
Keep the list of what you are doing. The user sees it. Use it for work of three steps or more, or when the user gives you several things to do; not for a single small step.

`ops` are done in order:
- `init` with `list` ([{phase, items}]): a new list in place of the old one. The first task is in progress at once.
- `start` with `task`: this one is in progress now; there is only one.
- `done`, `drop`, `rm` with `task`, or with `phase` for all of a phase, or with neither for everything: completed, given up, or removed from the list.
- `append` with `phase` and `items`: more tasks; a phase that is not there is made.
- `note` with `task` and `text`: something to remember about a task.
- `view`: look at the list.

Tasks and phases are named by their exact text, so keep each text unique and short. After `done` or `drop` the next pending task is in progress by itself. Mark a task done as soon as it is done, and only then; drop what is no longer needed.\
""",
        }
    )


def test_the_tools_of_a_request_stay_small() -> None:
    """Every request pays for them; the four basic ones alone leave room in a first request of 6,000 bytes."""

    def size(names: tuple[str, ...] | None) -> int:
        return len(msgspec.json.encode([msgspec.structs.asdict(tool.spec) for tool in create_tools(names)]))

    assert size(("read", "bash", "edit", "write")) < 4_200
    assert size(None) < 14_000


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
        EditDetails(path="/a", op="update", diff="d", first_changed_line=1, added=1, removed=1),
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
            {
                "path": "/a",
                "op": "update",
                "diff": "d",
                "firstChangedLine": 1,
                "added": 1,
                "removed": 1,
                "warnings": [],
            },
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
