"""A debugger's stop, the errors of an edit and the language servers, on the screen of a session."""

from pathlib import Path

from tau.ai.faux import Say, Use
from tests.coding.tools import test_debug, test_lsp
from tests.modes.interactive.rig import rigged, run


def test_a_stop_is_shown_with_its_source_and_variables(tmp_path: Path) -> None:
    test_debug.use_fake()
    (tmp_path / "main.x").write_text("one\ntwo\nthree\n")
    call = Use("debug", action="launch", program="main.x")

    async def test() -> None:
        async with rigged(tmp_path, [[call], [Say("That is it.")]]) as rig:
            await rig.send("Look.")
            screen = await rig.show("That is it.")
            assert "Debug launch main.x" in screen
            assert "❯ 2  two" in screen
            assert "main main.x:2" in screen
            assert "n 3" in screen

    run(test)


def test_errors_of_a_write_and_the_servers_are_shown(tmp_path: Path) -> None:
    test_lsp.use_fake()
    (tmp_path / "a.txt").write_text("fine\n")
    calls = [test_lsp.lsp("hover", file="a.txt"), Use("write", path="b.txt", content="fine\nbad word\n")]

    async def test() -> None:
        async with rigged(tmp_path, [[calls[0]], [calls[1]], [Say("That is it.")]], rows=40) as rig:
            await rig.show("● fake")
            await rig.send("Write.")
            screen = await rig.show("That is it.")
            assert "error b.txt:2:1 bad thing: bad word" in screen

    run(test)
