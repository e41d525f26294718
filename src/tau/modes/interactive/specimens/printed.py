"""Specimens as text, without a terminal: for captures and tests."""

from tau.modes.interactive.specimens.block import block_of, scene_of
from tau.modes.interactive.specimens.case import Specimen
from tau.tui.images.marks import image_rows
from tau.tui.input.bindings import Keymap
from tau.tui.style import Theme


def printed(specimen: Specimen, theme: Theme, width: int, *, expanded: bool) -> list[str]:
    """The rows of its block."""
    scene = scene_of(theme, Keymap())
    scene.expanded = expanded
    return [image_rows.without_images(row) for row in block_of(specimen, scene).render(width)]
