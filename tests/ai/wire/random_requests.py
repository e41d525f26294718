"""Random conversations: whatever a session may send, in every dialect."""

import random
from typing import Any

from tau.ai import dialect as d
from tau.ai.model import THINKING_LEVELS, Compat, Model
from tau.ai.normalization import normalize_history
from tau.ai.wire import (
    AppMessage,
    AssistantContent,
    AssistantMessage,
    ImageContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserContent,
    UserMessage,
    issuer_address,
)
from tests.ai.dialect_client import model

WORDS = ("yes", "né", "\U0001f600", 'a "b"\n', "\t", "*** Begin Patch\n*** End Patch", " ", "<b>", "\ud800")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "Where"},
        "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
        "kind": {"enum": ["a", "b"]},
    },
    "required": ["path"],
}
TOOLS = [
    d.ToolSpec("read", "Reads.", SCHEMA),
    d.ToolSpec("edit", "Edits.", {"type": "object"}, d.CustomFormat("apply_patch", "start: /.+/")),
    d.ToolSpec("job", "", {"type": "object", "properties": {}}),
]
SIGNATURES: dict[str, tuple[str, str, str]] = {  # of thinking, text and calls
    "anthropic-messages": ("sig", "", ""),
    "openai-completions": ('[{"type":"reasoning.text","text":"x"}]', "", ""),
    "openai-responses": (
        '{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x","status":"completed"}',
        '{"v":1,"id":"msg_1","phase":"commentary"}',
        '{"id":"fc_1"}',
    ),
}


class RandomRequests:
    """The same requests for the same seed."""

    def __init__(self, api: str, seed: int) -> None:
        self._random = random.Random(f"{api} {seed}")
        self._api = api

    def next(self) -> tuple[Model, d.Request]:
        pick = self._random
        flags = {
            "grammar_tools": pick.random() < 0.5,
            "supports_parallel_tool_calls": pick.random() < 0.8,
            "supports_prompt_cache_key": pick.random() < 0.5,
            "supports_long_cache_retention": pick.random() < 0.5,
            "adaptive_thinking": pick.random() < 0.5,
        }
        speaker = model(
            self._api,
            base_url="https://acme.example/v1",
            input=("text", "image") if pick.random() < 0.8 else ("text",),
            reasoning=pick.random() < 0.8,
            compat=Compat(**flags),
        )
        tools = pick.sample(TOOLS, pick.randint(0, len(TOOLS)))
        return speaker, d.Request(
            system=pick.choice(("", "Be brief.")),
            messages=normalize_history(self._history(speaker), speaker),
            tools=tools,
            max_tokens=pick.choice((1, 100, 50_000)),
            thinking=speaker.clamp_thinking(pick.choice(THINKING_LEVELS)),
            temperature=pick.choice((None, 0.5)),
            cache_key=pick.choice((None, "key", "k" * 99)),
            cache_retention=pick.choice(("none", "short", "long")),
            tool_choice=pick.choice(("auto", "none", "required", *(tool.name for tool in tools))),
        )

    def _text(self) -> str:
        return "".join(self._random.choices(WORDS, k=self._random.randint(1, 4)))

    def _content(self) -> list[UserContent]:
        parts: list[UserContent] = [TextContent(self._text()) for _ in range(self._random.randint(0, 2))]
        if self._random.random() < 0.4:
            parts.append(ImageContent("aGk=", self._random.choice(("image/png", "image/jpeg", "image/odd"))))
        return parts

    def _history(self, speaker: Model) -> list[AppMessage]:
        messages: list[AppMessage] = [UserMessage("go", 1)]
        for _ in range(self._random.randint(0, 4)):
            if self._random.random() < 0.3:
                messages.append(
                    UserMessage(self._text() if self._random.random() < 0.5 else self._content(), 1)
                )
            messages += self._answer(speaker)
        messages.append(UserMessage("more", 9))
        return messages

    def _answer(self, speaker: Model) -> list[AppMessage]:
        pick = self._random
        own = pick.random() < 0.7
        thought, said, called = SIGNATURES[self._api]
        parts: list[AssistantContent] = []
        for number in range(pick.randint(1, 4)):
            kind = pick.choice(("think", "text", "call", "call"))
            if kind == "think":
                parts.append(ThinkingContent(self._text(), thought))
            elif kind == "text":
                parts.append(TextContent(self._text(), said) if said else TextContent(self._text()))
            else:
                parts.append(self._call(number, called))
        message = AssistantMessage(
            parts,
            speaker.api if own else "faux",
            speaker.provider,
            speaker.id,
            Usage(),
            pick.choice(("stop", "toolUse", "aborted", "length")),
            2,
            address=issuer_address(speaker.base_url),
        )
        results = [call for call in message.tool_calls if pick.random() < 0.9]
        pick.shuffle(results)
        return [
            message,
            *(
                ToolResultMessage(call.id, call.name, self._content(), pick.random() < 0.3, 3)
                for call in results
            ),
        ]

    def _call(self, number: int, signature: str) -> ToolCall:
        id = f"call_{number}_{self._random.randint(0, 10**6)}"
        if self._random.random() < 0.3:
            return ToolCall(id, "edit", {"input": self._text()}, custom_wire_name="apply_patch")
        arguments = {"path": self._text(), "limit": self._random.choice((None, 3))}
        name = self._random.choice(("read", "job", "no such tool"))
        return ToolCall(id, name, arguments, signature) if signature else ToolCall(id, name, arguments)
