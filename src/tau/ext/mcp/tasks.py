"""Tools that run as tasks of their server: a background job here, which asks for the result."""

import asyncio
from typing import Any

from tau.agent.output import ToolOutput
from tau.ai.wire import text_of
from tau.base.errors import TauError, ToolError
from tau.base.text import clean_line, shortened
from tau.coding.ports import CodingContext, JobReport
from tau.ext.mcp.client import McpClient
from tau.ext.mcp.connection import ServerConnection
from tau.ext.mcp.messages import ToolDefinition, dict_at, text_at
from tau.ext.mcp.results import McpDetails, to_output

TTL_MS = 3_600_000
POLL_S, MIN_POLL_S, MAX_POLL_S = 1.0, 0.2, 30.0


def needs_task(connection: ServerConnection, tool: ToolDefinition) -> bool:
    """Whether the server runs this tool only as a task."""
    info = connection.info
    return (
        tool.task_support == "required"
        and info is not None
        and info.offers("tasks", "requests", "tools", "call")
    )


def start_job(
    connection: ServerConnection, tool: ToolDefinition, arguments: dict[str, object], ctx: CodingContext
) -> ToolOutput:
    """The job's result is delivered when the task is done."""
    details = McpDetails(server=connection.name, tool=tool.name)

    async def work(report: JobReport) -> str:
        try:
            result = await connection.use(lambda client: _run(client, tool, arguments, report))
        except TauError as error:
            raise ToolError(f"{connection.name}: {error}") from None
        output = await to_output(result, details, ctx.artifacts)
        if output.is_error:
            raise ToolError(text_of(output.content))
        return text_of(output.content)

    id = ctx.jobs.start("task", f"{connection.name}: {tool.name}", work)
    text = f"Running in the background as job {id}; you get the result when it is done."
    return ToolOutput.text(text, details)


async def _run(
    client: McpClient, tool: ToolDefinition, arguments: dict[str, Any], report: JobReport
) -> dict[str, Any]:
    params = {"name": tool.name, "arguments": arguments, "task": {"ttl": TTL_MS}}
    created = await client.request("tools/call", params)
    task = dict_at(created, "task")
    id = text_at(task, "taskId", 300)
    if not id:
        return created
    try:
        while task.get("status") in ("working", None):
            report(shortened(clean_line(text_at(task, "statusMessage", 500) or "working"), 200))
            pause = task.get("pollInterval")
            seconds = pause / 1000 if isinstance(pause, int | float) else POLL_S
            await asyncio.sleep(min(max(seconds, MIN_POLL_S), MAX_POLL_S))
            task = await client.request("tasks/get", {"taskId": id})
    except asyncio.CancelledError:
        await client.request("tasks/cancel", {"taskId": id}, timeout_s=1)
        raise
    # What the server needs to know for it, it asks while we wait for the result.
    return await client.request("tasks/result", {"taskId": id}, timeout_s=TTL_MS / 1000)
