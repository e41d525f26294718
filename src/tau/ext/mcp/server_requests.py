"""What servers ask of the user: to fill in a form, to open a page, to use the model."""

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from tau.agent.loop_owner import Complete
from tau.agent.ui import Ui
from tau.ai.dialect import Request
from tau.ai.model import Model
from tau.ai.wire import AssistantMessage, ImageContent, Message, TextContent, Usage, UserMessage
from tau.base.clock import now_ms
from tau.base.errors import TauError
from tau.base.json_rpc import INVALID_PARAMS, METHOD_NOT_FOUND, JsonRpcError
from tau.base.text import clean_line, reveal, shortened
from tau.ext.mcp.messages import dict_at, list_at, text_at

ANSWER, DECLINE, NOTHING = "Answer", "Decline", "(nothing)"
ALLOW, ALWAYS, REFUSE = "Allow once", "Allow for this session", "Refuse"
MAX_FIELDS = 30
MAX_ASKS = 50  # of one server in a session, so that it cannot ask forever
MAX_MESSAGE_CHARS = 2_000
MAX_SAMPLED_MESSAGES = 100
MAX_SAMPLED_CHARS = 12_000  # of a request that a person has to read
MAX_SAMPLED_TOKENS = 8_192
MAX_TRIES = 3
REJECTED = -1  # the user's answer to a request for the model


class UserAnswers:
    """Answers servers for the user, through `ui`; without one, everything is declined at once.

    `budget` is how many tokens of the model servers may use.
    """

    def __init__(
        self,
        ui: Ui | None,
        complete: Complete | None,
        model: Callable[[], Model],
        roots: Callable[[], Sequence[str]],
        budget: int,
    ) -> None:
        self._ui, self._complete, self._model, self._roots = ui, complete, model, roots
        self._left = budget
        self._asks: dict[str, int] = {}
        self._allowed: set[str] = set()
        self._one_at_a_time = asyncio.Lock()

    def capabilities(self) -> dict[str, object]:
        found: dict[str, object] = {"roots": {"listChanged": True}, "elicitation": {"form": {}, "url": {}}}
        if self._complete is not None and self._left > 0:
            found["sampling"] = {}
        return found

    async def answer(self, server: str, method: str, params: dict[str, object]) -> dict[str, object]:
        """Raises JsonRpcError."""
        match method:
            case "roots/list":
                return {"roots": [{"uri": uri, "name": uri.rpartition("/")[2]} for uri in self._roots()]}
            case "elicitation/create":
                self._count(server)
                async with self._one_at_a_time:
                    return await self._elicit(server, params)
            case "sampling/createMessage":
                self._count(server)
                async with self._one_at_a_time:
                    return await self._sample(server, params)
        raise JsonRpcError(METHOD_NOT_FOUND, f"tau does not know {shortened(method, 60)}.")

    def _count(self, server: str) -> None:
        self._asks[server] = self._asks.get(server, 0) + 1
        if self._asks[server] > MAX_ASKS:
            raise JsonRpcError(REJECTED, f"{server} has asked {MAX_ASKS} times in this session.")

    async def _elicit(self, server: str, params: dict[str, object]) -> dict[str, object]:
        if self._ui is None:
            return {"action": "decline"}
        said = reveal(shortened(text_at(params, "message"), MAX_MESSAGE_CHARS))
        title = f"The MCP server {server} asks: {said}"
        if params.get("mode") == "url":
            url = text_at(params, "url", 4_000)
            host = (
                urlsplit(url).hostname
                if url.isprintable() and url.startswith(("https://", "http://"))
                else None
            )
            if host is None:
                raise JsonRpcError(INVALID_PARAMS, "The address is not one of a web page.")
            chosen = await self._ui.select(f"{title}\nOpen this page on {host}:\n{url}", [ANSWER, DECLINE])
            return {"action": _action(chosen)}
        fields = list(dict_at(dict_at(params, "requestedSchema"), "properties").items())[:MAX_FIELDS]
        chosen = await self._ui.select(title, [ANSWER, DECLINE])
        if chosen != ANSWER:
            return {"action": _action(chosen)}
        required = dict_at(params, "requestedSchema").get("required")
        needed = set(required) if isinstance(required, list) else set()
        content: dict[str, object] = {}
        for name, schema in fields:
            field = FormField(name, schema if isinstance(schema, dict) else {}, name in needed)
            value = await self._ask_field(field, server)
            if value is CANCELED:
                return {"action": "cancel"}
            if value is not None:
                content[name] = value
        return {"action": "accept", "content": content}

    async def _ask_field(self, field: "FormField", server: str) -> object:
        """A valid value, None for an optional one that is left out, or CANCELED."""
        assert self._ui is not None
        problem = ""
        for _ in range(MAX_TRIES):
            title = f"For the MCP server {server}: {field.title}{f' ({problem})' if problem else ''}"
            options = field.options()
            if options and not field.is_list:
                rows = [label for _, label in options]
                chosen = await self._ui.select(title, rows if field.required else [*rows, NOTHING])
                if chosen is None:
                    return CANCELED
                return next((value for value, label in options if label == chosen), None)
            hint = ", ".join(label for _, label in options) or field.default_text
            typed = await self._ui.input(title, hint)
            if typed is None:
                return CANCELED
            try:
                return field.parse(typed)
            except ValueError as error:
                problem = str(error)
        return CANCELED

    async def _sample(self, server: str, params: dict[str, object]) -> dict[str, object]:
        wanted = params.get("maxTokens")
        tokens = min(wanted if isinstance(wanted, int) and wanted > 0 else 1_000, MAX_SAMPLED_TOKENS)
        if self._ui is None or self._complete is None:
            raise JsonRpcError(REJECTED, "Nobody can allow this.")
        if tokens > self._left:
            raise JsonRpcError(REJECTED, "The tokens that servers may use in this session are used up.")
        messages: list[Message] = [
            _sampled(one) for one in list_at(params, "messages")[:MAX_SAMPLED_MESSAGES]
        ]
        if not messages or not isinstance(messages[-1], UserMessage):
            raise JsonRpcError(INVALID_PARAMS, "The last message is not one of the user.")
        model = self._model()
        system = text_at(params, "systemPrompt", 20_000)
        if server not in self._allowed:
            said = reveal(_conversation(system, messages))
            if len(said) > MAX_SAMPLED_CHARS:
                raise JsonRpcError(REJECTED, "The request is too long to show, so nobody can allow it.")
            title = f"The MCP server {server} wants to ask {model.key}, for up to {tokens:,} tokens:\n{said}"
            chosen = await self._ui.select(title, [REFUSE, ALLOW, ALWAYS])
            if chosen == ALWAYS:
                self._allowed.add(server)
            if chosen not in (ALLOW, ALWAYS):
                raise JsonRpcError(REJECTED, "User rejected sampling request")
        self._left -= tokens
        request = Request(system=system, messages=messages, tools=[], max_tokens=tokens)
        try:
            answer = await self._complete(model, request)
        except TauError as error:
            raise JsonRpcError(REJECTED, f"The model did not answer: {error}") from None
        self._left += max(tokens - answer.usage.output, 0)
        reason = "maxTokens" if answer.stop_reason == "length" else "endTurn"
        content = {"type": "text", "text": answer.text}
        return {"role": "assistant", "content": content, "model": model.id, "stopReason": reason}


class Canceled(Struct, frozen=True):
    """The user left a form."""


CANCELED = Canceled()


class FormField(Struct, frozen=True):
    """One property of a form: text, a number, yes or no, or choices."""

    name: str
    schema: dict[str, Any]
    required: bool = False

    @property
    def title(self) -> str:
        about = clean_line(text_at(self.schema, "description", 300))
        name = clean_line(text_at(self.schema, "title", 100) or self.name)
        return f"{name}: {about}" if about else name

    @property
    def is_list(self) -> bool:
        return self.schema.get("type") == "array"

    @property
    def default_text(self) -> str:
        value = self.schema.get("default")
        return "" if value is None else str(value)

    def options(self) -> list[tuple[Any, str]]:
        """The choices as values and labels, the default first."""
        source = dict_at(self.schema, "items") if self.is_list else self.schema
        if self.schema.get("type") == "boolean":
            found: list[tuple[object, str]] = [(True, "Yes"), (False, "No")]
        elif titled := [*list_at(source, "oneOf"), *list_at(source, "anyOf")]:
            found = [
                (one.get("const"), clean_line(text_at(one, "title", 100) or str(one.get("const"))))
                for one in titled
            ]
        else:
            values = source.get("enum")
            names = source.get("enumNames")
            labels = names if isinstance(names, list) else values
            pairs = zip(values, labels or (), strict=False) if isinstance(values, list) else ()
            found = [(value, clean_line(str(label))) for value, label in pairs]
        default = self.schema.get("default")
        return sorted(found, key=lambda one: one[0] is not default and one[0] != default)

    def parse(self, typed: str) -> object:
        """Raises ValueError with what is wrong. Nothing typed means the default."""
        text = typed.strip()
        if not text:
            if self.schema.get("default") is not None:
                return self.schema["default"]
            if self.required:
                raise ValueError("a value is needed")
            return None
        if self.is_list:
            known = {key: value for value, label in self.options() for key in (label, str(value))}
            words = [word.strip() for word in text.split(",") if word.strip()]
            if unknown := [word for word in words if word not in known]:
                raise ValueError(f"{unknown[0]} is not one of them")
            return [known[word] for word in words]
        if (kind := self.schema.get("type")) in ("number", "integer"):
            number = float(text) if kind == "number" else int(text)
            low, high = self.schema.get("minimum"), self.schema.get("maximum")
            if (isinstance(low, int | float) and number < low) or (
                isinstance(high, int | float) and number > high
            ):
                raise ValueError(f"it must be between {low} and {high}")
            return number
        least, most = self.schema.get("minLength"), self.schema.get("maxLength")
        if (isinstance(least, int) and len(text) < least) or (isinstance(most, int) and len(text) > most):
            raise ValueError(f"it must have {least or 0} to {most or 'any number of'} characters")
        if self.schema.get("format") == "email" and not re.fullmatch(r"[^@\s]+@[^@\s]+", text):
            raise ValueError("it must be an email address")
        return text


def _action(chosen: str | None) -> str:
    return {ANSWER: "accept", DECLINE: "decline"}.get(chosen or "", "cancel")


def _sampled(message: dict[str, object]) -> UserMessage | AssistantMessage:
    content = message.get("content")
    parts = [part for part in (content if isinstance(content, list) else [content]) if isinstance(part, dict)]
    if message.get("role") == "assistant":
        text = "\n".join(text_at(part, "text", 100_000) for part in parts)
        return AssistantMessage(
            content=[TextContent(text)],
            api="",
            provider="",
            model="",
            usage=Usage(),
            stop_reason="stop",
            timestamp=now_ms(),
        )
    shown = [
        ImageContent(text_at(part, "data", 10**7), text_at(part, "mimeType", 60))
        if part.get("type") == "image"
        else TextContent(text_at(part, "text", 100_000))
        for part in parts
    ]
    return UserMessage(shown, now_ms())


def _conversation(system: str, messages: Sequence[Message]) -> str:
    """All that the model would get, to read."""
    parts = [f"Instructions: {system}"] if system else []
    for message in messages:
        who = "Model" if isinstance(message, AssistantMessage) else "Server"
        content = message.content if isinstance(message.content, list) else [TextContent(message.content)]
        images = sum(isinstance(part, ImageContent) for part in content)
        text = "\n".join(part.text for part in content if isinstance(part, TextContent))
        parts.append(f"{who}: {text}{f' [{images} images]' if images else ''}")
    return "\n".join(parts)
