"""Specimens of text and containers."""

from tau.tui.component import Component
from tau.tui.text.clean import link
from tau.tui.widgets.container import Container, Spacer
from tau.tui.widgets.text import Text
from tools.gallery.widgets.scroll_view import ScrollView
from tools.gallery.widgets.specimen import Bench, Specimen, focused, pressed

PROSE = (
    "A terminal is a grid of cells, and a row that has scrolled away belongs to the reader. "
    "What is written once stays written: no frame goes back to change it."
)
WIDE = "Ein Wort, 一行の文章, 한국어 문장, a family 👩‍👩‍👧 and a flag 🇨🇭, combining e\u0301, and العربية."
HOSTILE = "\x1b[2J\x1b[31mred?\x1b[0m \x1b]0;title\x07 bell\x07 \x9b1m c1 \x00\x08 back\rover"


def _container(bench: Bench) -> Component:
    theme = bench.theme
    return Container(
        [Text(theme, "First", "heading"), Spacer(), Text(theme, "then a blank row, then this.", "muted")]
    )


def _scrolled(bench: Bench, *keys: str) -> Component:
    child = Text(bench.theme, "\n".join(f"line {number}" for number in range(1, 41)))
    view = ScrollView(bench.theme, bench.keys, child, 6)
    view.render(40)
    return focused(pressed(view, *keys))


def _link(bench: Bench) -> Component:
    return Text(
        bench.theme, "See " + link("https://example.org/docs", "the documentation") + ".", styled=True
    )


SPECIMENS = [
    Specimen("text/plain", "Words are wrapped.", lambda b: Text(b.theme, PROSE)),
    Specimen("text/wide", "Wide, combined and joined characters.", lambda b: Text(b.theme, WIDE)),
    Specimen("text/hostile", "Sequences from outside are taken out.", lambda b: Text(b.theme, HOSTILE)),
    Specimen("text/empty", "No text, no row.", lambda b: Text(b.theme, "")),
    Specimen("text/link", "A link that can be clicked.", _link),
    Specimen("container/stack", "One below the other.", _container),
    Specimen("scroll-view/top", "At the top.", lambda b: _scrolled(b)),
    Specimen("scroll-view/middle", "Scrolled by a page.", lambda b: _scrolled(b, "pageDown")),
]
