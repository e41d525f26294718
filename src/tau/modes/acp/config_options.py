"""What the user can choose in the editor: approval mode, model, thinking level."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from acp import schema as a

from tau.base.errors import UsageError
from tau.coding.session.session import Session
from tau.config.settings import APPROVAL_MODES
from tau.modes.session_commands import models, state
from tau.modes.session_commands.command import CommandCall
from tau.modes.session_commands.models import ModelInfo

ConfigOption: TypeAlias = a.SessionConfigOptionSelect | a.SessionConfigOptionBoolean
MODE_TEXTS = {
    "ask": ("Ask", "Ask before every change and command"),
    "workspace": ("Workspace", "Change files of the project without asking"),
    "plan": ("Plan", "Read and plan, change nothing"),
    "yolo": ("Yolo", "Never ask"),
}


def mode_state(session: Session) -> a.SessionModeState:
    return a.SessionModeState(
        current_mode_id=session.permissions.mode,
        available_modes=[
            a.SessionMode(id=mode, name=MODE_TEXTS[mode][0], description=MODE_TEXTS[mode][1])
            for mode in APPROVAL_MODES
        ],
    )


def config_options(session: Session, usable: Sequence[ModelInfo]) -> list[ConfigOption]:
    """Each with its current value; a level only if the model has several."""
    modes = [(mode, *MODE_TEXTS[mode]) for mode in APPROVAL_MODES]
    keys = [(f"{model.provider}/{model.id}", model.name, model.provider) for model in usable]
    if session.model.key not in {key for key, _, _ in keys}:
        keys.insert(0, (session.model.key, session.model.name, session.model.provider))
    found: list[ConfigOption] = [
        _select("mode", "Approval", session.permissions.mode, modes),
        _select("model", "Model", session.model.key, keys),
    ]
    levels = session.model.thinking_levels()
    if len(levels) > 1:
        named = [(level, level.capitalize(), "") for level in levels]
        found.append(_select("thought_level", "Thinking", session.thinking, named))
    return found


async def set_option(call: CommandCall, option: str, value: str | bool) -> None:
    """Raises TauError if the session has no such option or value."""
    if not isinstance(value, str):
        raise UsageError(f'The option "{option}" takes one of its values, not a boolean.')
    match option:
        case "mode":
            mode = next((mode for mode in APPROVAL_MODES if mode == value), None)
            if mode is None:
                raise UsageError(f'There is no mode "{value}"; use one of {", ".join(APPROVAL_MODES)}.')
            await state.set_approval_mode(call, state.ApprovalModeRequest(mode))
        case "model":
            provider, _, id = value.partition("/")
            await models.set_model(call, models.SetModelRequest(provider, id))
        case "thought_level":
            levels = call.host.session.model.thinking_levels()
            level = next((level for level in levels if level == value), None)
            if level is None:
                raise UsageError(f'There is no thinking level "{value}"; use one of {", ".join(levels)}.')
            await models.set_thinking_level(call, models.ThinkingRequest(level))
        case _:
            raise UsageError(f'There is no option "{option}"; use mode, model or thought_level.')


def _select(
    id: Literal["mode", "model", "thought_level"],
    name: str,
    value: str,
    choices: Sequence[tuple[str, str, str]],
) -> a.SessionConfigOptionSelect:
    options = [a.SessionConfigSelectOption(value=v, name=n, description=d or None) for v, n, d in choices]
    return a.SessionConfigOptionSelect(
        type="select", id=id, name=name, category=id, current_value=value, options=options
    )
