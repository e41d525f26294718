"""What `tau doctor` says about MCP servers."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from tau.base.programs import find_program
from tau.coding.doctor import DoctorCheck, DoctorInput, Status
from tau.coding.supplies import Supplies
from tau.config.layers import load_settings
from tau.config.trust import trust_status
from tau.ext.mcp.config_files import find_servers
from tau.ext.mcp.report import state_of


async def check_mcp(given: DoctorInput) -> AsyncIterator[DoctorCheck]:
    """A `CheckSource`: what files define. No server is started."""
    settings = load_settings(given.paths, given.cwd).settings
    if not settings.mcp.enabled:
        yield DoctorCheck(name="mcp", status="ok", text="off (mcp.enabled is false)")
        return
    trusted = (await asyncio.to_thread(trust_status, given.cwd, given.paths)).trusted
    found = Supplies(given.cwd, given.paths, settings, trusted=trusted).discovery
    listing = await asyncio.to_thread(find_servers, found, given.cwd)
    for entry in listing.entries:
        status: Status = "fail" if entry.state == "invalid" else "ok"
        text, advice = f"{entry.place}: {state_of(entry)}. {entry.why}".strip(), ""
        if entry.state == "active":
            text = f"{entry.place}: {entry.server.url or entry.server.command}"
            if entry.server.type == "stdio" and not _is_there(entry.server.command, given):
                status, advice = "fail", f"{entry.server.command} is not found; install it"
        yield DoctorCheck(name="mcp", status=status, text=text, advice=advice)
    for place, problem in listing.errors:
        yield DoctorCheck(name="mcp", status="fail", text=f"{place}: {problem}", advice="fix the file")
    if not listing.entries and not listing.errors:
        yield DoctorCheck(name="mcp", status="ok", text="no servers are defined")


def _is_there(command: str, given: DoctorInput) -> bool:
    if "$" in command:
        return True
    path = Path(command).expanduser()
    return path.exists() if "/" in command else find_program(command, environ=given.environ) is not None
