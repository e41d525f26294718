"""Reaches the debugging port of a browser that tau did not start, out of the sandbox if need be."""

import asyncio
import socket
from typing import TYPE_CHECKING

from tau.ai.proxy import Url, parse_url
from tau.backends.browser.connections import HostAccess, is_local
from tau.backends.sandbox.network.addresses import BUFFER_BYTES, CONNECT_S
from tau.backends.sandbox.network.streams import splice
from tau.base.errors import ProviderError, ToolError
from tau.base.tasks import spawn

if TYPE_CHECKING:
    from tau.backends.sandbox.session import SessionSandbox

WAIT_S = 5.0
POLL_S = 0.15
IDLE_S = 24 * 3600.0
MAX_CONNECTIONS = 50


async def reach_endpoint(
    url: str,
    access: HostAccess,
    sandbox: "SessionSandbox | None",
    group: asyncio.TaskGroup,
    *,
    configured: bool,
) -> tuple[str, asyncio.Task[None] | None]:
    """The address for a worker, and the task that forwards to it if the sandbox is between them.

    A browser in the sandbox needs no approval; others do, unless the user `configured` the address.
    Raises ToolError.
    """
    try:
        place = parse_url(url.replace("ws://", "http://", 1).replace("wss://", "https://", 1))
    except ProviderError:
        raise ToolError(f"{url} is not the address of a browser; use http://HOST:PORT.") from None
    if sandbox is not None and is_local(place.host) and await _listens_inside(place, sandbox):
        return url, None
    allowed = configured or access.allowed.allows(place.host, place.port)
    if not allowed and (access.ask is None or not await access.ask(place.host, place.port, True)):
        raise ToolError(
            f"Attaching to the browser at {place.peer} was not approved; the user can set browser.cdpUrl."
        )
    await _wait(url, place)
    if sandbox is None:
        return url, None
    if place.scheme == "https":
        raise ToolError("In the sandbox, only http:// and ws:// addresses of browsers can be attached to.")
    listener = await sandbox.listen()
    port = listener.getsockname()[1]
    forward = spawn(group, _forward(listener, place, group), name="browser-attach")
    return url.replace(place.peer, f"127.0.0.1:{port}", 1), forward


async def _listens_inside(place: Url, sandbox: "SessionSandbox") -> bool:
    (sock,) = await sandbox.make_sockets(1)
    with sock:
        try:
            async with asyncio.timeout(CONNECT_S):
                await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", place.port))
        except (OSError, TimeoutError):
            return False
    return True


async def _wait(url: str, place: Url) -> None:
    """Until something listens there."""
    try:
        async with asyncio.timeout(WAIT_S):
            while True:
                try:
                    _, writer = await asyncio.open_connection(place.host, place.port)
                except OSError:
                    await asyncio.sleep(POLL_S)
                else:
                    writer.close()
                    return
    except TimeoutError:
        raise ToolError(f"Timed out waiting for CDP endpoint {url} after {WAIT_S:g} s.") from None


async def _forward(listener: socket.socket, place: Url, group: asyncio.TaskGroup) -> None:
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(tasks) >= MAX_CONNECTIONS:
            writer.close()
            return
        task = spawn(group, _serve(reader, writer, place))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(accept, sock=listener, limit=BUFFER_BYTES)
    try:
        await server.serve_forever()
    finally:
        server.close()
        for task in tasks:
            task.cancel()


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, place: Url) -> None:
    try:
        there = await asyncio.open_connection(place.host, place.port, limit=BUFFER_BYTES)
        try:
            await splice((reader, writer), there, IDLE_S)
        finally:
            there[1].close()
    except OSError:
        pass  # the browser is gone
    finally:
        writer.close()
