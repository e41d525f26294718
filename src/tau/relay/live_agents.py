"""Agents that stay alive between messages: pi and tau over their JSON-lines RPC."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import DecodeError, json

from tau.base.run import Limits, LocalRunner, Process
from tau.base.tasks import shielded, spawn
from tau.relay.agent_run import KILL_GRACE_S, collect_errors
from tau.relay.agents.output import AgentReply, exit_error, one_sentence, session_problem, string
from tau.relay.agents.pi import read_events

MAX_EVENT_BYTES = 64 * 1024 * 1024
DIALOGS = ("select", "confirm", "input", "editor")
MISSING = "No session (found matching|has an id)"

Ask = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


class AgentGone(Exception):
    """The process ended; `reply` says why."""

    def __init__(self, reply: AgentReply) -> None:
        super().__init__(reply.error)
        self.reply = reply


class LiveAgent:
    """One process for one session. Between prompts nothing reads it, and nothing wakes up."""

    def __init__(self, process: Process, errors: bytearray, collector: asyncio.Task[None]) -> None:
        self._process = process
        self._errors = errors
        self._collector = collector  # of what it writes to stderr; ends after the process
        self._output = process.output()
        self._pending = bytearray()
        self._events: list[dict[str, object]] = []
        self._number = 0
        self._steered: dict[str, str] = {}  # messages that the agent has not acknowledged, by request
        self.used_at = time.monotonic()
        self.busy = False
        self.ended = False
        self.bound_to = ""  # the session

    @classmethod
    async def open(
        cls,
        runner: LocalRunner,
        argv: Sequence[str],
        *,
        cwd: Path,
        inherit: Callable[[str], bool],
        group: asyncio.TaskGroup,
    ) -> "LiveAgent":
        """Raises OSError."""
        read_fd, write_fd = os.pipe()
        try:
            process = await runner.start(
                argv,
                cwd=cwd,
                stdin="open",
                stderr=write_fd,
                limits=Limits(grace=KILL_GRACE_S),
                inherit=inherit,
            )
        except BaseException:
            os.close(read_fd)
            raise
        finally:
            os.close(write_fd)
        errors = bytearray()
        return cls(process, errors, spawn(group, collect_errors(read_fd, process, errors)))

    async def session_id(self) -> str:
        """The id of its session. Raises AgentGone."""
        request = await self._send("get_state")
        async for event in self._read():
            if event.get("type") == "response" and event.get("id") == request:
                return string(event, "data", "sessionId")
        raise AgentGone(await self._farewell())

    async def prompt(self, text: str, ask: Ask) -> AgentReply:
        """Send a message and wait for the end of its run. Raises AgentGone."""
        request = await self._send("prompt", message=text)
        self._events, self.busy = [], True
        is_settled = False
        try:
            async for event in self._read():
                match event.get("type"):
                    case "response":
                        steered = self._steered.pop(str(event.get("id")), None)
                        if event.get("id") == request and event.get("success") is not True:
                            return AgentReply(
                                error=one_sentence([string(event, "error"), "The prompt failed."])
                            )
                        if steered is not None and is_settled:  # it came too late for the run
                            is_settled = False
                            if string(event, "data", "disposition") != "started":
                                await self._send("prompt", message=steered)
                    case "extension_ui_request":
                        await self._answer(event, ask)
                    case "agent_settled":
                        is_settled = True
                    case "message_end":
                        self._events.append(event)
                if is_settled and not self._steered:
                    return read_events(self._events)
        finally:
            self.busy = False
            self._steered.clear()
            self.used_at = time.monotonic()
        raise AgentGone(await self._farewell())

    async def steer(self, text: str) -> bool:
        """Send a message into the current run; False if there is none."""
        if not self.busy or self.ended:
            return False
        self._number += 1
        id = f"relay-{self._number}"
        self._steered[id] = text
        with suppress(AgentGone):
            await self._write({"id": id, "type": "steer", "message": text})
        return True

    @property
    def partial(self) -> str:
        """Texts of the current run so far."""
        return "\n".join(read_events(self._events).texts)

    async def close(self) -> None:
        """The process has ended and is reaped afterwards, even if several cancel this."""
        self.ended = True
        await shielded(self._end())

    async def _end(self) -> None:
        await self._process.kill(grace=KILL_GRACE_S)
        await self._process.__aexit__(None, None, None)

    async def _answer(self, event: dict[str, object], ask: Ask) -> None:
        if event.get("method") in DIALOGS:
            answer = await ask(event)
            await self._write({"type": "extension_ui_response", "id": event.get("id"), **answer})

    async def _send(self, type: str, **fields: Any) -> str:
        self._number += 1
        id = f"relay-{self._number}"
        await self._write({"id": id, "type": type, **fields})
        return id

    async def _write(self, frame: dict[str, object]) -> None:
        try:
            await self._process.write(json.encode(frame) + b"\n")
        except (BrokenPipeError, ConnectionResetError):
            raise AgentGone(await self._farewell()) from None

    async def _read(self) -> Any:
        """Yield events; ends with the process, and after a line that is far too long."""
        while True:
            while (end := self._pending.find(b"\n")) >= 0:
                line = bytes(self._pending[:end])
                del self._pending[: end + 1]
                try:
                    event = json.decode(line)
                except (DecodeError, UnicodeError, RecursionError):
                    continue
                if isinstance(event, dict):
                    yield event
            chunk = await anext(self._output, b"")
            if not chunk or len(self._pending) > MAX_EVENT_BYTES:
                return
            self._pending += chunk

    async def _farewell(self) -> AgentReply:
        """Why it ended."""
        await self.close()
        await asyncio.wait([self._collector])
        code = (await self._process.wait()).code
        errors = self._errors.decode("utf-8", "replace")
        partial = read_events(self._events).texts
        error = exit_error(errors, code if code else None) or "The agent ended."
        return AgentReply(texts=partial, error=error, session=session_problem(errors, missing=MISSING))


class LiveAgents:
    """The live agents by session key, at most `limit`; the one unused for longest makes room."""

    def __init__(
        self, runner: LocalRunner, group: asyncio.TaskGroup, limit: int, inherit: Callable[[str], bool]
    ) -> None:
        self._runner = runner
        self._group = group
        self._limit = limit
        self._inherit = inherit
        self._by_key: dict[str, LiveAgent] = {}

    async def get(self, key: str, session_id: str) -> LiveAgent | None:
        """The live agent of this session, if there is one."""
        kept = self._by_key.get(key)
        if kept is not None and not kept.ended and kept.bound_to == session_id:
            return kept
        await self.close(key)
        return None

    async def open(self, key: str, argv: Sequence[str], cwd: Path) -> LiveAgent:
        """Raises OSError."""
        await self.close(key)
        idle = sorted(
            (one for one in self._by_key.items() if not one[1].busy), key=lambda one: one[1].used_at
        )
        while len(self._by_key) >= self._limit and idle:
            await self.close(idle.pop(0)[0])
        agent = await LiveAgent.open(self._runner, argv, cwd=cwd, inherit=self._inherit, group=self._group)
        self._by_key[key] = agent
        return agent

    async def steer(self, key: str, text: str) -> bool:
        """Send a message into the run of a session, if its agent is in one."""
        kept = self._by_key.get(key)
        return kept is not None and await kept.steer(text)

    def bind(self, key: str, session_id: str) -> None:
        """Remember which session the agent of a key has."""
        if key in self._by_key:
            self._by_key[key].bound_to = session_id

    async def close(self, key: str) -> None:
        kept = self._by_key.pop(key, None)
        if kept is not None and not kept.ended:
            await kept.close()

    async def close_idle(self, idle_s: float) -> None:
        now = time.monotonic()
        for key, kept in list(self._by_key.items()):
            if kept.ended or (not kept.busy and now - kept.used_at > idle_s):
                await self.close(key)

    async def close_all(self) -> None:
        for key in list(self._by_key):
            await self.close(key)
