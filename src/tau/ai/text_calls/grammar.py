"""What the formats of written calls have in common: a cursor over the text, JSON, tags."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from tau.ai.dialect import ToolSpec
from tau.ai.text_calls import values
from tau.base.late import late

jiter = late("jiter")
json = late("json")

CALL_TYPES = ("function", "function_call", "tool_call", "tool_use")
NAME_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:")


class Incomplete(Exception):
    """The text may become a call: it ends before the call does."""


class NotACall(Exception):
    """The text is not a call, whatever follows."""


class TextCall(Struct, frozen=True):
    name: str
    arguments: dict[str, Any]


class Prose(Struct, frozen=True):
    """Text or thinking in a format that marks them too."""

    text: str
    thinking: bool


class CallCursor:
    """A place in the text. `seen` is the name of the tool whose call was begun last."""

    def __init__(self, text: str, tools: Mapping[str, ToolSpec]) -> None:
        self.text = text
        self.at = 0
        self.tools = tools
        self.seen = ""

    @property
    def rest(self) -> str:
        return self.text[self.at :]

    def skip_blanks(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def is_at(self, mark: str) -> bool:
        """Whether `mark` is next. Raises Incomplete if the text ends in the middle of it."""
        if self.text.startswith(mark, self.at):
            return True
        if len(self.text) - self.at < len(mark) and mark.startswith(self.rest):
            raise Incomplete
        return False

    def take(self, mark: str) -> bool:
        """Move beyond `mark` if it is next."""
        if not self.is_at(mark):
            return False
        self.at += len(mark)
        return True

    def expect(self, mark: str) -> None:
        if not self.take(mark):
            raise NotACall

    def until(self, mark: str) -> str:
        """The text before `mark`, and move beyond it."""
        end = self.text.find(mark, self.at)
        if end < 0:
            raise Incomplete
        found = self.text[self.at : end]
        self.at = end + len(mark)
        return found

    def name(self) -> str:
        """A tool's name, as letters. Raises NotACall if no registered tool has it."""
        start = self.at
        while self.at < len(self.text) and self.text[self.at] in NAME_CHARS:
            self.at += 1
        name = self.text[start : self.at]
        if self.at == len(self.text) and any(tool.startswith(name) for tool in self.tools):
            raise Incomplete
        return self.registered(name)

    def registered(self, name: str) -> str:
        if name not in self.tools:
            raise NotACall
        self.seen = name
        return name

    def json(self) -> object:
        """A JSON value."""
        self.skip_blanks()
        if self.at == len(self.text):
            raise Incomplete
        try:
            value, self.at = json.JSONDecoder(strict=False).raw_decode(self.text, self.at)
        except (ValueError, RecursionError) as error:
            self._read_cut_off()
            raise Incomplete from error
        return value

    def _read_cut_off(self) -> None:
        """Find the name in an unfinished object. Raises NotACall if more text cannot finish it."""
        try:
            value = jiter.from_json(self.rest.encode("utf-8", "replace"), partial_mode="trailing-strings")
        except ValueError as error:
            if "EOF while parsing" in str(error):
                return
            raise NotACall from None
        value = value[-1] if isinstance(value, list) and value else value
        name = value.get("name") if isinstance(value, dict) else None
        self.seen = name if isinstance(name, str) and name in self.tools else self.seen

    def call(self, name: str, arguments: object) -> TextCall:
        """A call of a registered tool whose arguments fit its schema. Raises NotACall."""
        schema = self.tools[self.registered(name)].parameters
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments)
            except ValueError:
                raise NotACall from None
        if not isinstance(arguments, dict) or not values.matches(arguments, schema, schema):
            raise NotACall
        if arguments.keys() >= {"type", "properties"} and "properties" not in schema.get("properties", {}):
            raise NotACall  # the tool's description
        return TextCall(name, arguments)

    def call_of_object(self, value: object) -> TextCall:
        """The call that `{"name": ..., "arguments": {...}}` describes, in any of its usual spellings."""
        if isinstance(value, dict) and isinstance(value.get("function"), dict):
            if not _is_call(value, {"function"}):
                raise NotACall
            value = value["function"]
        if not isinstance(value, dict) or not isinstance(name := value.get("name"), str):
            raise NotACall
        if not _is_call(value, {"name", "arguments", "parameters"}):
            raise NotACall
        given = [value[field] for field in ("arguments", "parameters") if field in value]
        if len(given) != 1:
            raise NotACall
        return self.call(name, given[0])

    def read_call(self, name: str, texts: list[tuple[str, str, bool | None]]) -> TextCall:
        """A call whose arguments come as texts: each with its name, and whether it is plain text.

        A name that the schema lacks, or that comes twice, means that a value was split at the wrong place.
        """
        schema = self.tools[name].parameters
        properties: dict[str, object] = schema.get("properties", {})
        arguments: dict[str, object] = {}
        for key, text, is_plain in texts:
            if key not in properties or key in arguments:
                raise NotACall
            kind = properties[key]
            arguments[key] = text if is_plain else values.read_text(text, kind, schema)
        return self.call(name, arguments)


def _is_call(value: dict[str, object], fields: set[str]) -> bool:
    """Whether an object has what a call has and nothing else, such as a note on where it is quoted from."""
    return value.keys() <= fields | {"id", "index", "type"} and value.get("type", CALL_TYPES[0]) in CALL_TYPES
