"""Commands with which the driving program offers its own tools and URL schemes."""

from typing import Any, Protocol

from msgspec import Struct

from tau.modes.session_commands.command import CommandCall, CommandError, command


class HostTool(Struct, frozen=True, rename="camel"):
    """A tool that runs in the driving program; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: dict[str, Any]
    label: str = ""
    hidden: bool = False


class HostScheme(Struct, frozen=True, rename="camel"):
    """A URL scheme that the driving program serves."""

    scheme: str
    description: str = ""
    writable: bool = False
    immutable: bool = False


class HostLink(Protocol):
    """How tools and schemes of the driving program are reached."""

    def set_tools(self, tools: list[HostTool]) -> list[str]: ...
    def set_schemes(self, schemes: list[HostScheme]) -> list[str]: ...


class HostToolsRequest(Struct, frozen=True):
    tools: list[HostTool]


class HostToolNames(Struct, frozen=True, rename="camel"):
    tool_names: list[str]


class HostSchemesRequest(Struct, frozen=True):
    schemes: list[HostScheme]


class HostSchemeNames(Struct, frozen=True):
    schemes: list[str]


def _link(call: CommandCall) -> HostLink:
    if call.link is None:
        raise CommandError("This connection cannot offer tools or URL schemes.", "unsupported")
    return call.link


async def set_host_tools(call: CommandCall, request: HostToolsRequest) -> HostToolNames:
    return HostToolNames(_link(call).set_tools(request.tools))


async def set_host_uri_schemes(call: CommandCall, request: HostSchemesRequest) -> HostSchemeNames:
    return HostSchemeNames(_link(call).set_schemes(request.schemes))


COMMANDS = (
    command(set_host_tools, "Offer these tools of the driving program, instead of earlier ones"),
    command(set_host_uri_schemes, "Offer these URL schemes of the driving program, instead of earlier ones"),
)
