"""A session with command hooks in the user's or the project's files, and a scripted model."""

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tau import Session, SessionOptions, create_session
from tau.agent.events import AgentEvent, Notice
from tau.ai.faux import Faux, FauxStep, Say, Use
from tau.ai.wire import ToolResultMessage, text_of
from tests.support.limits import HANG_S

YOLO = {"tools.approvalMode": "yolo"}


def hook(command: str, **fields: Any) -> dict[str, Any]:
    return {"type": "command", "command": command, **fields}


def events(**groups: Any) -> dict[str, Any]:
    """`PreToolUse=[hook(...)]` for all tools, or `PreToolUse=("Bash", hook(...), ...)`."""
    content = {}
    for event, hooks in groups.items():
        matcher, own = ("", hooks) if isinstance(hooks, list) else (hooks[0], list(hooks[1:]))
        content[event] = [{"matcher": matcher, "hooks": own}]
    return {"hooks": content}


def home() -> Path:
    return Path(os.environ["HOME"])


def user_hooks(text: str | dict[str, Any], file: str = ".claude/settings.json") -> Path:
    path = home() / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text, indent=1))
    return path


class HookRun:
    """Runs prompts and keeps what happened."""

    def __init__(self, cwd: Path, script: Sequence[Sequence[FauxStep]], **options: Any) -> None:
        self.cwd = cwd
        self.faux = Faux(script)
        self.events: list[AgentEvent] = []
        self.options = {"settings": YOLO, **options}
        self.messages: list[Any] = []
        self.error: Exception | None = None

    def go(self, *prompts: str) -> "HookRun":
        async def main() -> None:
            options = SessionOptions(cwd=self.cwd, model="faux/faux", stream=self.faux.stream, **self.options)
            async with asyncio.timeout(HANG_S), create_session(options) as session:
                session.subscribe(self.events.append)
                try:
                    await self.work(session, prompts)
                except Exception as error:
                    self.error = error
                self.messages = session.log.messages()

        asyncio.run(main())
        return self

    async def work(self, session: Session, prompts: Sequence[str]) -> None:
        for prompt in prompts:
            await session.prompt(prompt)

    @property
    def notices(self) -> str:
        return "\n".join(event.message for event in self.events if isinstance(event, Notice))

    @property
    def results(self) -> list[ToolResultMessage]:
        return [message for message in self.messages if isinstance(message, ToolResultMessage)]

    @property
    def result(self) -> str:
        [message] = self.results
        return text_of(message.content)

    def seen(self, request: int) -> str:
        """What the model got in a request."""
        return "\n".join(str(message.content) for message in self.faux.requests[request].messages)


def bash(command: str, **more: Any) -> Use:
    return Use("bash", command=command, **more)


def call(*steps: FauxStep) -> list[list[FauxStep]]:
    return [list(steps), [Say("done")]]
