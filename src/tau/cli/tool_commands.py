"""`tau read`, `tau grep`, `tau edit`: the exact tool results a model gets."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from msgspec import DecodeError, json

from tau.ai.wire import ImageContent
from tau.base.errors import ToolError, UsageError
from tau.base.text import plain
from tau.cli.json_output import write_json
from tau.cli.subcommand_help import usage_line
from tau.modes.output_stream import OutputStream
from tau.sdk import call_tool


def run(name: str, words: list[str]) -> int:
    """Return the exit code: 0, or 1 if the tool failed."""
    end = words.index("--") if "--" in words else len(words)
    flags = {word for word in words[:end] if name == "read" and word in ("--raw", "--json")}
    words = [word for word in words[:end] if word not in flags] + words[end + 1 :]
    tool, arguments = _call(name, words, raw="--raw" in flags)
    try:
        output = asyncio.run(call_tool(tool, arguments, Path.cwd(), approved=True))
    except ToolError as error:
        sys.stderr.write(f"tau: {plain(str(error))}\n")
        return 1
    out = OutputStream()
    if "--json" in flags:
        write_json({"content": output.content, "details": output.details})
        return 1 if output.is_error else 0
    for part in output.content:
        if isinstance(part, ImageContent):
            out.text(f"[{part.mime_type}, {len(part.data)} characters of base64]\n")
        else:
            out.text(part.text if part.text.endswith("\n") else f"{part.text}\n")
    return 1 if output.is_error else 0


def _call(name: str, words: list[str], *, raw: bool = False) -> tuple[str, dict[str, Any]]:
    if name == "read" and len(words) == 1:
        path = words[0]
        return "read", {"path": f"{path}:raw" if raw and not path.endswith(":raw") else path}
    if name == "grep" and words:
        return "search", {"pattern": words[0], "paths": words[1:] or ["."]}
    if name == "edit" and not words and not sys.stdin.isatty():
        return "edit", _edit(sys.stdin.buffer.read())
    raise UsageError(usage_line(name))


def _edit(data: bytes) -> dict[str, Any]:
    """The patch, or the arguments of a call: replace mode has no patch."""
    if data.lstrip().startswith(b"{"):
        try:
            return json.decode(data, type=dict[str, Any])
        except DecodeError as error:
            raise UsageError(f"Invalid JSON on standard input: {error}.") from None
    return {"input": data.decode("utf-8", "replace")}
