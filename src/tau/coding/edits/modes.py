"""The mode of the `edit` tool, and its effect on what other tools show."""

from collections.abc import Mapping
from fnmatch import fnmatchcase

from msgspec.structs import replace

from tau.ai.model import Model
from tau.base.errors import UsageError
from tau.config.settings import Settings
from tau.config.tool_settings import EDIT_MODES, EditMode, EditSettings

# Models trained on this format, by id.
_TRAINED: tuple[tuple[str, EditMode], ...] = (("*gpt-5*", "apply_patch"), ("*codex*", "apply_patch"))


def with_edit_mode(settings: Settings, environ: Mapping[str, str], model: Model | None = None) -> Settings:
    """Resolve the edit mode: the environment, the setting for the model, the general setting.

    If neither setting says anything, a model gets the format it was trained on.
    """
    mode = _mode(environ.get("TAU_EDIT_MODE", ""), settings.edit, model)
    return (
        settings if mode == settings.edit.mode else replace(settings, edit=replace(settings.edit, mode=mode))
    )


def tags_lines(settings: Settings) -> bool:
    """Whether files are shown under a tag that `edit` uses to address lines."""
    return settings.read.hash_lines and settings.edit.mode == "hashline"


def _mode(wanted: str, edit: EditSettings, model: Model | None) -> EditMode:
    if not wanted:
        fitting = (
            mode
            for pattern, mode in edit.model_modes.items()
            if model is not None and (fnmatchcase(model.id, pattern) or fnmatchcase(model.key, pattern))
        )
        return next(fitting, None) or (
            _trained_mode(model) if edit.mode == EditSettings().mode else edit.mode
        )
    for mode in EDIT_MODES:
        if wanted == mode:
            return mode
    raise UsageError(f'TAU_EDIT_MODE is "{wanted}"; use one of {", ".join(EDIT_MODES)}.')


def _trained_mode(model: Model | None) -> EditMode:
    modes = (mode for pattern, mode in _TRAINED if model and fnmatchcase(model.id.lower(), pattern))
    return next(modes, EditSettings().mode)
