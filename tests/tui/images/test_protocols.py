"""The bytes of the three protocols, and the cells a picture takes."""

from base64 import b64decode
from io import BytesIO

from PIL import Image as Pillow

from tau.tui.images import iterm_sixel, kitty
from tau.tui.images.convert import as_png, open_image
from tau.tui.text.width import visible_width
from tau.tui.widgets.image import Cells, fit_cells, format_size
from tests.tui.images.pictures import made, png


def test_pixels_are_sent_in_chunks_that_add_up_to_the_file() -> None:
    data = bytes(range(256)) * 40
    sent = kitty.transmit(42, data)
    parts = [part for part in sent.split("\x1b\\") if part]
    heads, bodies = zip(*(part.removeprefix("\x1b_G").split(";", 1) for part in parts), strict=True)
    assert heads == ("a=t,f=100,i=42,q=2,m=1", "q=2,m=1", "q=2,m=1", "q=2,m=0")
    assert all(len(body) <= 4096 for body in bodies)
    assert b64decode("".join(bodies)) == data
    assert kitty.transmit(1, b"") == "\x1b_Ga=t,f=100,i=1,q=2,m=0;\x1b\\"


def test_placeholders_are_text_as_wide_as_the_picture() -> None:
    rows = kitty.placeholder_rows(0x0A0B0C, 5, 12, 3)
    assert [visible_width(row) for row in rows] == [12, 12, 12]
    assert all(row.startswith("\x1b[38;2;10;11;12m\x1b[58;2;0;0;5m") for row in rows)
    assert rows[2].count(kitty.PLACEHOLDER) == 12
    assert kitty.PLACEHOLDER + kitty.MARKS[2] + kitty.MARKS[11] in rows[2]
    assert len(set(kitty.MARKS)) == kitty.MAX_PLACEHOLDER_SIDE == 245


def test_inline_pictures_are_painted_upwards_and_restore_the_cursor() -> None:
    assert iterm_sixel.paint_upwards("<image>", 4) == "\x1b7\x1b[3A<image>\x1b8"
    assert iterm_sixel.paint_upwards("<image>", 1) == "\x1b7<image>\x1b8"
    sent = iterm_sixel.encode_iterm2(b"abc", 10, 4)
    assert sent == "\x1b]1337;File=inline=1;size=3;width=10;height=4;preserveAspectRatio=1:YWJj\x07"


def test_sixel_has_the_pixels_of_the_picture() -> None:
    picture = Pillow.new("RGBA", (5, 7), (255, 0, 0, 255))
    picture.putpixel((4, 6), (0, 0, 0, 0))
    sent = iterm_sixel.encode_sixel(picture)
    assert sent.startswith('\x1bP0;1;0q"1;1;5;7#1;2;100;0;0')
    assert sent.endswith("\x1b\\")
    # Five columns with all six pixels, then a row of which four columns have the topmost one.
    assert sent.endswith("#1!5~-#1!4@\x1b\\")


def test_sixel_with_many_colors_keeps_to_its_palette() -> None:
    picture = open_image(made("PNG", 40, 30), 40, 30)
    assert picture is not None
    sent = iterm_sixel.encode_sixel(picture)
    assert 3 <= sent.count(";2;") <= iterm_sixel.COLORS
    assert sent.isascii()


def test_pictures_are_converted_to_png_and_scaled_down() -> None:
    data = as_png(made("JPEG", 400, 200), 100, 100)
    assert data is not None
    assert Pillow.open(BytesIO(data)).size == (100, 50)
    assert as_png(b"no picture", 10, 10) is None
    assert as_png(png(20, 10)[:45], 10, 10) is None


def test_picture_keeps_its_aspect_ratio_and_fits_its_space() -> None:
    assert fit_cells(90, 36, (9, 18), 80, 24) == Cells(10, 2)
    assert fit_cells(9000, 3600, (9, 18), 80, 24) == Cells(80, 16)
    assert fit_cells(100, 10_000, (9, 18), 80, 24) == Cells(1, 24)
    assert fit_cells(1, 1, (9, 18), 80, 24) == Cells(1, 1)
    assert fit_cells(500, 500, (0, 0), 1, 1) == Cells(1, 1)


def test_sizes_are_human_readable() -> None:
    assert [format_size(n) for n in (0, 812, 119_600, 3_400_000)] == ["0 B", "812 B", "120 kB", "3.4 MB"]
