"""Serves running cells: other tools, model completions, the full text of earlier output."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from tau.agent.loop_owner import Complete
from tau.ai.dialect import Request, ToolSpec
from tau.ai.model import Model
from tau.ai.wire import AssistantMessage, ImageContent, TextContent, UserMessage, text_of
from tau.base.clock import now_ms
from tau.base.errors import TauError, ToolError
from tau.base.late import late
from tau.coding.ports import CodingContext

if TYPE_CHECKING:
    from tau.coding.task.late_team import LateTeam

task_ports = late("tau.coding.task.ports")
fences = late("tau.coding.untrusted_text")

TIERS = ("default", "smol", "slow")
MAX_ANSWER_TOKENS = 16_384
RESPOND = "respond"
SYSTEM = "Answer the question and nothing else."
SYSTEM_FOR_SCHEMA = f"Answer by calling the tool {RESPOND} once; write nothing else."

Note = Callable[[dict[str, Any]], None]


class EvalHost:
    """Implements `tau.backends.kernels.cells.CellHost` for one call; `note` receives status events."""

    def __init__(
        self,
        ctx: CodingContext,
        complete: Complete | None,
        concurrency: int,
        note: Note,
        team: "LateTeam | None" = None,
    ) -> None:
        self._team = team
        self._ctx = ctx
        self._complete = complete
        self._concurrency = concurrency
        self._note = note

    async def tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if name == "eval":
            raise ToolError("A cell cannot call eval: its kernel is busy with the cell.")
        output = await self._ctx.call(name, arguments)
        text = fences.unfence(text_of(output.content))
        self._note({"op": "tool", "name": name, "isError": output.is_error, "chars": len(text)})
        if output.is_error:
            raise ToolError(text)
        images = [part for part in output.content if isinstance(part, ImageContent)]
        details = None if output.details is UNSET else output.details
        return {
            "text": text,
            "details": msgspec.to_builtins(details, str_keys=True),
            "images": [{"data": image.data, "mimeType": image.mime_type} for image in images],
        }

    async def completion(
        self, prompt: str, model: str, system: str | None, schema: dict[str, Any] | None
    ) -> Any:
        if self._complete is None:
            raise ToolError("Cells cannot call a model here.")
        if model not in TIERS:
            raise ToolError(f'There is no model "{model}" for completion; use one of {", ".join(TIERS)}.')
        chosen = self._ctx.models.role(model)
        request = Request(
            system=system or (SYSTEM if schema is None else SYSTEM_FOR_SCHEMA),
            messages=[UserMessage([TextContent(prompt)], now_ms())],
            tools=[] if schema is None else [ToolSpec(RESPOND, "Gives the answer.", schema)],
            max_tokens=min(chosen.max_tokens, MAX_ANSWER_TOKENS),
            thinking=self._ctx.models.level(model)
            or ("high" if model == "slow" and chosen.reasoning else "off"),
        )
        message = await _complete(self._complete, chosen, request)
        self._note({"op": "completion", "model": chosen.key, "chars": len(message.text)})
        return _text(message, chosen) if schema is None else _object(message, chosen)

    async def agent(self, prompt: str, options: dict[str, Any]) -> Any:
        """The text that an agent yields, or its data with a schema. Raises ToolError if it fails."""
        if self._team is None:
            raise ToolError("Cells cannot start agents here.")
        schema = options.get("schema")
        order = task_ports.TaskOrder(
            agent=options.get("agentType") or "task",
            text=prompt,
            id=options.get("label"),
            model=options.get("model"),
            schema=schema,
            tool_call=self._ctx.call_id,
        )
        if not prompt.strip():
            raise ToolError("The prompt of agent() is empty.")
        result = await self._team().run(order, self._team.agent)
        self._note({"op": "agent", "id": result.id, "outcome": result.outcome, "chars": len(result.output)})
        if result.outcome != "completed":
            raise ToolError(f"The agent {result.id} {result.outcome}: {result.error or result.output}")
        return result.data if schema is not None else result.output

    async def output(self, id: str) -> str:
        return str(self._ctx.artifacts.open(id))

    async def concurrency(self) -> int:
        return self._concurrency


async def _complete(complete: Complete, model: Model, request: Request) -> AssistantMessage:
    try:
        message = await complete(model, request)
    except TauError as error:
        raise ToolError(str(error)) from error
    if message.stop_reason == "error":
        reason = message.error_message
        raise ToolError(reason if reason is not UNSET and reason else f"The request to {model.key} failed.")
    if message.stop_reason == "aborted":
        raise ToolError(f"The request to {model.key} was aborted.")
    return message


def _text(message: AssistantMessage, model: Model) -> str:
    if not message.text.strip():
        raise ToolError(f"{model.key} gave no answer.")
    return message.text


def _object(message: AssistantMessage, model: Model) -> Any:
    """The arguments of the tool call; JSON in plain text is accepted too."""
    for call in message.tool_calls:
        if call.name == RESPOND:
            return call.arguments
    text = message.text.strip().removeprefix("```json").removeprefix("```").removesuffix("```")
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        raise ToolError(f"{model.key} did not follow the schema.") from None
