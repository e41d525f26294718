"""What an agent answered, read from whatever its CLI printed."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from msgspec import DecodeError, Struct, field, json

from tau.base.late import late
from tau.base.text import plain, shortened

stdlib_json = late("json")

ERROR_CHARS = 300


class AgentUsage(Struct, frozen=True, rename="camel"):
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def total(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write

    def minus(self, other: "AgentUsage") -> "AgentUsage":
        pairs = zip(_numbers(self), _numbers(other), strict=True)
        return AgentUsage(*(max(0, ours - theirs) for ours, theirs in pairs))

    def plus(self, other: "AgentUsage") -> "AgentUsage":
        return AgentUsage(*map(sum, zip(_numbers(self), _numbers(other), strict=True)))


def _numbers(usage: AgentUsage) -> tuple[int, ...]:
    return usage.input, usage.output, usage.cache_read, usage.cache_write


class AgentMeta(Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """Facts about a run; `is_sum` says that usage or cost cover the whole session, as the CLI reported."""

    model: str = ""
    provider: str = ""
    session_id: str = ""
    stop_reason: str = ""
    usage: AgentUsage | None = None
    cost: float | None = None
    usage_is_sum: bool = False
    cost_is_sum: bool = False
    duration_ms: int = 0
    queued_ms: int = 0


class AgentReply(Struct, frozen=True, kw_only=True):
    """`error` is one sentence. `session` says that the session id was unusable."""

    texts: list[str] = field(default_factory=list)
    meta: AgentMeta = AgentMeta()
    error: str = ""
    session: Literal["", "in use", "missing"] = ""


def read_objects(stdout: str) -> list[dict[str, object]]:
    """Every JSON object at the start of a line, over one line or many; ignores noise and torn ends."""
    found: list[dict[str, object]] = []
    decoder = None
    at = 0
    while at < len(stdout):
        end = stdout.find("\n", at)
        end = len(stdout) if end < 0 else end
        line = stdout[at:end].strip()
        following = end + 1
        if line.startswith("{"):
            value = _decode(line)
            if value is None and line in ("{", "{\r"):  # pretty-printed
                decoder = decoder or stdlib_json.JSONDecoder()
                try:
                    value, following = decoder.raw_decode(stdout, stdout.index("{", at))
                except (ValueError, RecursionError):
                    value = None
            if isinstance(value, dict):
                found.append(value)
        at = max(following, end + 1) if following <= end else following
    return found


def _decode(line: str) -> Any:
    try:
        return json.decode(line)
    except (DecodeError, UnicodeError, RecursionError, ValueError):
        return None


def plain_texts(stdout: str) -> list[str]:
    """Output that is not JSON, as one text; a torn object is not a text."""
    text = clean(stdout)
    return [text] if text and not text.startswith(("{", "[{")) else []


def clean(text: str) -> str:
    return plain(text).strip()


def string(value: object, *path: str) -> str:
    """The text at a path of keys, empty if there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def mapping(value: object, *path: str) -> dict[str, Any]:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def number(value: Any, *path: str) -> float:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and 0 <= value < 1e15 else 0


def usage_of(value: object, *, input: str, output: str, read: str = "", write: str = "") -> AgentUsage:
    """Token counts under the names a CLI uses; a dot goes one level down."""
    counts = (int(number(value, *name.split("."))) if name else 0 for name in (input, output, read, write))
    return AgentUsage(*counts)


def one_sentence(texts: Iterable[str]) -> str:
    """The first useful line, as a sentence."""
    for text in texts:
        line = next((line.strip() for line in clean(text).splitlines() if line.strip()), "")
        if line:
            line = shortened(line, ERROR_CHARS)
            return line if line.endswith((".", "!", "?", "…")) else f"{line}."
    return ""


def failure_line(stderr: str) -> Iterator[str]:
    """Lines of stderr that may say what failed: errors first, then the last one."""
    lines = [line.strip() for line in clean(stderr).splitlines() if line.strip()]
    yield from (line for line in lines if re.search(r"\b(error|invalid|failed|not found|no )", line, re.I))
    yield from lines[-1:]


def exit_error(stderr: str, exit: int | None, *texts: str) -> str:
    """The sentence of a failed run; empty after exit 0."""
    if exit == 0:
        return ""
    ended = "The agent was killed." if exit is None or exit < 0 else f"The agent exited with code {exit}."
    return one_sentence([*texts, *failure_line(stderr), ended])


def session_problem(text: str, in_use: str = "", missing: str = "") -> Literal["", "in use", "missing"]:
    if in_use and re.search(in_use, text):
        return "in use"
    return "missing" if missing and re.search(missing, text) else ""
