"""Background jobs that end while the agent is idle, on the screen."""

from pathlib import Path
from typing import Any

from tau.ai.faux import Say, Use
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
