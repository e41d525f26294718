"""Builds the transcript block of a specimen."""

from tau.modes.interactive.tool_views.view import ToolCallView
from tau.modes.interactive.transcript.block import BlockContext
from tau.modes.interactive.transcript.tool import ToolBlock
from tau.modes.interactive.transcript.tool_call import ToolCallState
from tau.tui.input.bindings import Keymap
from tau.tui.style import Theme
from tau.tui.terminal.port import Capabilities
from tools.gallery.specimens.case import CWD, Specimen


class ShownCall(ToolCallState):
    """A tool call that does not change."""

    __slots__ = ("_shown",)

    def __init__(self, scene: BlockContext, view: ToolCallView) -> None:
        super().__init__(scene, view.name, view.name, view.args)
        self._shown = view
        self.state = view.state

    def view(self, *, expanded: bool) -> ToolCallView:
        return self._shown._replace(expanded=expanded)


def scene_of(theme: Theme, keys: Keymap, capabilities: Capabilities = Capabilities()) -> BlockContext:  # noqa: B008
    """Build the context that all blocks of a gallery share."""
    return BlockContext(theme, keys, cwd=lambda: CWD, now=lambda: 0.0, capabilities=lambda: capabilities)


def block_of(specimen: Specimen, scene: BlockContext) -> ToolBlock:
    """Build the block with all calls of the specimen."""
    first, *others = specimen.views
    block = ToolBlock(scene, ShownCall(scene, first))
    for view in others:
        block.add(ShownCall(scene, view))
    return block
