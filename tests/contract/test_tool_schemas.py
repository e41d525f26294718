"""What models see of the tools and what faces get from them: changes here are changes of a contract."""

from pathlib import Path
from typing import Any

import msgspec
from inline_snapshot import snapshot

from tau.coding.edits.report import EditDetails
from tau.coding.output import EntryLimit, OutputMeta, Truncation
from tau.coding.shell.details import BashDetails
from tau.coding.tools.read import ReadDetails
from tau.coding.tools.write import WriteDetails
from tests.contract.session_tools import HOW, tools_of_a_session


def as_json(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def test_schemas(tmp_path: Path) -> None:
    found = {name: spec.parameters for name, spec in tools_of_a_session(tmp_path).items()}
    pinned = snapshot(
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
                    "limit": {"description": "Maximum results", "type": "number", "default": 200},
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
                        "description": "Replacements",
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
                        "description": "Ids of jobs; waits until the first one ends",
                    },
                    "cancel": {
                        "type": "array",
                        "items": {"type": "string"},
                        "description": "Ids of jobs to stop",
                    },
                    "list": {"description": "Show all jobs now, without waiting", "type": "boolean"},
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
                                "code": {"description": "Plain code, no fences", "type": "string"},
                                "title": {"type": "string", "description": "Short label"},
                                "timeout": {
                                    "description": "Seconds, 1 to 600",
                                    "type": "integer",
                                    "minimum": 1,
                                    "maximum": 600,
                                    "default": 30,
                                },
                                "reset": {
                                    "description": "Restart this language's kernel first",
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
            "ssh": {
                "type": "object",
                "properties": {
                    "host": {"description": "Host name from the list", "type": "string"},
                    "command": {"description": "Text for the remote shell", "type": "string"},
                    "cwd": {"type": "string", "description": "Remote directory to run in"},
                    "timeout": {"type": "integer", "description": "Seconds, 1 to 3600"},
                },
                "required": ["host", "command"],
            },
            "todo": {
                "type": "object",
                "properties": {
                    "ops": {
                        "description": "Operations, in order",
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
            "checkpoint": {
                "type": "object",
                "properties": {"goal": {"description": "What to find out", "type": "string"}},
                "required": ["goal"],
            },
            "rewind": {
                "type": "object",
                "properties": {
                    "report": {
                        "description": "Your findings; nothing else of the investigation is kept",
                        "type": "string",
                    }
                },
                "required": ["report"],
            },
            "inspect_image": {
                "type": "object",
                "properties": {
                    "path": {"description": "Image file", "type": "string"},
                    "question": {"description": "What to find out about the image", "type": "string"},
                },
                "required": ["path", "question"],
            },
            "ask": {
                "type": "object",
                "properties": {
                    "questions": {
                        "description": "All questions at once",
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "id": {
                                    "description": "A short name for the answer",
                                    "type": "string",
                                },
                                "question": {
                                    "description": "The question, a full sentence",
                                    "type": "string",
                                    "minLength": 1,
                                },
                                "options": {
                                    "description": "Answers to choose from; the user can always type another",
                                    "type": "array",
                                    "items": {
                                        "type": "object",
                                        "properties": {
                                            "label": {
                                                "description": "The choice, in a few words",
                                                "type": "string",
                                                "minLength": 1,
                                            },
                                            "description": {
                                                "description": "What it means",
                                                "type": "string",
                                            },
                                        },
                                        "required": ["label"],
                                    },
                                    "maxItems": 30,
                                },
                                "multi": {
                                    "description": "Allow several options",
                                    "type": "boolean",
                                },
                                "recommended": {
                                    "type": "integer",
                                    "description": "Index of the option you recommend, from 0",
                                },
                            },
                            "required": ["id", "question"],
                        },
                        "maxItems": 10,
                        "minItems": 1,
                    }
                },
                "required": ["questions"],
            },
        }
    )
    assert found == pinned, HOW


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
