"""Specimens of transcripts and images."""

import struct
import zlib

from tau.tui.component import Component
from tau.tui.images.budget import ImageBudget
from tau.tui.render.overlays import OverlayOptions
from tau.tui.render.screen import Screen
from tau.tui.terminal.port import ImageProtocol
from tau.tui.widgets.container import Container
from tau.tui.widgets.image import Image
from tau.tui.widgets.text import Text
from tau.tui.widgets.transcript import Transcript
from tools.gallery.widgets.specimen import Bench, Specimen
from tools.gallery.widgets.staged import Staged


def _transcript(bench: Bench) -> Component:
    theme = bench.theme
    question = Text(theme, "How long is a row?")
    answer = Text(theme, "As long as the terminal is wide, and never longer.")
    return Transcript([question, answer, Text(theme, "A third block, still in the same order.", "muted")])


def _chart(width: int, height: int) -> bytes:
    """Build a small PNG with a color gradient."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(
        b"\0" + b"".join(bytes((x * 255 // width, y * 255 // height, 128)) for x in range(width))
        for y in range(height)
    )
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(kind, data) for kind, data in parts)


def _image(bench: Bench, protocol: ImageProtocol, placeholders: bool = False) -> Component:
    image = Image(
        bench.theme,
        _chart(108, 72),
        "image/png",
        protocol,
        None,
        40,
        12,
        "a chart",
        placeholders=placeholders,
    )
    bench.at_close(image.close)
    theme = bench.theme
    return Container([Text(theme, "Above the picture.", "muted"), image, Text(theme, "Below it.", "muted")])


def _demoted(bench: Bench) -> Component:
    budget = ImageBudget(1)
    images = [Image(bench.theme, _chart(90, side), "", "kitty", budget, 20, 6) for side in (72, 54)]
    for image in images:
        image.render(40)
        bench.at_close(image.close)
    return Container(images)


def _broken(bench: Bench) -> Component:
    return Image(bench.theme, b"not a picture at all", "image/png", "kitty")


def _overlays(bench: Bench) -> Component:
    theme = bench.theme

    def play(screen: Screen) -> None:
        screen.root.add(Text(theme, "\n".join(f"row {number} of what lies below" for number in range(1, 11))))
        first = Text(theme, "The first one, in the middle.")
        screen.show_overlay(first, OverlayOptions(width="60%"))
        second = Text(theme, "Over the first.", "accent")
        screen.show_overlay(second, OverlayOptions(width=24, anchor="bottom-right", margin=1))

    return Staged(theme, 10, play)


SPECIMENS = [
    Specimen("overlay/stack", "Two components over the others.", _overlays),
    Specimen("transcript/blocks", "Blocks that are final.", _transcript),
    Specimen("image/text", "Where pictures cannot be shown.", lambda b: _image(b, "none")),
    Specimen("image/kitty", "Placed by the Kitty protocol.", lambda b: _image(b, "kitty")),
    Specimen("image/placeholders", "Kitty, as text.", lambda b: _image(b, "kitty", True)),
    Specimen("image/iterm2", "Inline, iTerm2.", lambda b: _image(b, "iterm2")),
    Specimen("image/sixel", "Inline, Sixel.", lambda b: _image(b, "sixel")),
    Specimen("image/demoted", "An older one made room.", _demoted),
    Specimen("image/broken", "Bytes that are not an image.", _broken),
]
