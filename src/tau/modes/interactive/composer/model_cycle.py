"""Cycles models and thinking levels with one key."""

import asyncio
import os
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from tau.ai.auth import resolve_headers
from tau.ai.catalog import find_models, load_catalog, split_thinking
from tau.ai.model import THINKING_LEVELS, Model, ThinkingLevel
from tau.base.run import LocalRunner
from tau.config.auth_file import AuthFile
from tau.config.credentials import KeyCredentials
from tau.config.models_file import load_models_file, merge_models

if TYPE_CHECKING:
    from tau.config.paths import Paths
    from tau.config.settings import Settings
    from tau.modes.interactive.command_context import CommandContext


class ModelAndThinking(NamedTuple):
    model: Model
    thinking: ThinkingLevel | None = None


def levels(model: Model) -> tuple[ThinkingLevel, ...]:
    """The levels a model supports."""
    return THINKING_LEVELS if model.reasoning else ("off",)


def next_thinking(context: "CommandContext") -> str:
    """Raise the thinking level, or turn thinking off after the highest; returns what to tell the user."""
    session = context.session
    if session is None:
        return "There is no session yet."
    known = levels(session.model)
    if len(known) == 1:
        return f"{session.model.name} does not support thinking."
    at = known.index(session.thinking) if session.thinking in known else -1
    level = known[(at + 1) % len(known)]
    session.use_thinking(level)
    context.status_line.refresh()
    return f"Thinking: {level}."


def choices(settings: "Settings", paths: "Paths") -> list[ModelAndThinking]:
    """The usable models of the setting enabledModels.

    Without it: the default of each provider that has a key; if there is only one, all its models.
    """
    file = load_models_file(paths.models)
    catalog = merge_models(load_catalog(), file)
    keys = KeyCredentials(catalog, AuthFile(paths.auth), LocalRunner(), os.environ, models=file.keys)
    usable = [id for id, row in catalog.providers.items() if row.local or keys.available(id)]
    found: dict[str, ModelAndThinking] = {}
    for pattern in settings.enabled_models:
        name, thinking = split_thinking(pattern)
        for model in find_models(catalog, name, prefer=usable):
            if model.provider in usable:
                found.setdefault(model.key, ModelAndThinking(model, thinking))
    if found or settings.enabled_models:
        return list(found.values())
    defaults = {id: catalog.providers[id].default_model for id in usable if keys.available(id)}
    ready = [model for model in catalog.models if model.provider in defaults]
    first = [model for model in ready if defaults[model.provider] == model.id]
    return [ModelAndThinking(model) for model in (first if len(first) > 1 else ready)]


async def next_model(context: "CommandContext", step: int) -> None:
    """Switch to the next (1) or previous (-1) model."""
    session = context.session
    if session is None:
        return
    known = await asyncio.to_thread(choices, context.settings, context.paths)
    keys = [choice.model.key for choice in known]
    current = session.model.key
    if not [key for key in keys if key != current]:
        context.hint("No other model to switch to; list models in the setting enabledModels.")
        return
    at = keys.index(current) if current in keys else -1 if step > 0 else 0
    choice = known[(at + step) % len(known)]
    model = choice.model
    if model.headers:
        model = replace(model, headers=await resolve_headers(model.headers, os.environ, LocalRunner()))
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
