"""The mode of the `edit` tool, and its effect on what other tools show."""

from collections.abc import Mapping
from fnmatch import fnmatchcase

from msgspec.structs import replace

from tau.ai.model import Model
from tau.base.errors import UsageError
from tau.config.settings import EDIT_MODES, EditMode, EditSettings, Settings


def with_edit_mode(settings: Settings, environ: Mapping[str, str], model: Model | None = None) -> Settings:
    """Resolve the edit mode: from the environment, the model's setting, or the default."""
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
        return next(fitting, edit.mode)
    for mode in EDIT_MODES:
        if wanted == mode:
            return mode
    raise UsageError(f'TAU_EDIT_MODE is "{wanted}"; use one of {", ".join(EDIT_MODES)}.')
