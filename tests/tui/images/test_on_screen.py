"""Pictures on a screen: the pixels are sent once, however often the rows around them change."""

from tau.tui.images.budget import ImageBudget
from tau.tui.render.screen import Screen
from tau.tui.style import Theme
from tau.tui.terminal.port import Capabilities, ImageProtocol
from tau.tui.widgets.image import Image
from tau.tui.widgets.text import Text
from tests.support.fake_timer import FakeTimer
from tests.support.terminal.virtual import VirtualTerminal
from tests.tui.images.pictures import png

THEME = Theme({}, depth="none")


class Shown:
    """A picture of ten columns and four rows between two texts."""

    def __init__(self, protocol: ImageProtocol, rows: int = 12, budget: ImageBudget | None = None) -> None:
        self.terminal = VirtualTerminal(40, rows, capabilities=Capabilities(images=protocol))
        self.screen = Screen(self.terminal, theme=THEME, timer=FakeTimer())
        self.above, self.below = Text(THEME, "above"), Text(THEME, "below")
        self.image = Image(THEME, png(90, 72, (1, 2, 3)), "", protocol, budget, 20, 10)
        self.screen.root.add(self.above, self.image, self.below)
        self.screen.start()
        self.screen.render_now()

    def written(self) -> str:
        return "".join(self.terminal.writes)


def test_pixels_are_sent_once_while_rows_around_them_change() -> None:
    shown = Shown("kitty")
    for number in range(20):
        shown.below.set_text(f"below {number}")
        shown.above.set_text("above\n" * (number % 3))
        shown.screen.request_render()
        shown.screen.render_now()
    assert shown.written().count("a=t") == 1
    assert shown.written().count("a=p") >= 2
    assert shown.terminal.screen()[0:2] == ["above", ""]
    shown.image.close()
    shown.screen.stop()


def test_resized_screen_places_the_pictures_again_without_resending_pixels() -> None:
    shown = Shown("kitty")
    shown.terminal.resize(50, 14)
    shown.screen.render_now()
    assert shown.written().count("a=t") == 1
    assert shown.written().count("a=d,d=a") == 1
    assert shown.written().count("a=p") == 2
    shown.image.close()
    shown.screen.stop()


def test_evicted_picture_is_deleted_and_keeps_its_rows() -> None:
    budget = ImageBudget(1)
    shown = Shown("kitty", budget=budget)
    rows = len(shown.terminal.tape())
    newer = Image(THEME, png(9, 18, (4, 5, 6)), "", "kitty", budget)
    shown.screen.root.add(newer)
    shown.screen.request_render()
    shown.screen.render_now()
    shown.screen.request_render()
    shown.screen.render_now()
    assert "d=I" in shown.written()
    assert shown.terminal.screen()[1].startswith("[image: 90x72 PNG")
    assert shown.terminal.screen()[rows - 1] == "below"
    newer.close()
    shown.screen.stop()


def test_inline_pictures_leave_the_rows_below_them_in_place() -> None:
    for protocol in ("iterm2", "sixel"):
        shown = Shown(protocol)  # type: ignore[arg-type]
        assert shown.terminal.screen()[:6] == ["above", "", "", "", "", "below"]
        count = shown.written().count("\x1b7")
        shown.below.set_text("below, changed")
        shown.screen.request_render()
        shown.screen.render_now()
        assert shown.written().count("\x1b7") == count == 1
        assert shown.terminal.screen()[5] == "below, changed"
        shown.screen.stop()
