"""What the fake server can answer, as values: parts of an answer, whole answers, faults, scenarios.

All of them are also JSON (`{"type": "Text", "text": "hi"}`), for a server that runs as a separate process.
"""

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType


class Text(Struct, frozen=True, tag_field="type", tag=True):
    """`phase` is OpenAI's: commentary or final_answer."""

    text: str
    deltas: int = 1
    phase: str = ""


class Thinking(Struct, frozen=True, tag_field="type", tag=True):
    """`redacted`: the text is data that only the provider can read."""

    text: str
    signature: str = "sig-1"
    deltas: int = 1
    redacted: bool = False


class Call(Struct, frozen=True, tag_field="type", tag=True):
    """A tool call. `cut_at` truncates its JSON after that many characters, `json` replaces it."""

    name: str
    arguments: dict[str, Any] = {}
    id: str = ""
    deltas: int = 2
    cut_at: int | None = None
    json: str | None = None


Part: TypeAlias = Text | Thinking | Call


class Usage(Struct, frozen=True):
    """Tokens; `input` does not include cache reads and writes."""

    input: int = 100
    output: int = 10
    cache_read: int = 0
    cache_write: int = 0


class Answer(Struct, frozen=True, tag_field="type", tag=True):
    """`stop` is stop, length or toolUse, or a vendor's own word; by default it follows from the parts."""

    parts: tuple[Part, ...] = (Text("ok"),)
    usage: Usage = Usage()
    stop: str | None = None
    delay_s: float = 0  # before each event

    @staticmethod
    def text(text: str, *, deltas: int = 1) -> "Answer":
        return Answer((Text(text, deltas),))

    @property
    def stop_reason(self) -> str:
        if self.stop is not None:
            return self.stop
        calls = [part for part in self.parts if isinstance(part, Call)]
        if any(call.cut_at is not None for call in calls):
            return "length"
        return "toolUse" if calls else "stop"


PLAIN = Answer((Text("These words come from the fake server.", deltas=6),))


class Status(Struct, frozen=True, tag_field="type", tag=True):
    """A refusal in the dialect's shape unless `body` is given. `retry_after` is sent verbatim."""

    status: int
    message: str = ""
    kind: str = ""
    retry_after: str | None = None
    headers: dict[str, str] = {}
    body: Any | UnsetType = UNSET


class Overflow(Struct, frozen=True, tag_field="type", tag=True):
    """The request is larger than the context window, in the vendor's wording."""


class CutConnection(Struct, frozen=True, tag_field="type", tag=True):
    after_events: int = 3
    of: Answer = PLAIN


class TruncatedEvent(Struct, frozen=True, tag_field="type", tag=True):
    """Half an event, then a regular end of the body."""

    after_events: int = 3
    of: Answer = PLAIN


class InvalidUtf8(Struct, frozen=True, tag_field="type", tag=True):
    """A text whose third character is an invalid UTF-8 byte."""

    text: str = "cafe noir"


class Silence(Struct, frozen=True, tag_field="type", tag=True):
    """Holds the connection open until the client leaves. `before_head`: without even a status line."""

    after_events: int = 0
    before_head: bool = False
    of: Answer = PLAIN


class PingsOnly(Struct, frozen=True, tag_field="type", tag=True):
    interval_s: float = 0.02
    after_events: int = 0
    of: Answer = PLAIN


class NotJson(Struct, frozen=True, tag_field="type", tag=True):
    after_events: int = 3
    data: str = "{not json"
    of: Answer = PLAIN


class ErrorEvent(Struct, frozen=True, tag_field="type", tag=True):
    """An error in mid-stream."""

    after_events: int = 3
    kind: str = "overloaded_error"
    message: str = "Overloaded"
    of: Answer = PLAIN


class Raw(Struct, frozen=True, tag_field="type", tag=True):
    """Any document, such as the page of a captive portal."""

    body: str
    status: int = 200
    content_type: str = "text/html"
    encoding: str = "utf-8"  # latin-1 for bytes that are no text


class Scenario(Struct, frozen=True, tag_field="type", tag=True):
    """Answers that follow from the request alone, so that the server stores no conversation.

    `hello`: some text. `flood`: text as fast as the socket takes it. `tools`: one command in each of the
    first `turns` turns (a turn is a tool result in the request), then text.
    """

    scenario: Literal["hello", "tools", "flood"] = "hello"
    deltas: int = 20
    turns: int = 0

    def answer(self, results: int, tools: list[tuple[str, dict[str, Any]]]) -> Answer:
        """`tools` are those the request offers: a name and a schema each."""
        if self.scenario == "tools" and results < self.turns and tools:
            name, schema = next((tool for tool in tools if tool[0].lower() == "bash"), tools[0])
            return Answer((Call(name, _filled(schema, f"echo turn-{results}")),))
        words = " ".join(f"word{number}" for number in range(self.deltas))
        return Answer((Text(words, self.deltas),))


def _filled(schema: dict[str, Any], command: str) -> dict[str, Any]:
    """Arguments for a tool that runs a command, whatever its fields are called."""
    fields: dict[str, Any] = schema.get("properties") or {"command": {}}
    required = [name for name in schema.get("required") or () if name in fields] or list(fields)[:1]
    values = {"array": ["bash", "-c", command], "integer": 30, "number": 30, "boolean": False}
    return {name: values.get(fields[name].get("type", "string"), command) for name in required}


Fault: TypeAlias = (
    Status
    | Overflow
    | CutConnection
    | TruncatedEvent
    | InvalidUtf8
    | Silence
    | PingsOnly
    | NotJson
    | ErrorEvent
    | Raw
)
Scripted: TypeAlias = Answer | Fault | Scenario
Scriptable: TypeAlias = Scripted | Part | str | tuple[Part, ...] | list[Part]


def scripted(value: Scriptable) -> Scripted:
    """Strings and parts become a whole answer."""
    if isinstance(value, str):
        return Answer((Text(value),))
    if isinstance(value, Text | Thinking | Call):
        return Answer((value,))
    if isinstance(value, tuple | list):
        return Answer(tuple(value))
    return value
