"""edit, mode `replace`: replaces a piece of text in a file."""

from pathlib import Path
from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.base.late import late
from tau.coding.edits.replace import Replacement, replace_text
from tau.coding.edits.report import report
from tau.coding.edits.transaction import declared_path, find_target
from tau.coding.ports import CodingContext
from tau.config.tool_settings import EditSettings

generated = late("tau.coding.edits.generated")


class EditParams(Struct, frozen=True):
    aliases: ClassVar[dict[str, str]] = {
        "file_path": "path",
        "old_string": "old_text",
        "new_string": "new_text",
        "oldText": "old_text",
        "newText": "new_text",
    }

    path: Annotated[str, Meta(title="File to change")]
    old_text: Annotated[str, Meta(title="Exact text to find, whitespace included")]
    new_text: Annotated[str, Meta(title="Replacement text")]
    replace_all: Annotated[bool, Meta(title="Replace every occurrence")] = False


class Edit(Tool[EditParams]):
    name, label = "edit", "Edit"

    def __init__(self, settings: EditSettings | None = None) -> None:
        self._settings = settings or EditSettings()

    def effects(self, params: EditParams, cwd: Path) -> Effects:
        paths = declared_path(params.path, cwd)
        return Effects(reads=paths, writes=paths)

    async def run(self, params: EditParams, ctx: CodingContext) -> ToolOutput:
        path = await find_target(params.path, ctx)
        name = params.path if ctx.urls.handles(params.path) else ""
        wanted = Replacement(params.old_text, params.new_text, params.replace_all, self._settings.fuzzy_match)
        seen = ctx.snapshots.last_seen(path)
        written = await replace_text(path, wanted, ctx, name, guard=generated.guard_of(self._settings))
        changed_meanwhile = seen is not None and seen != written.change.stat
        note = "It had changed on disk since you last saw it; those changes are kept."
        return report([written], ctx, [note] if changed_meanwhile else [])
