"""An answer that must be JSON and match a schema: asking for it, checking it, and having it corrected."""

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tau.ai.wire import AssistantMessage
from tau.base.errors import UsageError
from tau.base.files import typed_path
from tau.base.text import shortened
from tau.coding.task import schema_check
from tau.modes.exit_status import DONE, FAILED, ExitStatus
from tau.modes.user_prompt import UserPrompt

if TYPE_CHECKING:
    from tau.agent.loop import Outcome
    from tau.coding.session.session import Session

MAX_CORRECTIONS = 3
MAX_SCHEMA_BYTES = 1024 * 1024
REQUEST = (
    "Your final answer must be only JSON, without any other text, that matches this JSON Schema:\n{schema}"
)
CORRECTION = "Your answer does not match the JSON Schema:\n{errors}\nAnswer with only the corrected JSON."
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL)


class AnswerSchema(Struct, frozen=True):
    schema: dict[str, Any]

    def ask(self, prompt: UserPrompt) -> UserPrompt:
        """The prompt with the request for such an answer."""
        schema = msgspec.json.encode(self.schema).decode()
        return replace(prompt, text=f"{prompt.text}\n\n{REQUEST.format(schema=schema)}")

    def read(self, answer: str) -> tuple[object, list[str]]:
        """The data of an answer, and what is wrong with it; JSON in a code fence counts too."""
        for text in (answer, *reversed(_FENCED.findall(answer))):
            try:
                return schema_check.check(msgspec.json.decode(text), self.schema)
            except (msgspec.DecodeError, RecursionError):
                continue
        return None, ["it is not JSON"]


def load_schema(given: str) -> AnswerSchema:
    """Of --output-schema: a file, or the schema itself. Raises UsageError."""
    text = given.encode()
    path: Path | None = None
    if not given.lstrip().startswith("{"):
        path = typed_path(given)
        try:
            with path.open("rb") as file:
                text = file.read(MAX_SCHEMA_BYTES + 1)
        except OSError as error:
            raise UsageError(f'The output schema "{given}" cannot be read: {error.strerror}.') from None
    what = "The output schema" if path is None else f"{path}"
    if len(text) > MAX_SCHEMA_BYTES:
        raise UsageError(f"{what} is larger than 1 MiB.")
    try:
        schema = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"{what} is not JSON: {error}.") from None
    problem = schema_check.schema_problem(schema) if isinstance(schema, dict) else "a schema is an object"
    if problem:
        raise UsageError(f"{what} is no JSON Schema: {problem.rstrip('.')}.")
    return AnswerSchema(schema)


async def complete_answer(
    session: "Session",
    schema: AnswerSchema,
    send: Callable[[Awaitable["Outcome"]], Awaitable[ExitStatus]],
) -> tuple[ExitStatus, object]:
    """The data of the last answer, after corrections if it needs some."""
    for left in reversed(range(MAX_CORRECTIONS + 1)):
        data, errors = schema.read(_last_answer(session))
        if not errors:
            return ExitStatus(DONE), data
        if not left:
            break
        listed = "\n".join(f"- {error}" for error in errors)
        status = await send(session.prompt(CORRECTION.format(errors=listed)))
        if status.code != DONE:
            return status, None
    reason = shortened("; ".join(errors), 500)
    return ExitStatus(FAILED, f"The answer does not match the output schema: {reason}."), None


def _last_answer(session: "Session") -> str:
    for message in reversed(session.log.messages()):
        if isinstance(message, AssistantMessage):
            return message.text
    return ""
