"""`tau mcp serve`: offers tau's tools and prompts to MCP clients, over stdio or HTTP."""

import asyncio
import os
import socket
import sys
from collections.abc import Sequence

from tau.base import log
from tau.base.errors import UsageError
from tau.base.late import late
from tau.base.sizes import MIB
from tau.cli.launch import reserve_standard_streams, session_options
from tau.cli.subcommand_flags import parse_subcommand
from tau.cli.working_folder import resolve_working_folder
from tau.config.paths import user_paths
from tau.modes.mcp_server import McpEndpoint
from tau.modes.output_stream import OutputStream, tell
from tau.sdk import SessionOptions

access = late("tau.modes.serve.access")
http = late("tau.modes.mcp_server_http")

LINE_BYTES = 16 * MIB
DEFAULT_PORT = 8229


def run(words: Sequence[str]) -> int:
    """Raises TauError."""
    wants_http = "--http" in words
    parsed = parse_subcommand("serve", [word for word in words if word != "--http"], common=True)
    if parsed.words:
        raise UsageError("tau mcp serve takes no words; clients send them.")
    options = session_options(parsed, resolve_working_folder(parsed.value("cwd")))
    log.to(user_paths().logs)
    reserve_standard_streams()
    port = parsed.value("port")
    if port and not port.isdigit():
        raise UsageError("--port takes a number.")
    work = _serve_http(options, int(port or DEFAULT_PORT)) if wants_http else _serve_stdio(options)
    try:
        asyncio.run(work)
    except KeyboardInterrupt:
        return 130
    return 0


async def _serve_stdio(options: SessionOptions) -> None:
    """Until the client closes our input."""
    out = OutputStream()
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LINE_BYTES)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)

    async def send(data: bytes) -> None:
        await asyncio.to_thread(out.write, data + b"\n")

    async with asyncio.TaskGroup() as tasks:
        endpoint = McpEndpoint(options, tasks, send)
        try:
            while line := await reader.readline():
                if line.strip():
                    endpoint.take(line)
        except ValueError:
            tell("The client sent a line that is too long.")
        finally:
            transport.close()
            await endpoint.close()


async def _serve_http(options: SessionOptions, port: int) -> None:
    token = access.load_token(user_paths(os.environ).serve_token)
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError as error:
        raise UsageError(
            f"Port {port} cannot be used: {error.strerror}; choose another with --port."
        ) from None
    address = f"http://127.0.0.1:{listener.getsockname()[1]}{http.PATH}"
    OutputStream().text(f"Serving MCP at {address}; clients send the header Authorization: Bearer {token}\n")
    await http.serve(options, token, listener)
