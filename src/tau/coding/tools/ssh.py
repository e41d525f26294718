"""ssh: runs one command on a configured host with live output."""

import asyncio
import time
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.ports import ToolContext
from tau.agent.tool import Tool
from tau.base.errors import ToolError
from tau.base.late import late
from tau.base.run import Exit, Limits
from tau.base.text import clean_line, shortened
from tau.coding.output import OutputLimits, OutputMeta, OutputSink, ProgressUpdates, notice, with_notice
from tau.coding.shell.result import describe_exit

if TYPE_CHECKING:
    from tau.backends.ssh.command import RemoteCommand
    from tau.backends.ssh.connections import Connections
    from tau.backends.ssh.hosts import SshHost

unseen_characters = late("tau.coding.shell.unseen_characters")

TIMEOUT_S = 60
MAX_TIMEOUT_S = 3600
LOST = "[The connection was lost or the remote shell was killed; the command may still be running]"


class SshParams(Struct, frozen=True):
    aliases: ClassVar[dict[str, str]] = {"cmd": "command", "workdir": "cwd"}

    host: Annotated[str, Meta(title="Host name from the list")]
    command: Annotated[str, Meta(title="Text for the remote shell")]
    cwd: Annotated[str | None, Meta(description="Remote directory to run in")] = None
    timeout: Annotated[int | None, Meta(description="Seconds, 1 to 3600")] = None


class SshDetails(Struct, frozen=True, rename="camel", kw_only=True):
    """`exit_code` is null while the command runs and when its end is unknown."""

    host: str
    target: str
    command: str
    cwd: str | UnsetType = UNSET
    exit_code: int | None = None
    timed_out: bool = False
    lost: bool = False  # the connection was lost before the command ended
    duration_ms: int = 0
    mount: str | UnsetType = UNSET  # the mount point of the host's files
    meta: OutputMeta | UnsetType = UNSET


class Ssh(Tool[SshParams]):
    """Offered if hosts are configured. The session opens and closes `connections`."""

    name, label, exclusive = "ssh", "Ssh", True

    def __init__(
        self,
        hosts: "Mapping[str, SshHost] | None" = None,
        connections: "Connections | None" = None,
        limits: OutputLimits | None = None,
    ) -> None:
        self._hosts = hosts or {}
        self._connections = connections
        self._limits = limits or OutputLimits()

    @cached_property
    def description(self) -> str:
        lines = ["Hosts:", *(f"- {self._described(host)}" for host in self._hosts.values())]
        text = super().description.replace("{{seconds}}", str(TIMEOUT_S))
        return text.replace("{{hosts}}", "\n".join(lines) if self._hosts else "No hosts are configured.")

    def effects(self, params: SshParams, cwd: Path) -> Effects:
        _check(params)
        host = self._hosts.get(params.host)
        return Effects(
            runs=(_declared(params),),
            network=() if host is None else (host.address,),
            details=() if params.timeout is None else (("timeout", f"{_seconds(params)} s"),),
        )

    async def run(self, params: SshParams, ctx: ToolContext) -> ToolOutput:
        host = self._host(params.host)
        _check(params)
        ctx.approved.run(_declared(params))
        ctx.approved.connect(host.address)
        assert self._connections is not None
        seconds = _seconds(params)
        details = SshDetails(
            host=host.name,
            target=host.target,
            command=params.command,
            cwd=UNSET if params.cwd is None else params.cwd,
        )
        began = time.monotonic()
        limits = Limits(timeout=seconds)
        with OutputSink(ctx.artifacts, self.name, self._limits) as sink:
            async with self._connections.start(
                host, params.command, cwd=params.cwd, limits=limits
            ) as running:
                if (mount := self._connections.mounted(host)) is not None:
                    details = replace(details, mount=str(mount))
                await _follow(running, sink, ctx, details)
                exited = await running.wait()
            if running.folder_missing:
                raise ToolError(f'`cwd` is not a directory on "{host.name}": {params.cwd}.')
            lost = running.lost and not exited.timed_out
            details = replace(details, duration_ms=round((time.monotonic() - began) * 1000))
            return _result(sink, details, exited, seconds, lost=lost)

    def _host(self, name: str) -> "SshHost":
        if not self._hosts or self._connections is None:
            raise ToolError("No ssh hosts are configured; the user adds one with tau ssh add.")
        if name not in self._hosts:
            there = ", ".join(self._hosts)
            raise ToolError(f'There is no host "{shortened(clean_line(name), 80)}"; there are {there}.')
        return self._hosts[name]

    def _described(self, host: "SshHost") -> str:
        info = None if self._connections is None else self._connections.known(host)
        known = "system unknown" if info is None else str(info)
        return f"{host.name} ({host.target}; {known}){host.description and f': {host.description}'}"


def _seconds(params: SshParams) -> int:
    return min(max(TIMEOUT_S if params.timeout is None else params.timeout, 1), MAX_TIMEOUT_S)


def _declared(params: SshParams) -> str:
    there = "" if params.cwd is None else f" in {params.cwd}"
    return f"on {params.host}{there}: {params.command}"


def _check(params: SshParams) -> None:
    if not params.command.strip():
        raise ToolError("`command` is empty; there is nothing to run.")
    unseen_characters.refuse_controls("`host`", params.host)
    unseen_characters.refuse_controls("`command`", params.command)
    unseen_characters.refuse_controls("`cwd`", params.cwd or "")
    if params.cwd == "":
        raise ToolError("`cwd` is empty; omit it to run in the home directory.")


async def _follow(running: "RemoteCommand", sink: OutputSink, ctx: ToolContext, details: SshDetails) -> None:
    """Collect the output and show its end periodically."""
    progress = ProgressUpdates(lambda: ctx.update(ToolOutput.text(sink.tail(), details)))
    try:
        while chunk := await running.read():
            sink.push(chunk)
            progress.note()
    except asyncio.CancelledError:
        progress.send()
        raise
    finally:
        progress.stop()


def _result(sink: OutputSink, details: SshDetails, exited: Exit, seconds: int, *, lost: bool) -> ToolOutput:
    output = sink.finish()
    text = with_notice(output.text, notice(output.truncation))
    ending = LOST if lost else describe_exit(exited, seconds)
    if not text.strip():
        text = "" if ending else "[No output]"
    details = replace(
        details,
        exit_code=None if lost or exited.timed_out else exited.code,
        timed_out=exited.timed_out,
        lost=lost,
        meta=output.meta,
    )
    return ToolOutput.text(with_notice(text, ending), details, is_error=bool(ending))
