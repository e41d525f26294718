"""Connects the command hooks that files supply to a session; they are read before its first prompt."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tau.agent.events import Notice
from tau.agent.hooks import HookChain, StartSource
from tau.ai.wire import AppMessage
from tau.base.late import late
from tau.base.run import Runner
from tau.coding.approval.session_permissions import SessionPermissions
from tau.coding.hook_status import HookStatus
from tau.config.paths import Paths, project_folders
from tau.config.settings import Settings
from tau.sdk.options import SessionOptions

if TYPE_CHECKING:
    from tau.coding.supplies import Supplies
    from tau.ext.hooks.command_hooks import CommandHooks
    from tau.ext.hooks.hook_files import HookTable
    from tau.sdk.environment import ToolEnvironment

command_hooks = late("tau.ext.hooks.command_hooks")
hook_files = late("tau.ext.hooks.hook_files")
dispatcher = late("tau.ext.hooks.dispatcher")
report = late("tau.ext.hooks.report")
list_settings = late("tau.config.list_settings")

_MODES = {"ask": "default", "workspace": "acceptEdits", "plan": "plan", "yolo": "bypassPermissions"}


class HookParts(Struct, frozen=True):
    """What command hooks need of a session."""

    options: SessionOptions
    paths: Paths
    settings: Settings
    environ: Mapping[str, str]
    environment: "ToolEnvironment"
    outside: Runner
    permissions: SessionPermissions
    supplies: "Callable[[], Supplies]"
    trusted: bool


class LateHooks(HookChain):
    """Reads the files in a thread, before the first question that matters."""

    def __init__(self, parts: HookParts, services: AsyncExitStack) -> None:
        super().__init__([])
        self._parts = parts
        self._services = services
        self._lock = asyncio.Lock()
        self._table: HookTable | None = None
        self._loaded: CommandHooks | None = None

    async def session_start(self, source: StartSource) -> None:
        await self.load()
        await super().session_start(source)

    async def before_compact(
        self, messages: list[AppMessage], *, automatic: bool = True, focus: str = ""
    ) -> bool:
        await self.load()
        return await super().before_compact(messages, automatic=automatic, focus=focus)

    async def load(self) -> None:
        async with self._lock:
            if self._table is None:
                self._table = await self._load()

    async def rows(self) -> list[HookStatus]:
        """All hooks that were found, and how they fared."""
        await self.load()
        assert self._table is not None
        records = {} if self._loaded is None else self._loaded.dispatcher.records
        off: set[str] = set() if self._loaded is None else self._loaded.dispatcher.off
        rows: list[HookStatus] = [
            report.status_of(hook, records.get(hook), is_off=hook.id in off) for hook in self._table.hooks
        ]
        return rows

    def turn(self, id: str, *, on: bool) -> None:
        """Turn a hook on or off, here and in the user's settings. Raises ConfigError."""
        if on:
            list_settings.remove_from_list(self._parts.paths, "hooks.disabled", id)
        else:
            list_settings.add_to_list(self._parts.paths, "hooks.disabled", [id])
        if self._loaded is not None:
            (self._loaded.dispatcher.off.discard if on else self._loaded.dispatcher.off.add)(id)

    async def _load(self) -> "HookTable":
        parts = self._parts
        emit = parts.environment.events.emit
        table: HookTable = await asyncio.to_thread(
            lambda: hook_files.load_hooks(parts.supplies().discovery, parts.settings.hooks)
        )
        for problem in table.problems:
            emit(Notice("warning", problem, "hooks"))
        if hook_files.NESTED in parts.environ:  # tau in a hook: only what guards it, else this may never end
            table = hook_files.HookTable([hook for hook in table.hooks if hook.is_guard])
        if parts.options.agent is not None:
            table = hook_files.HookTable(
                [hook for hook in table.hooks if hook.event not in hook_files.OF_THE_USERS]
            )
        if not table.active:
            return table
        running = dispatcher.HookDispatcher(
            table,
            dispatcher.HookSession(
                world=hook_files.HookScope(
                    cwd=parts.options.cwd,
                    project=list(project_folders(parts.options.cwd))[-1],
                    runner=parts.environment.world.run,
                    outside=parts.outside,
                    environ=parts.environ,
                    trusted=parts.trusted,
                ),
                queue=parts.environment.queue,
                emit=emit,
                stop=parts.environment.activities.abort_run,
                facts=self._facts,
                on_error=parts.settings.hooks.on_error,
                ui=parts.options.ui,
                disable=lambda id: self.turn(id, on=False),
            ),
        )
        await self._services.enter_async_context(running)
        self._loaded = command_hooks.CommandHooks(running, is_agent=parts.options.agent is not None)
        parts.environment.events.watch(self._loaded.on_event)
        self._hooks.append(self._loaded)
        return table

    def _facts(self) -> dict[str, Any]:
        log = self._parts.permissions.log
        return {
            "session_id": log.header.id,
            "transcript_path": str(log.path or ""),
            "cwd": str(self._parts.options.cwd),
            "permission_mode": _MODES.get(self._parts.permissions.mode, "default"),
        }
