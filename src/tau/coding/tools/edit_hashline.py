"""edit, mode `hashline`: edits lines by number, under the tag they were shown with."""

from functools import cached_property
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.base.late import late
from tau.coding.ports import CodingContext
from tau.config.tool_settings import EditSettings

editing = late("tau.coding.edits.hashline")
generated = late("tau.coding.edits.generated")
texts = late("tau.hashline.prompt")


class HashlineParams(Struct, frozen=True):
    input: Annotated[str, Meta(title="Sections of hunks, one section per file")]


class HashlineEdit(Tool[HashlineParams]):
    name, label = "edit", "Edit"

    def __init__(self, settings: EditSettings | None = None) -> None:
        self._settings = settings or EditSettings()

    @cached_property
    def description(self) -> str:
        return texts.prompt_text()

    def effects(self, params: HashlineParams, cwd: Path) -> Effects:
        paths = editing.paths(params.input, cwd)
        return Effects(reads=paths, writes=paths)

    async def run(self, params: HashlineParams, ctx: CodingContext) -> ToolOutput:
        return await editing.apply_patch(params.input, ctx, generated.guard_of(self._settings))
