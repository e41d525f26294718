"""Renders a specimen as text without a terminal, for captures and tests."""

from collections.abc import Sequence

from tau.tui.component import CURSOR_MARKER
from tau.tui.images.marks import image_rows
from tau.tui.input.bindings import Keymap
from tau.tui.style import ASCII, UNICODE, Theme
from tests.support.fake_timer import FakeTimer
from tests.support.palettes import DARK_TOKENS, LIGHT_TOKENS, PLAIN
from tools.gallery.widgets.specimen import Bench, Specimen

PALETTES = {"dark": DARK_TOKENS, "light": LIGHT_TOKENS, "none": PLAIN}


def theme_of(palette: str, *, ascii_only: bool = False, linear: bool = False) -> Theme:
    """Return a theme of the gallery."""
    return Theme(
        PALETTES[palette],
        depth="none" if palette == "none" else "truecolor",
        symbols=ASCII if ascii_only else UNICODE,
        linear=linear,
    )


def printed(specimen: Specimen, theme: Theme, width: int) -> list[str]:
    """Return the rows of a specimen, without images."""
    bench = Bench(theme, Keymap(), FakeTimer())
    rows: Sequence[str] = specimen.build(bench).render(width)
    text = [image_rows.without_images(row).replace(CURSOR_MARKER, "") for row in rows]
    bench.close()
    return text
