"""Cycles models and thinking levels with one key."""

import asyncio
from typing import NamedTuple

from tau.ai.catalog import find_models, split_thinking
from tau.ai.model import THINKING_LEVELS, Model, ThinkingLevel
from tau.config.paths import Paths
from tau.config.settings import Settings
from tau.modes.interactive.command_context import CommandContext
from tau.modes.model_list import known_models, with_headers


class ModelAndThinking(NamedTuple):
    model: Model
    thinking: ThinkingLevel | None = None


def levels(model: Model) -> tuple[ThinkingLevel, ...]:
    """The levels a model supports."""
    return THINKING_LEVELS if model.reasoning else ("off",)


def next_thinking(context: CommandContext) -> str:
    """Raise the thinking level, or turn thinking off after the highest; returns what to tell the user."""
    session = context.session
    if session is None:
        return "There is no session yet."
    supported = levels(session.model)
    if len(supported) == 1:
        return f"{session.model.name} does not support thinking."
    at = supported.index(session.thinking) if session.thinking in supported else -1
    level = supported[(at + 1) % len(supported)]
    session.use_thinking(level)
    context.status_line.refresh()
    return f"Thinking: {level}."


def choices(settings: Settings, paths: Paths) -> list[ModelAndThinking]:
    """The usable models of the setting enabledModels.

    Without it: the default of each provider that has a key; if there is only one, all its models.
    """
    available = known_models(paths, None)
    catalog, keys = available.catalog, available.keys
    usable = [id for id in catalog.providers if id in available.usable]
    chosen: dict[str, ModelAndThinking] = {}
    for pattern in settings.enabled_models:
        name, thinking = split_thinking(pattern)
        for model in find_models(catalog, name, prefer=usable):
            if model.provider in usable:
                chosen.setdefault(model.key, ModelAndThinking(model, thinking))
    if chosen or settings.enabled_models:
        return list(chosen.values())
    defaults = {id: catalog.providers[id].default_model for id in usable if keys.available(id)}
    ready = [model for model in catalog.models if model.provider in defaults]
    first = [model for model in ready if defaults[model.provider] == model.id]
    return [ModelAndThinking(model) for model in (first if len(first) > 1 else ready)]


async def next_model(context: CommandContext, step: int) -> None:
    """Switch to the next (1) or previous (-1) model."""
    session = context.session
    if session is None:
        return
    options = await asyncio.to_thread(choices, context.settings, context.paths)
    keys = [choice.model.key for choice in options]
    current = session.model.key
    if not [key for key in keys if key != current]:
        context.hint("No other model to switch to; list models in the setting enabledModels.")
        return
    at = keys.index(current) if current in keys else -1 if step > 0 else 0
    choice = options[(at + step) % len(options)]
    model = choice.model
    if model.headers:
        model = await with_headers(model)
    if context.session is not session:
        return
    session.use_model(model)
    level = choice.thinking or session.thinking
    if level not in levels(model):
        level = "off"
    if level != session.thinking:
        session.use_thinking(level)
    context.status_line.refresh()
    context.hint(f"Model: {model.key}" + (f", thinking {level}." if model.reasoning else "."))
