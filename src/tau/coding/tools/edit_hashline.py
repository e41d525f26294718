"""edit, mode `hashline`: lines of files named by their numbers under the tag that they were shown with."""

from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.base.late import late
from tau.coding.ports import CodingContext

editing = late("tau.coding.edits.hashline")
texts = late("tau.hashline.texts")


class HashlineParams(Struct, frozen=True):
    input: Annotated[str, Meta(description="Sections of hunks, one section per file")]


class HashlineEdit(Tool[HashlineParams]):
    name, label = "edit", "Edit"

    def __init__(self, guard: Any = None) -> None:
        """`guard` explains why a file must not be changed; see `tau.coding.edits.transaction.Guard`."""
        self._guard = guard

    @cached_property
    def description(self) -> str:
        """The language describes itself."""
        text: str = texts.prompt_text()
        return text

    def effects(self, params: HashlineParams, cwd: Path) -> Effects:
        paths: tuple[Path, ...] = editing.paths(params.input, cwd)
        return Effects(reads=paths, writes=paths)

    async def run(self, params: HashlineParams, ctx: CodingContext) -> ToolOutput:
        output: ToolOutput = await editing.apply_patch(params.input, ctx, self._guard)
        return output
