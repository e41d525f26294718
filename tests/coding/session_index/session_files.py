"""Session files for tests: built line by line, also as other programs and crashes leave them."""

import json
from pathlib import Path
from typing import Any

from tau.coding.session.storage.log import file_name, new_session_id
from tau.config.paths import folder_name

TIME = "2026-01-31T12:00:00.000Z"


def header(cwd: str = "/home/me/x", **more: Any) -> bytes:
    return line(
        {"type": "session", "version": 3, "id": new_session_id(), "timestamp": TIME, "cwd": cwd, **more}
    )


def line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def entry(id: str, type: str, **fields: Any) -> bytes:
    return line({"type": type, "id": id, "parentId": None, "timestamp": TIME, **fields})


def user(id: str, text: str) -> bytes:
    return entry(id, "message", message={"role": "user", "content": text, "timestamp": 1})


def usage(dollars: float = 0.25) -> dict[str, Any]:
    cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": dollars}
    return {"input": 10, "output": 5, "cacheRead": 3, "cacheWrite": 1, "cost": cost}


def answer(id: str, text: str, *, dollars: float = 0.25, model: str = "small") -> bytes:
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": text}],
        "api": "fake",
        "provider": "fake",
        "model": model,
        "usage": usage(dollars),
        "stopReason": "stop",
        "timestamp": 1,
    }
    return entry(id, "message", message=message)


def result(id: str, text: str) -> bytes:
    content = [{"type": "text", "text": text}]
    message = {
        "role": "toolResult",
        "toolCallId": "c",
        "toolName": "bash",
        "content": content,
        "isError": False,
        "timestamp": 1,
    }
    return entry(id, "message", message=message)


def named(id: str, name: str | None) -> bytes:
    return entry(id, "session_info", name=name)


def write(root: Path, *lines: bytes, cwd: str = "/home/me/x", flat: bool = False) -> Path:
    """A session file below `root`, with a header unless the first line is one."""
    folder = root if flat else root / folder_name(Path(cwd))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / file_name(TIME, new_session_id())
    path.write_bytes(header(cwd) + b"".join(lines))
    return path
