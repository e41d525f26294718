"""Renders specimens as text without a terminal, for captures and tests."""

from tau.tui.images.marks import image_rows
from tau.tui.input.bindings import Keymap
from tau.tui.style import Theme
from tools.gallery.specimens.block import block_of, scene_of
from tools.gallery.specimens.case import Specimen


def printed(specimen: Specimen, theme: Theme, width: int, *, expanded: bool) -> list[str]:
    """Return the rows of its block."""
    scene = scene_of(theme, Keymap())
    scene.expanded = expanded
    return [image_rows.without_images(row) for row in block_of(specimen, scene).render(width)]
