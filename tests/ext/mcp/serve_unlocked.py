"""Starts `tau mcp serve --http` without its token, for the conformance suite: prints the URL."""

import asyncio
import socket
import sys
import tempfile
from pathlib import Path

from tau.ai.faux import Faux, Say
from tau.modes import mcp_server_http
from tau.modes.serve.access import AccessGate
from tau.sdk import SessionOptions


def open_gate() -> None:
    """The suite cannot send a token; Host and Origin are checked as always."""
    AccessGate._check_token = lambda self, scope, headers: None  # type: ignore[method-assign]


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        print(f"http://127.0.0.1:{listener.getsockname()[1]}{mcp_server_http.PATH}", flush=True)
        options = SessionOptions(cwd=Path(folder), save=False, stream=Faux([[Say("Done.")]]).stream)
        open_gate()
        await mcp_server_http.serve(options, "t" * 64, listener)


if __name__ == "__main__":
    asyncio.run(main()) if len(sys.argv) == 1 else None
