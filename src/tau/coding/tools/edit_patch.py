"""edit, modes `apply_patch` and `patch`: change several files with one patch, all or none."""

from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from tau.agent.arguments import json_schema
from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.ai.dialect import CustomFormat, ToolSpec
from tau.base.errors import ToolError
from tau.base.late import late
from tau.coding.edits.multi_file_patch import MultiFilePatch, apply_patch
from tau.coding.edits.report import report
from tau.coding.ports import CodingContext
from tau.config.tool_settings import EditSettings

envelope = late("tau.coding.edits.apply_patch")
generated = late("tau.coding.edits.generated")
unified = late("tau.coding.edits.unified")

Mode = Literal["apply_patch", "patch"]


class PatchParams(Struct, frozen=True):
    input: Annotated[str, Meta(title="The whole patch")]


class PatchEdit(Tool[PatchParams]):
    name, label = "edit", "Edit"

    def __init__(self, mode: Mode, settings: EditSettings | None = None) -> None:
        self._mode: Mode = mode
        self._settings = settings or EditSettings()

    @cached_property
    def description(self) -> str:
        """One file describes both modes, each under its heading."""
        texts = super().description.split("# ")
        return next(text.partition("\n")[2].strip() for text in texts if text.startswith(f"{self._mode}\n"))

    @cached_property
    def spec(self) -> ToolSpec:
        """The same format as text, under the name it was trained with, for models that take a grammar."""
        spec = ToolSpec(self.name, self.description, json_schema(self.params))
        if self._mode != "apply_patch":
            return spec
        grammar = Path(__file__).with_suffix(".lark").read_text(encoding="utf-8")
        return replace(spec, custom=CustomFormat("apply_patch", grammar))

    def effects(self, params: PatchParams, cwd: Path) -> Effects:
        try:
            paths = tuple(self._parse(params.input, cwd).paths)
        except ToolError:  # `run` reports what is wrong with it
            return Effects()
        return Effects(reads=paths, writes=paths)

    async def run(self, params: PatchParams, ctx: CodingContext) -> ToolOutput:
        patch = self._parse(params.input, ctx.cwd)
        written = await apply_patch(patch, ctx, guard=generated.guard_of(self._settings))
        return report(written, ctx, patch.notes)

    def _parse(self, text: str, cwd: Path) -> MultiFilePatch:
        return envelope.parse(text, cwd) if self._mode == "apply_patch" else unified.parse(text, cwd)
