"""Connects a session with its long-term memory."""

from tau.agent.loop_owner import Complete
from tau.base.tasks import Background
from tau.coding.context import ModelRoles
from tau.coding.memory.automatic import AutomaticMemory
from tau.coding.memory.model import MemoryModel
from tau.coding.project_memory import ProjectMemory
from tau.coding.session.stats import record_costs
from tau.coding.session.storage.log import SessionLog
from tau.config.settings import Settings
from tau.sdk.environment import ToolEnvironment


def open_automatic(
    memory: ProjectMemory,
    settings: Settings,
    environment: ToolEnvironment,
    ask: Complete,
    conversation: SessionLog,
    models: ModelRoles,
) -> AutomaticMemory:
    """The hook that recalls and retains; the end of the session closes what it started."""
    hook = AutomaticMemory(
        memory,
        settings.memory,
        conversation,
        MemoryModel(record_costs(ask, conversation, "memory"), models),
        environment.queue,
        environment.events.emit,
        Background(),
    )
    environment.events.watch(hook.observe)
    return hook
