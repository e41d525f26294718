"""The settings of tools from the user's settings."""

from collections.abc import Mapping
from fnmatch import fnmatchcase

from tau.ai.model import Model
from tau.base.errors import UsageError
from tau.base.sizes import KIB
from tau.coding.output import OutputLimits
from tau.coding.tools import EDIT_MODES, EditMode, ToolSettings
from tau.config.settings import EditSettings, Settings


def tool_settings_of(
    settings: Settings, environ: Mapping[str, str], model: Model | None = None, *, can_ask: bool = False
) -> ToolSettings:
    """What the user's settings, and a variable, say about tools; `can_ask`: a person is there to be asked."""
    tools, edit, background = settings.tools, settings.edit, settings.bash.auto_background
    mode = _edit_mode(environ.get("TAU_EDIT_MODE", ""), edit, model)
    return ToolSettings(
        bash_timeout_s=settings.bash.timeout_seconds,
        read_lines=settings.read.default_limit,
        command_output=OutputLimits(
            bytes=tools.artifact_spill_threshold * KIB, columns=tools.output_max_columns
        ),
        edit_mode=mode,
        fuzzy_match=edit.fuzzy_match,
        fuzzy_threshold=edit.fuzzy_threshold,
        guard_generated=edit.block_auto_generated,
        hash_lines=settings.read.hash_lines and mode == "hashline",
        summaries=settings.read.summarize if settings.read.summarize.enabled else None,
        lines_before=settings.search.context_before,
        lines_after=settings.search.context_after,
        resize_images=settings.images.auto_resize,
        block_images=settings.images.block_images,
        inspect_images=settings.inspect_image.enabled,
        intercept_commands=settings.bash.interceptor,
        strip_head_tail=settings.bash.strip_trailing_head_tail,
        auto_background_ms=background.threshold_ms if background.enabled else None,
        background=settings.async_.enabled,
        poll_wait=settings.async_.poll_wait_duration,
        eval_python=settings.eval.py,
        eval_js=settings.eval.js,
        python=settings.python.interpreter,
        kernel_mode=settings.python.kernel_mode,
        max_concurrency=settings.task.max_concurrency,
        todo=settings.todo.enabled,
        checkpoint=settings.checkpoint.enabled,
        can_ask=can_ask,
        ask_timeout_s=settings.interaction.ask_timeout_seconds,
    )


def _edit_mode(wanted: str, edit: EditSettings, model: Model | None) -> EditMode:
    """The mode of the tool `edit`: the variable's, the one set for this model, the usual one."""
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
