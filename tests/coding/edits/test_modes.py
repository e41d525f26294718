"""Which format of edits a model gets."""

import pytest
from msgspec.structs import replace

from tau.ai.faux import FAUX_MODEL
from tau.coding.edits.modes import with_edit_mode
from tau.config.settings import Settings
from tau.config.tool_settings import EditSettings


def mode_of(id: str, edit: EditSettings | None = None, **environ: str) -> str:
    settings = Settings(edit=edit or EditSettings())
    return with_edit_mode(settings, environ, replace(FAUX_MODEL, id=id)).edit.mode


@pytest.mark.parametrize(
    "id", ["gpt-5", "gpt-5.4", "openai/gpt-5-mini", "gpt-5-codex", "codex-mini-latest", "GPT-5"]
)
def test_model_trained_on_apply_patch_had_to_learn_another_format(id: str) -> None:
    assert mode_of(id) == "apply_patch"
    assert mode_of(id, EditSettings(mode="replace")) == "replace"
    assert mode_of(id, EditSettings(model_modes={"*": "hashline"})) == "hashline"
    assert mode_of(id, TAU_EDIT_MODE="hashline") == "hashline"


@pytest.mark.parametrize("id", ["claude-opus-4", "gpt-4.1", "gemini-3-pro"])
def test_other_models_get_line_numbers(id: str) -> None:
    assert mode_of(id) == "hashline"
