"""Shell and Python commands: their output is shown, and sent to the model or not."""

from pathlib import Path

from tau.ai.faux import Say, Wait
from tests.modes.interactive.commands.command_rig import last_sent, run_command
from tests.modes.interactive.rig import rigged, run


def test_shell_command_shows_its_output_and_informs_the_model(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("I know.")]]) as rig:
            await run_command(rig, "!echo 'to the '$((40 + 2))", "to the 42")
            await rig.idle()
            await run_command(rig, "what was it?", "I know.")
            texts = [str(message.content) for message in rig.faux.requests[0].messages]
            assert "to the 42" in texts[0] and last_sent(rig) == "what was it?"

    run(test)


def test_doubled_sign_hides_the_output_from_the_model_and_says_so(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("I do not know.")]]) as rig:
            shown = await run_command(rig, "!!echo se''cret", "not in the model's context")
            assert "secret" in shown
            await rig.idle()
            await run_command(rig, "what was it?", "I do not know.")
            assert [message.content for message in rig.faux.requests[0].messages] == ["what was it?"]

    run(test)


def test_failed_command_shows_its_exit_code(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            assert "gone" in await run_command(rig, "!echo gone; exit 3", "exit 3")

    run(test)


def test_python_lines_share_their_variables(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.send("$x = 20")
            await rig.until(
                lambda: any(node.type == "message" for node in rig.session.log.nodes()), "the line"
            )
            assert "42" in await run_command(rig, "$x + 22", "42")
            shown = await run_command(rig, "$$x + 1", "not in the model's context")
            assert "21" in shown

    run(test)


def test_escape_stops_a_command(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await run_command(rig, "!echo begun; sleep 600", "begun")
            assert "stops it" in await rig.show("Running your command")
            await rig.press("escape")
            await rig.show("stopped")
            await rig.idle()
            assert "Running your command" not in await rig.gone("Running your command")

    run(test)


def test_commands_run_in_parallel_with_the_agent_and_each_other(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Working"), Wait()]]) as rig:
            await run_command(rig, "go", "Working")
            await rig.send("!sleep 0.2; echo sl''ow")
            await rig.send("!echo qu''ick")
            await rig.show("slow")
            assert "quick" in await rig.show("quick")
            await rig.until(lambda: len(rig.session.queue.waiting()) == 2, "both lines")
            await rig.press("escape")
            await rig.idle()

    run(test)


def test_sign_alone_says_what_to_type(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            assert "Nothing to run" in await run_command(rig, "!", "as in !ls")
            rig.front.editor.clear()
            assert "Nothing to run" in await run_command(rig, "$$ ", "as in $1 + 1")

    run(test)
