"""Commands about models and thinking."""

import asyncio

from msgspec import Struct

from tau.ai.model import Model, Price, ThinkingLevel
from tau.coding.session.session import Session
from tau.modes.model_list import cycle_choices, find_model, known_models, with_headers
from tau.modes.session_commands.command import CommandCall, CommandError, NoFields, command


class ModelInfo(Struct, frozen=True, rename="camel"):
    """A model without its headers, which may hold keys."""

    id: str
    name: str
    api: str
    provider: str
    base_url: str
    reasoning: bool
    input: tuple[str, ...]
    cost: Price
    context_window: int
    max_tokens: int


class SetModelRequest(Struct, frozen=True, rename="camel"):
    provider: str
    model_id: str


class CycledModel(Struct, frozen=True, rename="camel"):
    """`is_scoped`: the choice is limited by the setting enabledModels."""

    model: ModelInfo
    thinking_level: ThinkingLevel
    is_scoped: bool


class AvailableModels(Struct, frozen=True):
    models: list[ModelInfo]


class ThinkingRequest(Struct, frozen=True):
    level: ThinkingLevel


class AvailableLevels(Struct, frozen=True):
    levels: list[ThinkingLevel]


def model_info(model: Model) -> ModelInfo:
    return ModelInfo(
        id=model.id,
        name=model.name,
        api=model.api,
        provider=model.provider,
        base_url=model.base_url,
        reasoning=model.reasoning,
        input=model.input,
        cost=model.cost,
        context_window=model.context_window,
        max_tokens=model.max_tokens,
    )


async def set_model(call: CommandCall, request: SetModelRequest) -> ModelInfo:
    host = call.host
    wanted = f"{request.provider}/{request.model_id}".rstrip("/")
    model, _ = await find_model(wanted, host.paths, host.session.model, host.session.settings.local)
    if (model.provider, model.id) != (request.provider, request.model_id):
        raise CommandError(f'There is no model "{wanted}"; get_available_models lists them.')
    return await _use(host.session, model)


async def _use(session: Session, model: Model) -> ModelInfo:
    session.use_model(await with_headers(model))
    return model_info(model)


async def cycle_model(call: CommandCall, request: NoFields) -> CycledModel | None:
    session = call.host.session
    options = await asyncio.to_thread(cycle_choices, session.settings, call.host.paths)
    keys = [choice.model.key for choice in options]
    if not [key for key in keys if key != session.model.key]:
        return None
    at = keys.index(session.model.key) if session.model.key in keys else -1
    choice = options[(at + 1) % len(options)]
    info = await _use(session, choice.model)
    level = choice.thinking or session.thinking
    if level not in choice.model.thinking_levels():
        level = "off"
    if level != session.thinking:
        session.use_thinking(level)
    return CycledModel(info, level, bool(session.settings.enabled_models))


async def get_available_models(call: CommandCall, request: NoFields) -> AvailableModels:
    session = call.host.session
    models = await asyncio.to_thread(known_models, call.host.paths, session.model)
    usable = (model for model in models.catalog.models if model.provider in models.usable)
    return AvailableModels([model_info(model) for model in usable])


async def set_thinking_level(call: CommandCall, request: ThinkingRequest) -> None:
    session = call.host.session
    if request.level not in session.model.thinking_levels():
        known = ", ".join(session.model.thinking_levels())
        raise CommandError(f"{session.model.key} has no thinking level {request.level}; it has {known}.")
    session.use_thinking(request.level)


async def cycle_thinking_level(call: CommandCall, request: NoFields) -> ThinkingRequest | None:
    session = call.host.session
    levels = session.model.thinking_levels()
    if len(levels) == 1:
        return None
    at = levels.index(session.thinking) if session.thinking in levels else -1
    level = levels[(at + 1) % len(levels)]
    session.use_thinking(level)
    return ThinkingRequest(level)


async def get_available_thinking_levels(call: CommandCall, request: NoFields) -> AvailableLevels:
    return AvailableLevels(list(call.host.session.model.thinking_levels()))


COMMANDS = (
    command(set_model, "Switch to this model from the next request on"),
    command(cycle_model, "Switch to the next usable model; null if there is no other"),
    command(get_available_models, "List the models that can be used now"),
    command(set_thinking_level, "Set how much the model thinks"),
    command(cycle_thinking_level, "Go to the next thinking level; null if the model has only one"),
    command(get_available_thinking_levels, "List the thinking levels of the model"),
)
