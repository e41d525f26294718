"""The command that shows servers in the sandbox and forwards their ports to this machine."""

from typing import TYPE_CHECKING

from tau.base.errors import TauError, UsageError
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.commands.shared_text import columns

if TYPE_CHECKING:
    from tau.backends.sandbox.network.port_forwarding import SandboxPorts

USAGE = "Usage: /ports, /ports PORT or /ports stop PORT."


async def ports(context: CommandContext, rest: str) -> None:
    """List the ports that servers in the sandbox listen on, forward one, or stop forwarding it."""
    known = _sandbox_ports(context)
    match rest.split():
        case []:
            await _list(context, known)
        case ["stop", port] if port.isdecimal():
            stopped = known.stop(int(port))
            context.say(
                f"Port {port} is no longer forwarded." if stopped else f"Port {port} is not forwarded."
            )
        case [port] if port.isdecimal():
            here = await known.forward(int(port))
            context.say(f"Port {port} of the sandbox is at {_address(here)} until the session ends.")
        case _:
            raise UsageError(USAGE)


def _sandbox_ports(context: CommandContext) -> "SandboxPorts":
    sandbox = context.require_session().sandbox
    if sandbox is None or not sandbox.contained:
        raise TauError("No sandbox is running; servers that commands start are on localhost already.")
    if sandbox.commands.ports is None:
        raise TauError("The sandbox shares your network; its servers are on localhost already.")
    return sandbox.commands.ports


async def _list(context: CommandContext, known: "SandboxPorts") -> None:
    found = await known.list()
    if not found:
        context.say("Nothing in the sandbox listens on a port.")
        return
    rows = []
    for each in found:
        here = known.forwarded(each.port)
        rows.append((str(each.port), each.program or "unknown", "" if here is None else _address(here)))
    note = "/ports PORT forwards a port to this machine; /ports stop PORT stops that."
    context.say("\n".join([*columns(context.display, rows, right=(0,)), note]))


def _address(port: int) -> str:
    return f"http://127.0.0.1:{port}"
