"""What a cell asks of its host, checked and passed on. It comes over the kernel's own channel only."""

from typing import Any

import msgspec
from msgspec import Struct

from tau.backends.kernels.cells import Host
from tau.base.errors import ToolError


class ToolWish(Struct, frozen=True):
    name: str
    arguments: dict[str, Any] = {}


class CompletionWish(Struct, frozen=True):
    prompt: str
    model: str = "default"
    system: str | None = None
    schema: dict[str, Any] | None = None


class AgentWish(Struct, frozen=True, rename="camel"):
    prompt: str
    agent_type: str = "task"
    model: str | None = None
    label: str | None = None
    schema: dict[str, Any] | None = None


class OutputWish(Struct, frozen=True):
    id: str


async def answer(host: Host, op: str, arguments: dict[str, Any]) -> Any:
    """Raises ToolError for a wish that makes no sense, and whatever the host raises."""
    try:
        match op:
            case "tool":
                call = msgspec.convert(arguments, ToolWish)
                return await host.tool(call.name, call.arguments)
            case "completion":
                wish = msgspec.convert(arguments, CompletionWish)
                return await host.completion(wish.prompt, wish.model, wish.system, wish.schema)
            case "agent":
                work = msgspec.convert(arguments, AgentWish)
                return await host.agent(work.prompt, msgspec.to_builtins(work))
            case "output":
                return await host.output(msgspec.convert(arguments, OutputWish).id)
            case "concurrency":
                return await host.concurrency()
    except msgspec.ValidationError as error:
        raise ToolError(f"{op} was called with wrong arguments: {error}.") from error
    raise ToolError(f'A cell asked for "{op}", which does not exist.')
