"""Commands against messages, and commands that are unknown or must wait."""

import os
from pathlib import Path

import pytest

from tau.ai.faux import Say, Wait
from tau.ai.wire import ImageContent
from tau.base.errors import TauError
from tau.modes.command_table import split
from tests.modes.interactive.commands.command_rig import last_sent, run_command
from tests.modes.interactive.rig import rigged, run

HOME_COMMANDS = ".tau/agent/commands"


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("text", "name", "rest"),
    [
        ("/help", "help", ""),
        ("/compact the tests  ", "compact", "the tests"),
        ("/plan one\ntwo", "plan", "one\ntwo"),
        ("/plan\none", "plan", "one"),
        ("/skill:pdf a b", "skill:pdf", "a b"),
        ("/usr/bin/x", "", ""),
        ("/", "", ""),
        ("/ help", "", ""),
        (" /help", "", ""),
        ("/.hidden", "", ""),
        ("//", "", ""),
        ("help", "", ""),
        ("/what?", "", ""),
    ],
)
def test_command_is_a_name_after_a_slash(text: str, name: str, rest: str) -> None:
    assert split(text) == (name, rest)


def test_messages_are_distinguished_from_commands(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            takes = rig.parts.names.is_command
            for command in (
                "/help",
                "/quit",
                "/rename x",
                "/nosuch",
                "/compcat x",
                "!ls",
                "!!ls",
                "$1",
                "$$1",
                "!",
            ):
                assert takes(command), command
            for message in (
                *(
                    "hello",
                    "/usr/bin/x",
                    "/usr/bin is full",
                    " /help",
                    "\n/help",
                    "${HOME} is what?",
                    "",
                    "/",
                ),
                *("/etc is full", "/api/v1 fails", "and/or"),
            ):
                assert not takes(message), message

    run(test)


def test_a_path_is_sent_as_a_message(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("I see.")]]) as rig:
            await rig.send("/usr/bin/x does not start")
            await rig.show("I see.")
            assert last_sent(rig) == "/usr/bin/x does not start"

    run(test)


def test_unknown_command_suggests_the_nearest_and_stays_typed(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.send("/compcat only the tests")
            shown = await rig.show("Did you mean /compact?")
            assert "Unknown command /compcat." in shown
            await rig.until(lambda: rig.front.editor.text == "/compcat only the tests", "the text")
            rig.front.editor.clear()
            await rig.send("/zzzzz")
            await rig.show("See /help.")
            assert rig.faux.requests == []

    run(test)


def test_command_that_has_to_wait_says_so_and_stays_typed(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Working"), Wait()]]) as rig:
            await rig.send("go")
            await rig.show("Working")
            await rig.send("/compact the tests")
            shown = await rig.show("The agent is working; Esc stops it.")
            assert "/compact the tests" in shown
            rig.front.editor.clear()
            await rig.send("/name While it works")
            assert "While it works" in await rig.show('Renamed the session to "While it works".')
            rig.session.abort()
            await rig.idle()

    run(test)


def test_invalid_use_shows_the_usage_and_stays_typed(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.send("/goto")
            await rig.show("Usage: /goto ID")
            await rig.until(lambda: rig.front.editor.text == "/goto", "the text")
            assert rig.front.editor.text == "/goto"

    run(test)


def test_file_command_is_sent_with_its_arguments(tmp_path: Path) -> None:
    put(Path(os.environ["HOME"]) / HOME_COMMANDS / "fix.md", "---\ndescription: Mends\n---\nFix $1 in $2.")

    async def test() -> None:
        async with rigged(tmp_path, [[Say("Fixed.")]]) as rig:
            await rig.send("/fix 'the bug' parser.py")
            await rig.show("Fixed.")
            assert last_sent(rig) == "Fix the bug in parser.py."

    run(test)


def test_text_of_a_file_command_is_never_run(tmp_path: Path) -> None:
    """A repository's text may start like a command or a shell command; it is a message all the same."""
    put(tmp_path / ".tau/commands/a.md", "!touch made")
    put(tmp_path / ".tau/commands/b.md", "/exit")
    put(tmp_path / ".tau/commands/c.md", "$ARGUMENTS")

    async def test() -> None:
        async with rigged(tmp_path, [[Say("One.")], [Say("Two.")], [Say("Three.")]]) as rig:
            for command, text, answer in (
                ("/a", "!touch made", "One."),
                ("/b", "/exit", "Two."),
                ("/c !touch made", "!touch made", "Three."),
            ):
                await rig.send(command)
                await rig.show(answer)
                await rig.idle()
                assert last_sent(rig) == text
            assert not (tmp_path / "made").exists()

    run(test)


def test_text_of_a_file_command_is_not_run_when_dequeued_and_resent(tmp_path: Path) -> None:
    put(tmp_path / ".tau/commands/a.md", "!touch made")

    async def test() -> None:
        async with rigged(tmp_path, [[Say("In progress"), Wait(None)], [Say("Understood.")]]) as rig:
            await rig.send("go")
            await rig.show("In progress")
            await rig.send("/a")
            await rig.show("Next: !touch made")
            await rig.press("escape")
            await rig.idle()
            assert rig.front.editor.text == " !touch made"
            await rig.press("enter")
            await rig.show("Understood.")
            assert not (tmp_path / "made").exists()

    run(test)


def test_skill_is_sent_with_its_folder(tmp_path: Path) -> None:
    put(tmp_path / ".tau/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads PDFs\n---\nRun fill.py.")

    async def test() -> None:
        async with rigged(tmp_path, [[Say("Filled.")]]) as rig:
            await rig.send("/skill:pdf fill in a.pdf")
            await rig.show("Filled.")
            assert "Run fill.py." in last_sent(rig) and last_sent(rig).endswith("fill in a.pdf")
            assert str(tmp_path / ".tau/skills/pdf") in last_sent(rig)

    run(test)


def test_file_cannot_shadow_a_builtin_command(tmp_path: Path) -> None:
    put(tmp_path / ".tau/commands/exit.md", "Stay.")

    async def test() -> None:
        async with rigged(tmp_path, rows=80, columns=160) as rig:
            assert rig.parts.names.files.get("exit") is None
            assert "exit.md" in rig.parts.names.files.warnings[0]
            await rig.send("/help")
            assert "Ignoring" in await rig.show("/exit is a built-in command")

    run(test)


def test_command_file_created_while_running_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tau.modes.interactive.commands.file_commands.FRESH_S", 0.0)

    async def test() -> None:
        async with rigged(tmp_path, [[Say("Done.")]]) as rig:
            assert rig.parts.names.files.get("later") is None
            put(tmp_path / ".tau/commands/later.md", "Now.")
            await rig.send("/later")
            await rig.show("Done.")
            assert last_sent(rig) == "Now."

    run(test)


def test_broken_command_file_is_reported_when_used(tmp_path: Path) -> None:
    put(tmp_path / ".tau/commands/broken.md", "---\ndescription: x\n")

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.send("/broken")
            shown = await rig.show("Unknown command /broken.")
            assert "no closing line" in shown

    run(test)


def test_pictures_are_sent_with_a_file_command(tmp_path: Path) -> None:
    put(tmp_path / ".tau/commands/look.md", "Look at this: $@")

    async def test() -> None:
        async with rigged(tmp_path, [[Say("Seen.")], [Say("Planned.")]]) as rig:
            picture = ImageContent("aGVsbG8=", "image/png")
            await rig.parts.commands.run("/look closely", [picture])
            await rig.show("Seen.")
            await rig.idle()
            assert last_sent(rig) == "Look at this: closely"
            assert "image/png" in str(rig.session.log.messages()[0])
            await rig.parts.commands.run("/plan again")
            await rig.show("Planned.")
            assert rig.faux.requests[-1].messages[-1].content == "again"

    run(test)


def test_nothing_is_sent_while_there_is_no_session(tmp_path: Path) -> None:
    """Text waiting for a session would be treated as typed input."""
    put(tmp_path / ".tau/commands/a.md", "!touch made")

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            session, rig.current.session = rig.current.session, None
            try:
                with pytest.raises(TauError, match="still opening"):
                    await rig.parts.commands.run("/a")
                assert rig.front.early == []
            finally:
                rig.current.session = session

    run(test)


def test_long_command_output_appears_below_the_typed_command(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, rows=60) as rig:
            shown = await run_command(rig, "/context", "tokens used")
            rows = [row.rstrip() for row in shown.split("\n")]
            place = rows.index("❯ /context")
            assert rows[place + 1].startswith("  ") and not rows[place + 1].startswith("  •")
            shown = await run_command(rig, "/name Fence", "Fence")
            assert "❯ /name" not in shown  # a sentence needs no heading
            rig.app.say("of others\nin two lines")
            assert "• of others" in await rig.show("in two lines")

    run(test)


def test_screen_reader_hears_table_output(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, settings={"display.screenReader": True}) as rig:
            await rig.send("/context")
            await rig.until(lambda: "Answer to /context:" in rig.tape(), "the heading")

    run(test)
