"""Pictures in results: drawn where supported, described elsewhere, freed in the end."""

from tau.ai.wire import ImageContent, TextContent
from tau.modes.interactive.tool_views import registry
from tau.modes.interactive.tool_views.image_body import ResultImage, close_pictures, show_pictures
from tau.modes.interactive.tool_views.view import RenderedCall
from tau.tui.images.budget import ImageBudget
from tau.tui.terminal.port import Capabilities
from tests.modes.interactive.tool_views.looks import LOOKS, body, view
from tools.gallery.specimens.files import png

KITTY = Capabilities(images="kitty")


def with_pictures(count: int, *, expanded: bool = False) -> RenderedCall:
    content = [TextContent("[a note]"), *(png(40 + number, 20) for number in range(count))]
    return registry.draw(
        view("read", {"path": "a.png"}, expanded=expanded)._replace(content=content), LOOKS["dark"]
    )


def test_picture_is_described_until_the_terminal_is_known() -> None:
    assert body(with_pictures(1)).startswith("[image: a.png, 40x20 PNG")


def test_picture_is_drawn_where_supported() -> None:
    found = with_pictures(1)
    budget = ImageBudget(5)
    show_pictures(found, KITTY, budget)
    rows = [row for part in found.body for row in part.render(80)]
    assert "\x1b_G" in rows[0]
    assert budget.live == 1
    close_pictures(found)
    assert budget.live == 0


def test_only_some_of_many_pictures_are_drawn() -> None:
    assert body(with_pictures(5)).split("\n")[-1] == "3 more images."
    assert sum(isinstance(part, ResultImage) for part in with_pictures(5, expanded=True).body) == 5


def test_invalid_picture_is_reported() -> None:
    for data in ("no base64 !", "", "AAAA", "é"):
        content = [ImageContent(data, "image/png")]
        found = registry.draw(view("eval", {})._replace(content=content), LOOKS["none"])
        assert "unreadable image" in body(found)
