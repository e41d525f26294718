"""Serves an editor until it leaves."""

import asyncio
import logging

from acp import AgentSideConnection

from tau.modes.acp.agent import AcpAgent
from tau.modes.acp.transport import LineTransport
from tau.modes.exit_status import DONE, NOBODY_READS
from tau.modes.line_input import LineReader
from tau.modes.output_stream import OutputStream
from tau.sdk import SessionOptions


async def run(options: SessionOptions, lines: LineReader, out: OutputStream) -> int:
    """Serve until the input ends; returns the exit code. Raises TauError if the output cannot be written."""
    transport = LineTransport(lines, out)
    logging.getLogger().addHandler(logging.NullHandler())  # editors show stderr: no trace of what they send
    async with asyncio.TaskGroup() as tasks:
        agent = AcpAgent(options, transport, tasks)
        connection = AgentSideConnection(agent, transport, listening=False, use_unstable_protocol=True)
        try:
            await connection.listen()
        finally:
            await connection.close()  # no request opens another session
            await agent.close()
    if transport.failure is not None:
        raise transport.failure
    return NOBODY_READS if out.gone else DONE
