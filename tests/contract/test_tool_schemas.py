"""Tool schemas for models and details for UIs: changes here change a contract."""

from pathlib import Path
from typing import Any

import msgspec
from inline_snapshot import snapshot

from tau.coding.edits.report import EditDetails
from tau.coding.output import EntryLimit, OutputMeta, OutputSource, ReachedLimits, Truncation
from tau.coding.shell.details import BashDetails
from tau.coding.tools.read import DisplayContent, ReadDetails
from tau.coding.tools.write import WriteDetails
from tests.contract.session_tools import HOW, tools_of_a_session


def as_json(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def test_schemas(tmp_path: Path) -> None:
    found = {
        name: spec.parameters
        for name, spec in tools_of_a_session(tmp_path).items()
        if name not in ("web_search", "browser", "github")  # test_web_tool_schemas.py
    }
    pinned = snapshot(
        {
            "read": {
                "type": "object",
                "properties": {"path": {"type": "string"}},
                "required": ["path"],
            },
            "bash": {
                "type": "object",
                "properties": {
                    "command": {"type": "string"},
                    "timeout": {"type": "integer", "description": "Seconds, 1 to 3600"},
                    "cwd": {"type": "string"},
                    "pty": {"description": "Run in a terminal", "type": "boolean"},
                    "async": {"description": "Run as a job", "type": "boolean"},
                },
                "required": ["command"],
            },
            "edit": {
                "type": "object",
                "properties": {"input": {"type": "string"}},
                "required": ["input"],
            },
            "write": {
                "type": "object",
                "properties": {
                    "path": {"type": "string"},
                    "content": {"type": "string"},
                },
                "required": ["path", "content"],
            },
            "search": {
                "type": "object",
                "properties": {
                    "pattern": {"type": "string"},
                    "paths": {"type": "array", "items": {"type": "string"}},
                    "i": {"description": "Ignore case", "type": "boolean"},
                    "gitignore": {"type": "boolean"},
                    "skip": {"type": "number"},
                },
                "required": ["pattern", "paths"],
            },
            "find": {
                "type": "object",
                "properties": {
                    "paths": {
                        "type": "array",
                        "items": {"type": "string"},
                    },
                    "gitignore": {"type": "boolean"},
                },
                "required": ["paths"],
            },
            "ast_grep": {
                "type": "object",
                "properties": {
                    "pat": {"type": "string"},
                    "paths": {"type": "array", "items": {"type": "string"}},
                    "skip": {"type": "integer"},
                },
                "required": ["pat", "paths"],
            },
            "ast_edit": {
                "type": "object",
                "properties": {
                    "ops": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "pat": {"type": "string"},
                                "out": {"type": "string"},
                            },
                            "required": ["pat", "out"],
                        },
                    },
                    "paths": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["ops", "paths"],
            },
            "resolve": {
                "type": "object",
                "properties": {
                    "action": {
                        "enum": ["apply", "discard"],
                        "type": "string",
                    },
                    "reason": {"type": "string"},
                },
                "required": ["action"],
            },
            "job": {
                "type": "object",
                "properties": {
                    "poll": {"type": "array", "items": {"type": "string"}},
                    "cancel": {"type": "array", "items": {"type": "string"}},
                    "list": {"type": "boolean"},
                },
            },
            "eval": {
                "type": "object",
                "properties": {
                    "cells": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "language": {
                                    "enum": ["js", "py"],
                                    "type": "string",
                                },
                                "code": {"type": "string"},
                                "timeout": {"type": "integer"},
                                "reset": {"type": "boolean"},
                            },
                            "required": ["language", "code"],
                        },
                    }
                },
                "required": ["cells"],
            },
            "ssh": {
                "type": "object",
                "properties": {
                    "host": {"type": "string"},
                    "command": {"type": "string"},
                    "cwd": {"type": "string", "description": "Remote directory to run in"},
                    "timeout": {"type": "integer", "description": "Seconds, 1 to 3600"},
                },
                "required": ["host", "command"],
            },
            "lsp": {
                "type": "object",
                "properties": {
                    "action": {
                        "enum": [
                            "capabilities",
                            "code_actions",
                            "definition",
                            "diagnostics",
                            "hover",
                            "implementation",
                            "incoming_calls",
                            "outgoing_calls",
                            "references",
                            "reload",
                            "rename",
                            "rename_file",
                            "request",
                            "status",
                            "symbols",
                            "type_definition",
                        ],
                        "type": "string",
                    },
                    "file": {"type": "string"},
                    "line": {"type": "integer"},
                    "symbol": {"type": "string"},
                    "query": {"type": "string"},
                    "new_name": {"type": "string"},
                    "apply": {"type": "boolean"},
                    "timeout": {"type": "number"},
                    "payload": {"type": "string"},
                },
                "required": ["action"],
            },
            "debug": {
                "type": "object",
                "properties": {
                    "action": {
                        "enum": [
                            "attach",
                            "continue",
                            "custom_request",
                            "data_breakpoint_info",
                            "disassemble",
                            "evaluate",
                            "launch",
                            "loaded_sources",
                            "modules",
                            "output",
                            "pause",
                            "read_memory",
                            "remove_breakpoint",
                            "remove_data_breakpoint",
                            "remove_instruction_breakpoint",
                            "scopes",
                            "sessions",
                            "set_breakpoint",
                            "set_data_breakpoint",
                            "set_instruction_breakpoint",
                            "stack_trace",
                            "step_in",
                            "step_out",
                            "step_over",
                            "terminate",
                            "threads",
                            "variables",
                            "write_memory",
                        ],
                        "type": "string",
                    },
                    "program": {"type": "string"},
                    "args": {"type": "array", "items": {"type": "string"}},
                    "adapter": {"type": "string"},
                    "cwd": {"type": "string"},
                    "file": {"type": "string"},
                    "line": {"type": "integer"},
                    "function": {"type": "string"},
                    "name": {"type": "string"},
                    "condition": {"type": "string"},
                    "hit_condition": {"type": "string"},
                    "log_message": {"type": "string"},
                    "exceptions": {"type": "array", "items": {"type": "string"}},
                    "expression": {"type": "string"},
                    "context": {"type": "string"},
                    "frame_id": {"type": "integer"},
                    "scope_id": {"type": "integer"},
                    "variable_ref": {"type": "integer"},
                    "pid": {"type": "integer"},
                    "port": {"type": "integer"},
                    "host": {"type": "string"},
                    "levels": {"type": "integer"},
                    "memory_reference": {"type": "string"},
                    "instruction_reference": {"type": "string"},
                    "instruction_count": {"type": "integer"},
                    "instruction_offset": {"type": "integer"},
                    "count": {"type": "integer"},
                    "data": {"type": "string"},
                    "data_id": {"type": "string"},
                    "access_type": {"enum": ["read", "readWrite", "write"], "type": "string"},
                    "command": {"type": "string"},
                    "arguments": {"type": "object"},
                    "offset": {"type": "integer"},
                    "resolve_symbols": {"type": "boolean"},
                    "allow_partial": {"type": "boolean"},
                    "start_module": {"type": "integer"},
                    "module_count": {"type": "integer"},
                    "timeout": {"type": "number"},
                },
                "required": ["action"],
            },
            "todo": {
                "type": "object",
                "properties": {
                    "ops": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "op": {
                                    "enum": ["append", "done", "drop", "init", "note", "rm", "start", "view"],
                                    "type": "string",
                                },
                                "list": {
                                    "type": "array",
                                    "items": {
                                        "type": "object",
                                        "properties": {
                                            "phase": {"type": "string"},
                                            "items": {"type": "array", "items": {"type": "string"}},
                                        },
                                        "required": ["phase", "items"],
                                    },
                                },
                                "task": {"type": "string"},
                                "phase": {"type": "string"},
                                "items": {"type": "array", "items": {"type": "string"}},
                                "text": {"type": "string"},
                            },
                            "required": ["op"],
                        },
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
                "properties": {"report": {"type": "string"}},
                "required": ["report"],
            },
            "inspect_image": {
                "type": "object",
                "properties": {
                    "path": {"type": "string"},
                    "question": {"type": "string"},
                },
                "required": ["path", "question"],
            },
            "task": {
                "type": "object",
                "properties": {
                    "agent": {"type": "string"},
                    "context": {"type": "string"},
                    "tasks": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "assignment": {"type": "string"},
                                "id": {"type": "string"},
                                "description": {"type": "string"},
                            },
                            "required": ["assignment"],
                        },
                    },
                },
                "required": ["agent", "context", "tasks"],
            },
            "irc": {
                "type": "object",
                "properties": {
                    "op": {"enum": ["inbox", "list", "send", "wait"], "type": "string"},
                    "to": {"type": "string"},
                    "message": {"type": "string"},
                    "replyTo": {"type": "string"},
                    "await": {"type": "boolean"},
                    "from": {"type": "string"},
                    "timeoutMs": {"type": "number"},
                    "peek": {"type": "boolean"},
                },
                "required": ["op"],
            },
            "recall": {
                "type": "object",
                "properties": {
                    "query": {"description": "What to look for, in natural language", "type": "string"}
                },
                "required": ["query"],
            },
            "retain": {
                "type": "object",
                "properties": {
                    "items": {
                        "description": "Facts to store",
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "content": {
                                    "description": "One fact, clear without the conversation",
                                    "type": "string",
                                },
                                "context": {
                                    "description": "Where it comes from, or why it matters",
                                    "type": "string",
                                },
                            },
                            "required": ["content"],
                        },
                        "maxItems": 50,
                    }
                },
                "required": ["items"],
            },
            "reflect": {
                "type": "object",
                "properties": {
                    "query": {"description": "The question", "type": "string"},
                    "context": {"description": "Why you ask", "type": "string"},
                },
                "required": ["query"],
            },
            "memory_edit": {
                "type": "object",
                "properties": {
                    "op": {
                        "description": "invalidate hides a memory that is no longer true, but keeps it",
                        "enum": ["forget", "invalidate", "update"],
                        "type": "string",
                    },
                    "id": {"description": "Id of the memory, as recall shows it", "type": "string"},
                    "content": {"type": "string", "description": "New text (update)"},
                    "importance": {"type": "number", "description": "0 to 1 (update)"},
                    "replacement_id": {
                        "description": "Memory that replaces it (invalidate)",
                        "type": "string",
                    },
                },
                "required": ["op", "id"],
            },
            "ask": {
                "type": "object",
                "properties": {
                    "questions": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "id": {"type": "string"},
                                "question": {"type": "string"},
                                "options": {
                                    "type": "array",
                                    "items": {
                                        "type": "object",
                                        "properties": {
                                            "label": {"type": "string"},
                                            "description": {"type": "string"},
                                        },
                                        "required": ["label"],
                                    },
                                },
                                "multi": {"type": "boolean"},
                                "recommended": {"type": "integer"},
                            },
                            "required": ["id", "question"],
                        },
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
    meta = OutputMeta(
        truncation=truncation,
        limits=ReachedLimits(result_limit=EntryLimit(5, 9)),
        source=OutputSource("path", "/a"),
    )
    details = [
        ReadDetails(
            path="/a",
            kind="file",
            resolved_path="/a",
            total_lines=9,
            first_line=1,
            last_line=9,
            display_content=DisplayContent("text", 1),
            meta=meta,
        ),
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
                "resolvedPath": "/a",
                "totalLines": 9,
                "firstLine": 1,
                "lastLine": 9,
                "displayContent": {"text": "text", "startLine": 1},
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
                    "limits": {"resultLimit": {"shown": 5, "total": 9}},
                    "source": {"type": "path", "value": "/a"},
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
            {"path": "/a", "bytes": 1, "lines": 1, "created": True, "madeExecutable": False},
            {
                "path": "/a",
                "bytes": 1,
                "lines": 1,
                "created": False,
                "madeExecutable": False,
                "diff": "d",
                "added": 1,
                "removed": 1,
            },
        ]
    )
