"""A chain of hooks."""

import asyncio
from typing import Any

from tau.agent.hooks import HookChain, Hooks
from tau.agent.output import ToolOutput
from tau.ai.dialect import Request
from tau.ai.wire import AppMessage, ToolCall, UserMessage


class Adding(Hooks):
    """Appends its word to everything; with "no" it refuses what can be refused."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.asked: list[str] = []

    async def input(self, message: UserMessage) -> UserMessage | None:
        self.asked.append("input")
        return None if self.word == "no" else UserMessage(f"{message.content} {self.word}", 1)

    async def context(self, messages: list[AppMessage]) -> list[AppMessage]:
        return [*messages, UserMessage(self.word, 1)]

    async def before_request(self, request: Request) -> Request:
        return Request(system=f"{request.system} {self.word}", messages=[], tools=[], max_tokens=1)

    async def before_tool(self, question: Any) -> str | None:
        self.asked.append("before_tool")
        return "no" if self.word == "no" else None

    async def after_tool(self, call: ToolCall, output: ToolOutput) -> ToolOutput:
        return ToolOutput([*output.content, *ToolOutput.text(self.word).content])

    async def before_compact(self, messages: list[AppMessage], **_: Any) -> bool:
        self.asked.append("before_compact")
        return self.word != "no"

    async def before_switch(self, target: str) -> bool:
        self.asked.append("before_switch")
        return self.word != "no"

    async def user_bash(self, command: str) -> str | None:
        self.asked.append("user_bash")
        return None if self.word == "no" else f"{command} {self.word}"


QUESTION: Any = None
REQUEST = Request(system="s", messages=[], tools=[], max_tokens=1)


def test_each_hook_sees_the_result_of_the_previous_one() -> None:
    async def main() -> None:
        chain = HookChain([Adding("a"), Hooks(), Adding("b")])
        assert await chain.input(UserMessage("said", 1)) == UserMessage("said a b", 1)
        assert await chain.context([]) == [UserMessage("a", 1), UserMessage("b", 1)]
        assert (await chain.before_request(REQUEST)).system == "s a b"
        assert await chain.before_tool(QUESTION) is None
        output = await chain.after_tool(ToolCall("1", "t", {}), ToolOutput.text("out"))
        assert output.content == [*(ToolOutput.text(text).content[0] for text in ("out", "a", "b"))]
        assert await chain.before_compact([]) and await chain.before_switch("x")
        assert await chain.user_bash("ls") == "ls a b"

    asyncio.run(main())


def test_one_refusal_is_enough_and_dropped_items_are_not_passed_on() -> None:
    async def main() -> list[str]:
        last = Adding("last")
        chain = HookChain([Hooks(), Adding("no"), last])
        assert await chain.input(UserMessage("said", 1)) is None
        assert await chain.before_tool(QUESTION) == "no"
        assert not await chain.before_compact([])
        assert not await chain.before_switch("x")
        assert await chain.user_bash("ls") is None
        return last.asked

    assert asyncio.run(main()) == ["before_compact", "before_switch"]


def test_default_hooks_change_nothing() -> None:
    async def main() -> None:
        hooks, message = Hooks(), UserMessage("said", 1)
        output = ToolOutput.text("out")
        assert await hooks.input(message) is message
        assert await hooks.context([message]) == [message]
        assert await hooks.before_request(REQUEST) is REQUEST
        assert await hooks.before_tool(QUESTION) is None
        assert await hooks.after_tool(ToolCall("1", "t", {}), output) is output
        assert await hooks.before_compact([]) and await hooks.before_switch("x")
        assert await hooks.user_bash("ls") == "ls"

    asyncio.run(main())
