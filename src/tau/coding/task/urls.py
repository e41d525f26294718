"""The internal URLs `agent://` (results of agents) and `history://` (their transcripts)."""

import asyncio
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

import msgspec

from tau.agent.ports import ToolContext
from tau.ai.wire import AssistantMessage, CustomMessage, ToolResultMessage, UserContent, UserMessage, text_of
from tau.base.errors import SessionError, ToolError
from tau.base.sizes import MIB
from tau.base.text import shortened
from tau.coding.artifacts import FolderArtifacts
from tau.coding.internal_urls.schemes import ReadOnlyUrls, inner_parts
from tau.coding.ports import Resource
from tau.coding.session.storage.log import SessionLog

MAX_BYTES = 64 * MIB
PART_CHARS = 2_000


def _find(folder: Path, id: str, suffix: str) -> Path | None:
    """An agent's file; ids match without regard to case."""
    wanted = f"{id}{suffix}".lower()
    return next((path for path in folder.glob(f"*{suffix}") if path.name.lower() == wanted), None)


def _known(folder: Path, suffix: str) -> str:
    found = sorted(path.name.removesuffix(suffix) for path in folder.glob(f"*{suffix}"))
    return f"There are: {', '.join(found[:50])}." if found else "There are none yet."


class AgentUrls(ReadOnlyUrls):
    """`agent://ID`: an agent's output; `agent://ID/PATH` and `agent://ID?q=QUERY`: a part of its JSON."""

    scheme = "agent"

    def __init__(self, artifacts: FolderArtifacts) -> None:
        self._artifacts = artifacts

    async def resolve(self, rest: str, ctx: ToolContext) -> Resource:
        folder = self._artifacts.folder()
        name, _, query = rest.partition("?")
        id, *parts = inner_parts(unquote(name), self.scheme) or [""]
        path = _find(folder, id, ".md")
        if path is None:
            raise ToolError(
                f"There is no output of an agent {id or 'without a name'}. {_known(folder, '.md')}"
            )
        asked = parse_qs(query).get("q", [])
        if parts and asked:
            raise ToolError("Use either a path or ?q=, not both.")
        if path.stat().st_size > MAX_BYTES:
            raise ToolError(f"The output of {id} is too large to read this way: {path}.")
        data = await asyncio.to_thread(path.read_bytes)
        if not parts and not asked:
            return Resource(url=f"agent://{rest}", data=data, path=path)
        keys = parts or re.findall(r"[^.\[\]]+", asked[0])
        return Resource(url=f"agent://{rest}", data=_extract(data, keys, id))


def _extract(data: bytes, keys: list[str], id: str) -> bytes:
    try:
        value: Any = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        raise ToolError(f"The output of {id} is not JSON, so no part of it can be named.") from None
    for key in keys:
        key = key.strip("\"'")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif (
            isinstance(value, list)
            and re.fullmatch(r"-?\d{1,9}", key)
            and -len(value) <= int(key) < len(value)
        ):
            value = value[int(key)]
        else:
            has = (
                ", ".join(list(value)[:20])
                if isinstance(value, dict)
                else f"{len(value)} items"
                if isinstance(value, list)
                else "a plain value"
            )
            raise ToolError(f'The output of {id} has no "{key}" there; it has {has}.')
    return (
        value.encode()
        if isinstance(value, str)
        else msgspec.json.format(msgspec.json.encode(value), indent=2)
    )


class HistoryUrls(ReadOnlyUrls):
    """`history://ID`: the conversation of an agent, shortened."""

    scheme = "history"

    def __init__(self, artifacts: FolderArtifacts) -> None:
        self._artifacts = artifacts

    async def resolve(self, rest: str, ctx: ToolContext) -> Resource:
        folder = self._artifacts.folder()
        id = unquote(rest).strip("/")
        path = _find(folder, id, ".jsonl")
        if path is None:
            raise ToolError(f"There is no transcript of an agent {id}. {_known(folder, '.jsonl')}")
        text = await asyncio.to_thread(transcript, path)
        return Resource(url=f"history://{rest}", data=text.encode("utf-8", "replace"))


def transcript(path: Path) -> str:
    """A session as text: the messages, and which tools did what. Raises ToolError."""
    try:
        log = SessionLog.open(path, read_only=True)
    except (SessionError, OSError) as error:
        raise ToolError(f"The transcript {path} cannot be read: {error}") from None
    parts = []
    for message in log.messages():
        match message:
            case UserMessage(content=content):
                parts.append(f"## User\n{_text(content)}")
            case AssistantMessage():
                calls = [
                    f"-> {call.name} {shortened(msgspec.json.encode(call.arguments).decode(), 300)}"
                    for call in message.tool_calls
                ]
                failure = message.error_message
                calls += [f"[{failure}]"] if isinstance(failure, str) else []
                parts.append(
                    "\n".join(["## Agent", *([message.text] if message.text.strip() else []), *calls])
                )
            case ToolResultMessage():
                failed = " failed" if message.is_error else ""
                parts.append(f"## {message.tool_name}{failed}\n{_short(text_of(message.content))}")
            case CustomMessage(content=content, display=True):
                parts.append(f"## Message\n{_short(_text(content))}")
            case _:
                pass
    log.close()
    return "\n\n".join(parts) + "\n"


def _text(content: str | list[UserContent]) -> str:
    return content if isinstance(content, str) else text_of(content)


def _short(text: str) -> str:
    return text if len(text) <= PART_CHARS else f"{text[:PART_CHARS]}\n[… {len(text):,} characters]"
