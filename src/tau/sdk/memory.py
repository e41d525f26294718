"""Connects a session with its long-term memory."""

from functools import partial

from tau.agent.loop_owner import Complete
from tau.base.tasks import Background
from tau.coding.context import ModelRoles
from tau.coding.memory.automatic import AutomaticMemory, extract
from tau.coding.memory.model import MemoryModel
from tau.coding.memory.port import Memory
from tau.coding.session.stats import record_costs
from tau.coding.session.storage.log import SessionLog
from tau.config.settings import Settings
from tau.sdk.environment import ToolEnvironment

CHARS_PER_TOKEN = 4


def open_automatic(
    memory: Memory,
    settings: Settings,
    environment: ToolEnvironment,
    ask: Complete,
    conversation: SessionLog,
    models: ModelRoles,
) -> AutomaticMemory:
    """The hook that recalls and retains; the end of the session closes what it started."""
    model = MemoryModel(record_costs(ask, conversation, "memory"), models)
    learn = partial(extract, memory.local, model) if memory.remote is None else memory.remote.learn
    hook = AutomaticMemory(
        memory,
        settings.hindsight if memory.remote is not None else settings.memory,
        settings.memory.injection_token_limit * CHARS_PER_TOKEN,
        conversation,
        learn,
        environment.queue,
        environment.events.emit,
        Background(),
    )
    environment.events.watch(hook.observe)
    return hook
