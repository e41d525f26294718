"""Validates calls from a cell and passes them to its host. They arrive only over the kernel's channel."""

from typing import Any

import msgspec
from msgspec import Struct

from tau.backends.kernels.cells import CellHost
from tau.base.errors import ToolError


class ToolRequest(Struct, frozen=True):
    name: str
    arguments: dict[str, Any] = {}


class CompletionRequest(Struct, frozen=True):
    prompt: str
    model: str = "default"
    system: str | None = None
    schema: dict[str, Any] | None = None


class AgentRequest(Struct, frozen=True, rename="camel"):
    prompt: str
    agent_type: str = "task"
    model: str | None = None
    label: str | None = None
    schema: dict[str, Any] | None = None


class OutputRequest(Struct, frozen=True):
    id: str


async def answer_call(host: CellHost, op: str, arguments: dict[str, Any]) -> Any:
    """Raises ToolError for an invalid call, and whatever the host raises."""
    try:
        match op:
            case "tool":
                call = msgspec.convert(arguments, ToolRequest)
                return await host.tool(call.name, call.arguments)
            case "completion":
                wish = msgspec.convert(arguments, CompletionRequest)
                return await host.completion(wish.prompt, wish.model, wish.system, wish.schema)
            case "agent":
                work = msgspec.convert(arguments, AgentRequest)
                return await host.agent(work.prompt, msgspec.to_builtins(work))
            case "output":
                return await host.output(msgspec.convert(arguments, OutputRequest).id)
            case "concurrency":
                return await host.concurrency()
    except msgspec.ValidationError as error:
        raise ToolError(f"Wrong arguments for {op}: {error}.") from error
    raise ToolError(f'A cell called "{op}", which does not exist.')
