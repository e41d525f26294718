"""A server of the newest revision over HTTP, of the official SDK: prints its port."""

import socket

import uvicorn
from mcp.server.mcpserver import MCPServer

server = MCPServer("modern")


@server.tool()
def double(number: int) -> int:
    """Twice a number"""
    return 2 * number


if __name__ == "__main__":
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(listener.getsockname()[1], flush=True)
    app = server.streamable_http_app()
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])
