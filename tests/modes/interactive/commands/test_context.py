"""What fills the window, which tools exist, what it costs: in numbers that add up, and as text."""

from pathlib import Path

import pytest

from tau.ai.faux import Count, Say, Think, Use
from tau.modes.interactive.commands.context import first_sentence
from tests.modes.interactive.commands.command_rig import run_command
from tests.modes.interactive.rig import rigged, run


def test_context_shows_the_parts_of_the_window(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Rules of the project. " * 200)
    (tmp_path / "big.txt").write_text("line of text\n" * 250)

    async def test() -> None:
        script = [[Think("Hm, let me see. " * 50), Use("read", path="big.txt")], [Say("Read it. " * 40)]]
        async with rigged(tmp_path, script, rows=50) as rig:
            await rig.send("read it")
            await rig.until(lambda: len(rig.faux.requests) == 2)
            await rig.idle()
            shown = await run_command(rig, "/context", "of 200,000 tokens used")
            tools = f"{len(rig.session.setup().offered_tools())} tools"
            for part in (
                *("system prompt", "AGENTS.md (1 file)", tools, "your messages", "answers", "thinking"),
                *("tool results", "free", "Compacts automatically"),
            ):
                assert part in shown, part
            bar = next(line for line in shown.splitlines() if line.strip().startswith("█") and "·" in line)
            assert len(bar.strip()) == 60

    run(test)


def test_context_is_text_only_for_a_screen_reader(tmp_path: Path) -> None:
    async def test() -> None:
        settings = {"display.screenReader": True}
        async with rigged(tmp_path, [[Say("Hello.")]], rows=50, settings=settings) as rig:
            await rig.send("/context")
            await rig.until(lambda: "tokens used" in rig.tape(), "the parts")
            await rig.until(lambda: "free, " in rig.tape(), "the parts")
            assert "█" not in rig.tape() and "system prompt, " in rig.tape()

    run(test)


def test_context_bar_is_ascii_when_symbols_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async with rigged(tmp_path, rows=40) as rig:
            rig.front.theme.symbols = rig.front.theme.symbols._replace(bullet="*")
            shown = await run_command(rig, "/context", "system prompt")
            bar = next(line for line in shown.splitlines() if line.strip().startswith("#="))
            assert bar.isascii()

    run(test)


@pytest.mark.parametrize("columns", [20, 40, 200])
@pytest.mark.parametrize(
    "command", ["/help", "/context", "/tools", "/usage", "/session", "/todo", "/changelog"]
)
def test_every_width_shows_all_of_it(tmp_path: Path, columns: int, command: str) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Hello."), Count(900, 100)]], columns=columns, rows=40) as rig:
            await rig.send("hello")
            await rig.until(lambda: len(rig.session.log.messages()) == 2, "an answer")
            await rig.idle()
            before = len(rig.front.layout.transcript.blocks)
            await rig.send(command)
            await rig.until(lambda: len(rig.front.layout.transcript.blocks) > before, "what it says")
            await rig.idle()
            assert not rig.front.layout.banner.children
            assert all(len(row) <= columns for row in rig.terminal.tape())

    run(test)


def test_tools_are_listed_with_their_token_counts(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, rows=40) as rig:
            shown = await run_command(rig, "/tools", "tokens per request.")
            for tool in rig.session.setup().offered_tools():
                assert f"  {tool.name} " in shown
            rig.session.plan.enter()
            assert "Plan mode hides" in await run_command(rig, "/tools", "Plan mode hides")

    run(test)


def test_a_session_without_tools_says_so(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, tools=()) as rig:
            assert "no tools" in await run_command(rig, "/tools", "The model has no tools.")

    run(test)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Reads a file. More of it.", "Reads a file"),
        ("Reads v1.5 files\nand more: like this", "Reads v1.5 files and more"),
        ("# Read\n\nMore.", "Read"),
        ("No end", "No end"),
    ],
)
def test_first_sentence_describes_a_tool(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence


def test_usage_is_shown_by_model(tmp_path: Path) -> None:
    async def test() -> None:
        script = [[Say("One."), Count(1000, 200, cache_read=3000)]]
        async with rigged(tmp_path, script) as rig:
            await run_command(rig, "/usage", "No usage yet.")
            await run_command(rig, "hello", "One.")
            await rig.idle()
            shown = await run_command(rig, "/usage", "75% of the input came from the cache")
            assert "faux/faux" in shown and "3k" in shown and "200" in shown

    run(test)


def test_stats_cover_all_sessions(tmp_path: Path) -> None:
    async def test() -> None:
        script = [[Say("One."), Count(1000, 200)], [Say("Two."), Count(500, 100)]]
        async with rigged(tmp_path, script, rows=50) as rig:
            await run_command(rig, "/stats", "No usage from")
            await run_command(rig, "hello", "One.")
            await rig.idle()
            first = rig.session
            await rig.send("/new")
            await rig.until(lambda: rig.current.session not in (None, first), "a new session")
            await run_command(rig, "hello", "Two.")
            await rig.idle()
            shown = await run_command(rig, "/stats all", "2 sessions, 2 requests, 1.8k tokens")
            assert "faux/faux" in shown and str(tmp_path)[:20] in shown
            await run_command(rig, "/stats soon", "Usage: /stats")

    run(test)
