"""debug: runs a program under a debugger, stops it, and looks at its frames and variables."""

import asyncio
from pathlib import Path

from msgspec import UNSET

from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.backends.dap.connection import DapError
from tau.backends.dap.sessions import DebugSessions
from tau.base.errors import ToolError
from tau.base.late import late
from tau.coding.debug.actions import ACTIONS
from tau.coding.debug.call import (
    READ_ONLY,
    DebugCall,
    DebugDetails,
    DebugParams,
    check,
    clamped_timeout,
    described,
    working_folder,
)
from tau.coding.files.paths import resolve
from tau.coding.output import OutputLimits, notice, truncate, with_notice
from tau.coding.ports import CodingContext

unseen_characters = late("tau.coding.shell.unseen_characters")

GRACE_S = 8.0  # beyond the time-out, to look at the stop
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Debug(Tool[DebugParams]):
    """One program at a time; the session outlives the call."""

    name, label = "debug", "Debug"
    exclusive = True

    def __init__(self, sessions: DebugSessions | None = None) -> None:
        self._sessions = sessions

    @property
    def offered(self) -> bool:
        return self._sessions is not None and self._sessions.found.fits

    def effects(self, params: DebugParams, cwd: Path) -> Effects:
        """Reading actions only look at a program that runs; all others need the approval of a command."""
        check(params)
        if params.action in READ_ONLY:
            return Effects(reads=(cwd,))
        unseen_characters.refuse_controls("The call", text := described(params))
        folder = working_folder(params, cwd)
        reads = [cwd]
        if params.program:
            reads.append(resolve(params.program, folder))
        host = params.host or LOOPBACK[0]
        remote = params.action == "attach" and params.port is not None and host not in LOOPBACK
        return Effects(
            reads=tuple(dict.fromkeys(reads)),
            runs=(text,),
            network=(host,) if remote else (),
            run_cwd=folder if folder != cwd else None,
            details=(("adapter", params.adapter),) if params.adapter else (),
        )

    async def run(self, params: DebugParams, ctx: CodingContext) -> ToolOutput:
        check(params)
        if self._sessions is None:
            raise ToolError("There are no debug adapters for this folder; `tau debug adapters` says why.")
        if params.action not in READ_ONLY:
            ctx.approved.run(described(params))
        await self._sessions.look_again()
        call = DebugCall(params, ctx, self._sessions, clamped_timeout(params))
        try:
            async with asyncio.timeout(call.timeout_s + GRACE_S):
                text = await ACTIONS[params.action](call)
        except TimeoutError:
            raise ToolError(f"No answer in {call.timeout_s:g} s; the debug session is still there.") from None
        except DapError as error:
            raise ToolError(str(error)) from None
        cut = truncate(text, OutputLimits())
        if cut.truncation:
            text = with_notice(cut.text, notice(cut.truncation, more="ask for less"))
        last = self._sessions.last
        details = DebugDetails(
            action=params.action, snapshot=UNSET if last is None else last.summary(), **call.details
        )
        return ToolOutput.text(text, details)
