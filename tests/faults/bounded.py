"""A program for child processes: runs tool calls, each in a separate child with little memory.

Standard input has one call per line, as JSON: `{"tool": "read", "arguments": {...}, "folder": "/work"}`.
Standard output has one answer per line: `text` or `error`, and `peak_bytes`, the memory the call added.
"""

import asyncio
import json
import os
import resource
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from tau.agent.tool import Tool
from tau.base.errors import ToolError
from tau.coding.readers import directory, large_file, notebook
from tau.coding.readers.archives import archive
from tau.coding.readers.documents import convert
from tau.coding.readers.sqlite import database
from tau.coding.tools.edit import Edit
from tau.coding.tools.edit_patch import PatchEdit
from tau.coding.tools.find import Find
from tau.coding.tools.read import Read
from tau.coding.tools.search import Search
from tau.coding.tools.write import Write
from tests.coding.context import call, call_context, text_of

MAX_BYTES = 1 << 30
TOOLS: dict[str, Tool[Any]] = {
    "read": Read(),
    "write": Write(),
    "edit": Edit(),
    "patch": PatchEdit("apply_patch"),
    "search": Search(),
    "find": Find(),
}
LOADED = (
    archive,
    convert,
    large_file,
    notebook,
    database,
    directory,
)  # so that a child does not count their import
UNIT = 1 if sys.platform == "darwin" else 1024


def answer(tool: str, arguments: dict[str, Any], folder: str) -> dict[str, Any]:
    os.chdir(folder)
    with suppress(OSError, ValueError):  # not every system can; the peak is measured anyway
        resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with call_context(Path.cwd()) as ctx:
        try:
            message = {"text": text_of(asyncio.run(call(TOOLS[tool], ctx, **arguments)))}
        except ToolError as error:
            message = {"error": str(error)}
        except Exception as error:  # a bug: tools report problems as a ToolError
            message = {"fault": repr(error)}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {**message, "peak_bytes": peak * UNIT}


def main() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        sys.stdout.flush()
        pid = os.fork()
        if not pid:
            sys.stdout.write(json.dumps(answer(**asked)) + "\n")
            sys.stdout.flush()
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if status:
            sys.stdout.write(
                json.dumps({"fault": f"the process ended with {status}", "peak_bytes": 0}) + "\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
