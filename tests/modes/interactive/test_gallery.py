"""`tau gallery`: names, specimens as text, and browsing them on a terminal."""

import asyncio
import io
import sys

import pytest

from tau.tui.terminal.port import Capabilities
from tests.support.terminal.virtual import VirtualTerminal
from tests.tui.key_script import KeyScript
from tools.gallery.specimens.catalogue import SPECIMENS
from tools.gallery.specimens.walk import Walk
from tools.gallery.tool_views import run
from tools.gallery.widgets.printed import theme_of


def test_all_names_are_listed(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["--list"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(SPECIMENS)


def test_specimen_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["--print", "edit/done", "--theme", "none"]) == 0
    assert capfd.readouterr().out.startswith("✓ Edit src/shop/prices.py +4 -2\n")
    assert run(["--print", "read/done/expanded", "--theme", "none", "--width", "40"]) == 0
    out = capfd.readouterr().out
    assert "  10  class Item:" in out
    assert max(map(len, out.splitlines())) <= 40


def test_theme_symbols_and_screen_reader_mode_can_be_chosen(capfd: pytest.CaptureFixture[str]) -> None:
    for palette in ("dark", "light"):
        assert run(["--print", "bash/done", "--theme", palette]) == 0
        assert "\x1b[38;2;" in capfd.readouterr().out
    assert run(["--print", "todo/done", "--theme", "none", "--ascii"]) == 0
    assert capfd.readouterr().out.isascii()
    assert run(["--print", "todo/done", "--theme", "none", "--linear"]) == 0
    assert "in progress: Say in the error" in capfd.readouterr().out


def test_no_colors_if_the_environment_says_so(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert run(["--print", "bash/done"]) == 0
    assert "\x1b" not in capfd.readouterr().out


def test_all_specimens_of_a_tool_or_of_all_tools_are_printed(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["--print", "bash", "--theme", "none"]) == 0
    out = capfd.readouterr().out
    assert "[bash/done]" in out
    assert "[bash/done/expanded]" in out
    assert "[read/" not in out
    assert run(["--print", "--theme", "none"]) == 0
    out = capfd.readouterr().out
    assert all(f"[{name}]" in out and f"[{name}/expanded]" in out for name in SPECIMENS)


def test_wrong_name_missing_terminal_and_wrong_option_are_reported(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert run(["--print", "nobody"]) == 2
    assert "There is no specimen 'nobody'; --list shows all names." in capfd.readouterr().err
    assert run([]) == 2
    assert "needs a terminal" in capfd.readouterr().err
    with pytest.raises(SystemExit) as left:
        run(["--theme", "pink"])
    assert left.value.code == 2


def test_excessive_width_is_limited(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["--print", "bash/done", "--theme", "none", "--width", "-5"]) == 0
    assert max(map(len, capfd.readouterr().out.splitlines())) <= 1
    assert run(["--print", "bash/done", "--theme", "none", "--width", "99999999"]) == 0
    assert "$ pytest" in capfd.readouterr().out


class OnTerminal(KeyScript):
    def __init__(self, capabilities: Capabilities | None = None) -> None:
        super().__init__(VirtualTerminal(80, 60, capabilities=capabilities or Capabilities()))
        self.walk = Walk(self.terminal, theme_of("dark"), self.timer)
        self.walk.start()


def test_all_specimens_can_be_browsed() -> None:
    async def main() -> None:
        stage = OnTerminal()
        assert "read/streaming: " in stage.press()
        seen = set()
        for _ in SPECIMENS:
            await asyncio.sleep(0)
            shown = stage.press("down")
            seen |= {name for name in SPECIMENS if f"{name}: " in shown}
        assert seen == set(SPECIMENS)
        stage.walk.stop()
        assert stage.timer.pending == 0

    asyncio.run(main())


def test_specimen_can_be_expanded_in_another_theme() -> None:
    async def main() -> None:
        stage = OnTerminal()
        folded = stage.type("read whole")
        assert "Read src/shop/prices.py  25 lines" in folded
        assert "class Item" not in folded
        assert "class Item" in stage.press("ctrl+o")
        assert "class Item" in stage.press("ctrl+t")
        assert "class Item" not in stage.press("ctrl+o")
        stage.press("ctrl+q")
        assert stage.walk.is_over.is_set()
        stage.walk.stop()

    asyncio.run(main())


def test_pictures_are_drawn_where_supported() -> None:
    async def main() -> None:
        stage = OnTerminal(Capabilities(images="kitty"))
        stage.type("read picture")
        assert stage.terminal.images
        stage.walk.stop()

    asyncio.run(main())


def test_closed_pipe_is_not_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

        def fileno(self) -> int:
            return spare

    with open("/dev/null", "wb") as null:  # noqa: PTH123
        spare = null.fileno()
        monkeypatch.setattr(sys, "stdout", Closed())
        assert run(["--list"]) == 0
