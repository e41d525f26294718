"""Background jobs that end while the agent is idle, on the screen."""

from pathlib import Path
from typing import Any

from tau.ai.faux import Say, Use
from tests.e2e.program import is_alive
from tests.modes.interactive.rig import rigged, run

GO = "while ! [ -e go ]; do sleep 0.01; done; echo built $((40 + 2))"


def job(command: str = GO) -> Any:
    return Use("bash", **{"command": command, "async": True})


def test_status_line_does_not_stay_at_one_running(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[job()], [Say("Building.")], [Say("It is built.")]]) as rig:
            await rig.send("build it")
            await rig.show("Building.")
            await rig.idle()
            assert "1 running" in rig.screen()
            (tmp_path / "go").touch()
            await rig.show("It is built.")
            await rig.idle()
            assert "1 running" not in rig.screen()
            assert "built 42" in str(rig.faux.requests[2].messages[-1].content)

    run(test)


def test_result_comes_before_the_next_message_if_the_setting_is_off(tmp_path: Path) -> None:
    async def test() -> None:
        off = {"async.continueWhenDone": False}
        answers = [[job()], [Say("Building.")], [Say("Indeed.")]]
        async with rigged(tmp_path, answers, settings=off) as rig:
            await rig.send("build it")
            await rig.show("Building.")
            (tmp_path / "go").touch()
            await rig.gone("1 running")
            await rig.idle()
            assert len(rig.faux.requests) == 2
            await rig.send("is it built?")
            await rig.show("Indeed.")
            *_, result, prompt = [str(message.content) for message in rig.faux.requests[2].messages]
            assert "built 42" in result and prompt == "is it built?"

    run(test)


def test_leaving_a_session_says_which_job_it_stopped(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[job("sleep 600")], [Say("Serving.")]]) as rig:
            await rig.send("serve it")
            await rig.show("Serving.")
            await rig.idle()
            await rig.send("/new")
            await rig.show("Stopped background job bash-1: sleep 600")

    run(test)


def test_quitting_says_which_job_it_stopped(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[job("sleep 600")], [Say("Serving.")]]) as rig:
            await rig.send("serve it")
            await rig.show("Serving.")
            await rig.idle()
        assert rig.front.exit_message.splitlines()[0] == "Stopped background job bash-1: sleep 600"

    run(test)


def test_running_command_moves_to_the_background_with_its_output(tmp_path: Path) -> None:
    command = "echo begun; echo $$ > pid; while ! [ -e go ]; do sleep 0.01; done; echo ended"

    async def test() -> None:
        answers = [[Use("bash", command=command)], [Say("I go on.")], [Say("It has ended.")]]
        async with rigged(tmp_path, answers) as rig:
            await rig.send("run it")
            await rig.until((tmp_path / "pid").exists, "the command")
            await rig.show("begun")
            await rig.press("ctrl+b")
            await rig.show("I go on.")
            await rig.idle()
            result = str(rig.faux.requests[1].messages[-1].content)
            assert "begun" in result
            assert "[The user moved this to the background; it runs as bash-1" in result
            assert is_alive(int((tmp_path / "pid").read_text()))
            (tmp_path / "go").touch()
            await rig.show("It has ended.")
            assert "begun\nended" in str(rig.faux.requests[2].messages[-1].content)

    run(test)


def test_background_key_moves_the_cursor_if_nothing_runs(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.type("ac")
            await rig.press("ctrl+b")
            await rig.type("b")
            await rig.show("abc")
            assert rig.front.editor.text == "abc"

    run(test)


def test_end_of_a_job_is_one_line_while_the_agent_works(tmp_path: Path) -> None:
    waits = "while ! [ -e more ]; do sleep 0.01; done"

    async def test() -> None:
        answers = [[job(), Use("bash", command=waits)], [Say("All done.")]]
        settings = {"interaction.notify": "always"}
        async with rigged(tmp_path, answers, settings=settings) as rig:
            await rig.send("build it")
            await rig.show("1 running")
            (tmp_path / "go").touch()
            await rig.show("Background job bash-1 completed: while ! [ -e go ]")
            assert any("bash-1 completed" in sent.body for sent in rig.terminal.notifications)
            (tmp_path / "more").touch()
            await rig.show("All done.")

    run(test)


def test_end_of_a_job_is_one_line_if_no_turn_follows(tmp_path: Path) -> None:
    async def test() -> None:
        off = {"async.continueWhenDone": False}
        failing = "while ! [ -e go ]; do sleep 0.01; done; exit 3"
        async with rigged(tmp_path, [[job(failing)], [Say("Building.")]], settings=off) as rig:
            await rig.send("build it")
            await rig.show("Building.")
            await rig.idle()
            (tmp_path / "go").touch()
            await rig.show("! Background job bash-1 failed: ")
            assert rig.tape().count("Background job bash-1") == 1

    run(test)
