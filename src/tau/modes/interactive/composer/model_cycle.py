"""Cycles models and thinking levels with one key."""

import asyncio

from tau.modes.interactive.command_context import CommandContext
from tau.modes.model_list import cycle_choices, with_headers


def next_thinking(context: CommandContext) -> str:
    """Raise the thinking level, or turn thinking off after the highest; returns what to tell the user."""
    session = context.session
    if session is None:
        return "There is no session yet."
    supported = session.model.thinking_levels()
    if len(supported) == 1:
        return f"{session.model.name} does not support thinking."
    at = supported.index(session.thinking) if session.thinking in supported else -1
    level = supported[(at + 1) % len(supported)]
    session.use_thinking(level)
    context.status_line.refresh()
    return f"Thinking: {level}."


async def next_model(context: CommandContext, step: int) -> None:
    """Switch to the next (1) or previous (-1) model."""
    session = context.session
    if session is None:
        return
    options = await asyncio.to_thread(cycle_choices, context.settings, context.paths)
    keys = [choice.model.key for choice in options]
    current = session.model.key
    if not [key for key in keys if key != current]:
        context.hint("No other model to switch to; list models in the setting enabledModels.")
        return
    at = keys.index(current) if current in keys else -1 if step > 0 else 0
    choice = options[(at + step) % len(options)]
    model = await with_headers(choice.model)
    if context.session is not session:
        return
    session.use_model(model)
    level = choice.thinking or session.thinking
    if level not in model.thinking_levels():
        level = "off"
    if level != session.thinking:
        session.use_thinking(level)
    context.status_line.refresh()
    context.hint(f"Model: {model.key}" + (f", thinking {level}." if model.reasoning else "."))
