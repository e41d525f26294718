"""A Bot API on this machine, as far as the relay uses it."""

import asyncio
import json
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any
from urllib.parse import parse_qs

TOKEN = "123456:test-token-of-a-bot-that-is-long"


class FakeBotApi:
    """`sent` has every method that was called with its fields; `fail` answers a method with an error."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, dict[str, str]]] = []
        self.files: dict[str, bytes] = {}
        self.fail: dict[str, tuple[int, dict[str, Any]]] = {}
        self.drop: set[str] = set()  # methods that end without an answer
        self._updates: list[dict[str, Any]] = []
        self._more = asyncio.Condition()
        self._count = 0
        self._tasks: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> "FakeBotApi":
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._server.wait_closed()

    async def say(self, text: str = "", sender: int = 7, chat: int = 0, **more: Any) -> None:
        """A message of a user; `chat` below 0 is a group."""
        place = {"id": chat or sender, "type": "group" if chat < 0 else "private", "title": "Team"}
        user = {"id": sender, "is_bot": False, "first_name": f"User {sender}"}
        message = {"message_id": len(self._updates) + 1, "date": 1_900_000_000, "chat": place, "from": user}
        await self.push({"message": {**message, "text": text, **more}})

    async def press(self, data: str, sender: int = 7) -> None:
        user = {"id": sender, "is_bot": False, "first_name": f"User {sender}"}
        place = {"id": sender, "type": "private"}
        message = {"message_id": 1, "date": 1_900_000_000, "chat": place}
        await self.push(
            {
                "callback_query": {
                    "id": "q",
                    "from": user,
                    "chat_instance": "c",
                    "data": data,
                    "message": message,
                }
            }
        )

    async def push(self, update: dict[str, Any]) -> None:
        async with self._more:
            self._count += 1
            self._updates.append({"update_id": self._count, **update})
            self._more.notify_all()

    def texts(self, method: str = "sendMessage") -> list[str]:
        return [fields.get("text", "") for name, fields in self.sent if name == method]

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                await self._answer(head, reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target = head.split(b" ", 2)[1].decode()
        headers = dict(
            line.decode().lower().split(": ", 1) for line in head.strip().split(b"\r\n")[1:] if b": " in line
        )
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        if "/file/bot" in target:
            data = self.files[target.rpartition("/")[2]]
            writer.write(f"HTTP/1.1 200 OK\r\ncontent-length: {len(data)}\r\n\r\n".encode() + data)
            await writer.drain()
            return
        token, _, method = target.removeprefix("/bot").partition("/")
        fields = _fields(head, headers.get("content-type", ""), body)
        self.sent.append((method, fields))
        status, answer = 200, {"ok": True, "result": await self._result(method, fields)}
        if token != TOKEN:
            status, answer = 401, {"ok": False, "error_code": 401, "description": "Unauthorized"}
        if method in self.fail:
            status, answer = self.fail.pop(method)
        if method in self.drop:
            self.drop.discard(method)
            raise ConnectionResetError
        data = json.dumps(answer).encode()
        head_lines = f"content-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
        writer.write(f"HTTP/1.1 {status} X\r\n{head_lines}".encode() + data)
        await writer.drain()

    async def _result(self, method: str, fields: dict[str, str]) -> Any:
        match method:
            case "getMe":
                return {"id": 123456, "is_bot": True, "first_name": "Relay", "username": "relay_bot"}
            case "getUpdates":
                offset = int(fields.get("offset", 0))
                async with self._more:
                    await self._more.wait_for(lambda: self._count >= max(1, offset))
                return [one for one in self._updates if one["update_id"] >= offset]
            case "getFile":
                id = fields["file_id"]
                return {
                    "file_id": id,
                    "file_unique_id": id,
                    "file_size": len(self.files[id]),
                    "file_path": id,
                }
            case "deleteWebhook" | "sendChatAction" | "answerCallbackQuery":
                return True
        chat = {"id": int(fields["chat_id"]), "type": "private"}
        return {
            "message_id": len(self.sent),
            "date": 1_900_000_000,
            "chat": chat,
            "text": fields.get("text", ""),
        }


def _fields(head: bytes, type: str, body: bytes) -> dict[str, str]:
    if type.startswith("multipart/"):
        message = BytesParser(policy=HTTP).parsebytes(f"content-type: {type}\r\n\r\n".encode() + body)
        names = [part.get_param("name", header="content-disposition") for part in message.iter_parts()]
        values = [part.get_payload(decode=True).decode("latin-1") for part in message.iter_parts()]
        return dict(zip(map(str, names), values, strict=True))
    if type.startswith("application/json"):
        return {name: str(value) for name, value in json.loads(body).items()}
    return {name: values[0] for name, values in parse_qs(body.decode()).items()}
