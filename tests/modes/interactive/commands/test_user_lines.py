"""Lines for the shell and for Python: run with their output shown, told to the model or not."""

from pathlib import Path

from tau.ai.faux import Say, Wait
from tests.modes.interactive.commands.asking import last_sent, said
from tests.modes.interactive.rig import rigged, run


def test_a_shell_line_shows_its_output_and_tells_the_model(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("I know.")]]) as rig:
            await said(rig, "!echo 'to the '$((40 + 2))", "to the 42")
            await rig.idle()
            await said(rig, "what was it?", "I know.")
            texts = [str(message.content) for message in rig.faux.requests[0].messages]
            assert "to the 42" in texts[0] and last_sent(rig) == "what was it?"

    run(test)


def test_a_doubled_sign_keeps_the_output_from_the_model_and_says_so(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("I do not know.")]]) as rig:
            shown = await said(rig, "!!echo se''cret", "not in the model's context")
            assert "secret" in shown
            await rig.idle()
            await said(rig, "what was it?", "I do not know.")
            assert [message.content for message in rig.faux.requests[0].messages] == ["what was it?"]

    run(test)


def test_a_failed_line_tells_its_exit_code(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            assert "gone" in await said(rig, "!echo gone; exit 3", "exit 3")

    run(test)


def test_python_lines_share_their_variables(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.send("$x = 20")
            await rig.until(
                lambda: any(node.type == "message" for node in rig.session.log.nodes()), "the line"
            )
            assert "42" in await said(rig, "$x + 22", "42")
            shown = await said(rig, "$$x + 1", "not in the model's context")
            assert "21" in shown

    run(test)


def test_escape_stops_a_line(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await said(rig, "!echo begun; sleep 30", "begun")
            assert "stops it" in await rig.show("Running your command")
            await rig.press("escape")
            await rig.show("stopped")
            await rig.idle()
            assert "Running your command" not in await rig.gone("Running your command")

    run(test)


def test_lines_run_beside_the_agent_and_beside_each_other(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Working"), Wait()]]) as rig:
            await said(rig, "go", "Working")
            await rig.send("!sleep 0.2; echo sl''ow")
            await rig.send("!echo qu''ick")
            await rig.show("slow")
            assert "quick" in await rig.show("quick")
            await rig.until(lambda: len(rig.session.queue.waiting()) == 2, "both lines")
            await rig.press("escape")
            await rig.idle()

    run(test)


def test_a_sign_alone_says_what_to_type(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            assert "Nothing to run" in await said(rig, "!", "as in !ls")
            rig.front.editor.clear()
            assert "Nothing to run" in await said(rig, "$$ ", "as in $1 + 1")

    run(test)
