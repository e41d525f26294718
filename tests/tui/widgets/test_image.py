"""Pictures: one per protocol, text where unsupported, and the same height after eviction."""

import pytest

from tau.tui.images.budget import ImageBudget
from tau.tui.images.kitty import PLACEHOLDER
from tau.tui.images.marks import ImageSequences
from tau.tui.style import Theme
from tau.tui.terminal.port import Capabilities, ImageProtocol
from tau.tui.text.width import visible_width
from tau.tui.widgets.image import Image
from tests.support.terminal.virtual import VirtualTerminal
from tests.tui.images.pictures import made, png

PLAIN = Theme({}, depth="none")
RED = png(90, 72)  # 10 columns and 4 rows


def picture(
    sequences: ImageSequences,
    data: bytes = RED,
    protocol: ImageProtocol = "kitty",
    budget: ImageBudget | None = None,
    placeholders: bool = False,
) -> Image:
    return Image(PLAIN, data, "", protocol, budget, 20, 10, placeholders=placeholders, sequences=sequences)


def test_without_a_protocol_a_line_describes_it() -> None:
    assert Image(PLAIN, RED).render(80) == [f"[image: 90x72 PNG, {len(RED)} B]"]
    assert Image(PLAIN, RED, alt="a\x1b[2J chart").render(80)[0].startswith("[image: a chart, 90x72 PNG")
    assert Image(PLAIN, b"x" * 2000, "image/png").render(80) == [
        "[image: unreadable image (image/png), 2 kB]"
    ]
    spoken = Image(Theme({}, linear=True), RED, protocol="kitty", alt="chart").render(80)
    assert spoken == [f"Image: chart, 90x72 PNG, {len(RED)} B"]


def test_kitty_sends_the_pixels_once_and_places_them_in_the_first_row() -> None:
    sequences = ImageSequences()
    image = picture(sequences)
    rows = image.render(40)
    assert len(rows) == 4
    assert list(rows[1:]) == ["", "", ""]
    assert sequences.is_image_row(rows[0])
    assert len(rows[0]) < 100
    assert image.render(40) is rows
    sent = sequences.take_pending()
    terminal = VirtualTerminal(40, 10)
    terminal.feed(sent + rows[0] + "\r\n\r\n\r\n")
    assert len(terminal.images.transmissions) == 1
    (placement,) = terminal.images.placements.values()
    assert (placement.columns, placement.rows, placement.row) == (10, 4, 0)
    image.invalidate()
    assert image.render(40) == rows
    assert image.render(8) != rows
    assert sequences.take_pending() == ""
    terminal.feed("\r\n" + image.render(40)[0])
    (moved,) = terminal.images.placements.values()
    assert moved.row == 4
    sequences.screen_cleared()
    assert sequences.take_pending() == sent


def test_equal_bytes_share_their_pixels() -> None:
    sequences = ImageSequences()
    one, two = picture(sequences), picture(sequences)
    first, second = one.render(40)[0], two.render(40)[0]
    assert first != second
    assert sequences.take_pending().count("a=t") == 1
    one.close()
    assert "d=i" in (gone := sequences.take_pending())
    assert "d=I" not in gone
    two.close()
    assert "d=I" in sequences.take_pending()
    assert not sequences.is_image_row(first)


def test_placeholders_represent_the_picture_where_supported() -> None:
    sequences = ImageSequences()
    image = picture(sequences, placeholders=True)
    rows = image.render(40)
    assert [visible_width(row) for row in rows] == [10] * 4
    assert all(row.count(PLACEHOLDER) == 10 for row in rows)
    sent = sequences.take_pending()
    assert "a=t" in sent
    assert "U=1" in sent
    assert "c=10,r=4" in sent
    assert [visible_width(row) for row in image.render(5)] == [5, 5]
    assert "c=5,r=2" in (again := sequences.take_pending())
    assert "a=t" not in again
    sequences.screen_cleared()
    assert "c=5,r=2" in sequences.take_pending()


def test_other_formats_are_converted_for_kitty() -> None:
    sequences = ImageSequences()
    rows = picture(sequences, made("JPEG", 90, 72)).render(40)
    assert len(rows) == 4
    assert "f=100" in sequences.take_pending()


def test_without_pillow_other_formats_are_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tau.tui.images.convert.can_convert", lambda: False)
    data = made("JPEG", 90, 72)
    sequences = ImageSequences()
    assert picture(sequences, data).render(40)[0].startswith("[image: 90x72 JPEG")
    assert picture(sequences, RED, "sixel").render(40)[0].startswith("[image: 90x72 PNG")
    assert len(picture(sequences, data, "iterm2").render(40)) == 4
    assert len(picture(sequences, RED).render(40)) == 4


@pytest.mark.parametrize("protocol", ["iterm2", "sixel"])
def test_inline_pictures_are_painted_from_their_last_row(protocol: ImageProtocol) -> None:
    sequences = ImageSequences()
    image = picture(sequences, RED, protocol)
    rows = image.render(40)
    assert list(rows[:3]) == ["", "", ""]
    assert sequences.is_image_row(rows[3])
    assert visible_width(rows[3]) == 0
    assert sequences.fit_row(rows[3], 2) == ""
    terminal = VirtualTerminal(40, 10, capabilities=Capabilities(images=protocol))
    terminal.feed("\r\n".join(rows))
    assert terminal.cursor == (3, 0)
    assert len(terminal.images.inline) == 1
    assert terminal.images.inline[0].row == 0


def test_evicted_picture_becomes_text_of_the_same_height() -> None:
    sequences = ImageSequences()
    asked: list[bool] = []
    budget = ImageBudget(1, on_demote=lambda: asked.append(True))
    old, new = picture(sequences, RED, budget=budget), picture(sequences, png(18, 18), budget=budget)
    before = old.render(40)
    sequences.take_pending()
    new.render(40)
    after = old.render(40)
    assert asked == [True]
    assert len(after) == len(before) == 4
    assert after[0].startswith("[image: 90x72 PNG")
    assert list(after[1:]) == ["", "", ""]
    assert "d=I" in sequences.take_pending()
    assert not sequences.is_image_row(before[0])
    assert len(old.render(5)) == 2
    none = picture(sequences, RED, budget=ImageBudget(0))
    assert len(none.render(40)) == 1


def test_protocol_can_change_later() -> None:
    sequences = ImageSequences()
    image = picture(sequences, RED, "none")
    assert len(image.render(40)) == 1
    image.use(Capabilities(images="kitty", kitty_placeholders=True))
    assert len(image.render(40)) == 4
    image.use(Capabilities(images="iterm2"))
    assert "1337" in image.render(40)[3]
    assert image.info is not None


@pytest.mark.parametrize(
    "data", [b"", RED[:40], RED[:20], b"\xff\xd8\xff\xe0\0\x10JFIF", made("JPEG", 40, 40)[:300]]
)
@pytest.mark.parametrize("protocol", ["kitty", "iterm2", "sixel", "none"])
def test_broken_data_never_raises(data: bytes, protocol: ImageProtocol) -> None:
    rows = picture(ImageSequences(), data, protocol).render(30)
    assert rows
    assert all(visible_width(row) <= 30 for row in rows)
