"""The gallery: every specimen at every width in every look, and browsing it on a terminal."""

import asyncio
import re

import pytest

from tau.tui.component import CURSOR_MARKER
from tau.tui.images.kitty import PLACEHOLDER
from tau.tui.images.marks import image_rows
from tau.tui.input.bindings import Keymap
from tau.tui.text.width import visible_width
from tests.support.fake_timer import FakeTimer
from tests.support.terminal.virtual import VirtualTerminal
from tests.tui.key_script import KeyScript
from tools.gallery.widgets.__main__ import main
from tools.gallery.widgets.catalogue import SPECIMENS
from tools.gallery.widgets.printed import printed, theme_of
from tools.gallery.widgets.specimen import Bench
from tools.gallery.widgets.walk import Walk

WIDTHS = (1, 20, 40, 80, 200)
LOOKS = {
    "dark": theme_of("dark"),
    "light": theme_of("light"),
    "none": theme_of("none"),
    "ascii": theme_of("none", ascii_only=True),
    "linear": theme_of("none", linear=True),
}
STYLES = re.compile(r"\x1b\[[0-9;:]*m|\x1b\]8;[^\x07\x1b]*(?:\x1b\\|\x07)")
BOXES = re.compile("[\u2500-\u259f]")


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", SPECIMENS)
def test_every_specimen_fits_and_is_clean(name: str, look: str) -> None:
    bench = Bench(LOOKS[look], Keymap(), FakeTimer())
    component = SPECIMENS[name].build(bench)
    for width in WIDTHS:
        rows = component.render(width)
        assert component.render(width) is rows
        for row in rows:
            check(image_rows.without_images(row).replace(CURSOR_MARKER, ""), width, look)
    rows = list(component.render(40))
    component.invalidate()
    assert list(component.render(40)) == rows
    bench.close()


def check(row: str, width: int, look: str) -> None:
    """The row fits, contains only text and styles, and respects the look."""
    assert visible_width(row) <= width, (width, row)
    text = STYLES.sub("", row)
    assert not [letter for letter in text if ord(letter) < 32 or 127 <= ord(letter) < 160], (width, row)
    assert look not in ("linear", "ascii") or not BOXES.search(text), (width, row)
    # The colors of placeholders are image ids.
    assert look != "none" or "\x1b[3" not in row or PLACEHOLDER in row, (width, row)


def test_every_specimen_but_the_empty_one_shows_something() -> None:
    empty = [name for name in SPECIMENS if not "".join(printed(SPECIMENS[name], LOOKS["none"], 80)).strip()]
    assert empty == ["text/empty"]


def test_names_are_listed_and_specimens_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(SPECIMENS)
    assert main(["--print", "markdown/table", "--width", "30", "--theme", "none"]) == 0
    assert "│" in capsys.readouterr().out
    assert main(["--print", "markdown/table", "--theme", "none", "--linear"]) == 0
    assert "│" not in capsys.readouterr().out
    assert main(["--print", "select-list/groups", "--theme", "none", "--ascii"]) == 0
    assert capsys.readouterr().out.isascii()


def test_wrong_name_and_missing_terminal_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--print", "nobody"]) == 2
    assert "There is no specimen 'nobody'" in capsys.readouterr().err
    assert main([]) == 2
    assert "needs a terminal" in capsys.readouterr().err


class OnTerminal(KeyScript):
    def __init__(self, columns: int = 80, rows: int = 40) -> None:
        super().__init__(VirtualTerminal(columns, rows))
        self.walk = Walk(self.terminal, theme_of("dark"), self.timer)
        self.walk.start()


def test_all_specimens_can_be_browsed() -> None:
    async def main() -> None:
        stage = OnTerminal()
        first = stage.press()
        assert next(iter(SPECIMENS)) in first
        seen = set()
        for _ in SPECIMENS:
            await asyncio.sleep(0)
            shown = stage.press("down")
            seen |= {name for name in SPECIMENS if f"{name}: " in shown}
        assert seen == set(SPECIMENS)
        stage.walk.stop()
        assert stage.timer.pending == 0

    asyncio.run(main())


def test_specimen_gets_the_keys_and_gives_them_back() -> None:
    async def main() -> None:
        stage = OnTerminal()
        shown = stage.type("settings groups")
        assert "settings-list/groups: " in shown
        assert "Auto-compact  on" in stage.press("enter")
        assert "Auto-compact  off" in stage.press("enter")
        assert "goes back to the list" in stage.press()
        shown = stage.press("ctrl+o")
        assert "Enter tries the specimen" in shown
        assert not stage.walk.is_over.is_set()
        stage.press("ctrl+t")
        stage.press("ctrl+q")
        assert stage.walk.is_over.is_set()
        stage.walk.stop()

    asyncio.run(main())
