"""The socket of the running relay: other commands send messages and heartbeats over it."""

import asyncio
import os
import socket
import stat
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import DecodeError, json

from tau.base.errors import TauError, UsageError
from tau.base.sizes import MIB
from tau.relay.heartbeat import Heartbeats
from tau.relay.journal import OutgoingPart

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tau.relay.relay import Relay

ANSWER_S = 30.0
BEAT_S = 3600.0  # a heartbeat takes as long as the agent
MAX_REQUEST_BYTES = MIB


class ControlServer:
    """Answers one request per connection, of this user only."""

    def __init__(self, relay: "Relay", path: Path) -> None:
        self._relay = relay
        self._path = path
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """The caller holds the relay's lock, so a socket that is there is left over."""
        self._path.unlink(missing_ok=True)
        old = os.umask(0o177)
        try:
            self._server = await asyncio.start_unix_server(
                self._connected, self._path, limit=MAX_REQUEST_BYTES
            )
        except OSError as error:
            self._relay.log.write("warn", "control", f"The socket cannot be made: {error}")
        finally:
            os.umask(old)

    async def close(self) -> None:
        if self._server is None:
            return
        self._server.close()
        for task in self._open:
            task.cancel()
        if self._open:
            await asyncio.wait(self._open)
        self._path.unlink(missing_ok=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            peer = writer.get_extra_info("socket").getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            if struct.unpack("3i", peer)[1] in (os.geteuid(), 0):
                with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                    reply = await self._reply(await reader.readuntil(b"\n"))
                    writer.write(json.encode(reply) + b"\n")
                    await writer.drain()
        except asyncio.CancelledError:
            pass  # the relay ends
        finally:
            self._open.discard(task)
            writer.close()

    async def _reply(self, line: bytes) -> dict[str, object]:
        try:
            request = json.decode(line)
            if not isinstance(request, dict):
                raise UsageError("A request is an object.")
            match request.get("type"):
                case "send":
                    return {"success": True, **await self._send(request)}
                case "heartbeat":
                    return {"success": True, **await self._beat(request)}
            raise UsageError("Unknown request.")
        except DecodeError:
            return {"success": False, "error": "The request is not JSON."}
        except TauError as error:
            return {"success": False, "error": str(error)}

    async def _send(self, request: dict[str, Any]) -> dict[str, Any]:
        channel, chat = split_target(str(request.get("to") or ""))
        if channel not in self._relay.channels:
            raise UsageError(f"The running relay does not answer on {channel}.")
        parts = [
            OutgoingPart("media" if one.get("file") else "text", chat, str(one.get("content") or ""))
            for one in request.get("parts") or ()
        ]
        outbox = self._relay.outboxes[channel]
        return {"messageId": await outbox.deliver(parts, ANSWER_S)}

    async def _beat(self, request: dict[str, Any]) -> dict[str, object]:
        beats = Heartbeats(self._relay)
        keys = choose_targets(beats.targets(), request.get("to") or "", every=bool(request.get("all")))
        if request.get("dryRun"):
            return {"sent": [], "would": keys}
        if self._relay.is_busy():
            raise UsageError("A run or a question is open; try again later.")
        return {"sent": [key for key in keys if await beats.beat(key) is not None], "asked": keys}


def choose_targets(keys: list[str], to: str, *, every: bool) -> list[str]:
    """The conversations that a heartbeat is for. Raises UsageError."""
    if to:
        if to not in keys:
            raise UsageError(f"There is no conversation {to}. Active: {', '.join(keys) or 'none'}.")
        return [to]
    if not keys:
        raise UsageError("There is no conversation yet; someone has to write first.")
    if len(keys) > 1 and not every:
        raise UsageError(f"Several conversations are active ({', '.join(keys)}). Pass --to or --all.")
    return keys


def split_target(to: str) -> tuple[str, str]:
    """Raises UsageError."""
    channel, colon, chat = to.partition(":")
    if not (colon and channel and chat):
        raise UsageError(f'"{to}" does not say where to: use CHANNEL:CHAT, such as xmpp:you@example.org.')
    return channel, chat


async def ask_relay(path: Path, request: dict[str, Any], wait_s: float) -> dict[str, Any] | None:
    """The answer of the running relay; None if none runs. Raises UsageError, TauError with its error."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    if not stat.S_ISSOCK(status.st_mode) or status.st_uid != os.geteuid():
        raise UsageError(f'"{path}" is not a socket of yours; remove it.')
    try:
        reader, writer = await asyncio.open_unix_connection(path, limit=MAX_REQUEST_BYTES)
    except (ConnectionRefusedError, FileNotFoundError):
        return None
    try:
        writer.write(json.encode(request) + b"\n")
        async with asyncio.timeout(wait_s):
            reply: dict[str, Any] = json.decode(await reader.readuntil(b"\n"))
    except TimeoutError:
        raise TauError(f"The relay did not answer within {wait_s:g} s.") from None
    except (OSError, asyncio.IncompleteReadError, DecodeError):
        raise TauError("The relay ended before it answered.") from None
    finally:
        writer.close()
    if not reply.get("success"):
        raise TauError(str(reply.get("error") or "The relay refused."))
    return reply
