"""The command that checks this installation."""

import os
from contextlib import closing

from tau.base.errors import UsageError
from tau.base.run import LocalRunner
from tau.coding.debug.doctor_check import check_debug_adapters
from tau.coding.doctor import DoctorInput, is_healthy, run_checks
from tau.coding.lsp.doctor_check import check_language_servers
from tau.ext.hooks.hook_check import check_hooks
from tau.ext.mcp.doctor_check import check_mcp
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.commands.shared_text import columns


async def doctor(context: CommandContext, rest: str) -> None:
    """Show one line per check."""
    if rest:
        raise UsageError("/doctor takes no arguments; tau doctor --redact masks secrets in stored sessions.")
    context.activity.show("Checking")
    try:
        with closing(LocalRunner()) as runner:
            given = DoctorInput(paths=context.paths, cwd=context.cwd, environ=os.environ, runner=runner)
            checks = await run_checks(
                given, (check_hooks, check_mcp, check_language_servers, check_debug_adapters)
            )
    finally:
        context.activity.hide()
    rows = [
        (check.status, check.name, f"{check.text}{f' -> {check.advice}' if check.advice else ''}")
        for check in checks
    ]
    lines = columns(context.display, rows, cut=False)
    context.say("\n".join(lines), "info" if is_healthy(checks) else "warning")
