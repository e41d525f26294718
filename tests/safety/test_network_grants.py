"""What the sandbox blocks: the model reads it, the user is asked once, and the answer counts."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from tau.ai.wire import text_of
from tau.backends.kernels.pool import Kernels
from tau.coding.shell.blocked_attempts import BlockedAttempt
from tau.coding.shell.grants import NO, OUTSIDE_ONCE, SandboxGrants, grant_folder
from tau.coding.tools.eval import Eval
from tests.coding.context import call
from tests.safety.contained_rig import ScriptedUi, contained_shell

WORK = Path("/work")
GET_EVIL = "curl -sS --max-time 20 http://evil.example/"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    for program in ("bwrap", "curl"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    folder = Path(os.path.realpath(tmp_path)) / "work"
    folder.mkdir()
    place = Path(os.environ["HOME"]) / "place"  # outside the workspace, and not in a temporary folder's place
    place.mkdir()
    return folder


def test_without_a_user_a_blocked_command_has_a_note_and_nothing_is_asked(work: Path) -> None:
    async def main() -> None:
        async with contained_shell(work, None) as rig:
            text = await rig.run(GET_EVIL)
            assert text.startswith("Blocked by the sandbox: evil.example is not an allowed host.")
            assert text.endswith("[Sandbox: blocked connection to evil.example:80]")
            text = await rig.run("touch ~/place/new")
            assert "[Sandbox: blocked write to " in text
            assert "/place/new]" in text
            assert "Sandbox" not in await rig.run("touch inside; echo fine")
        assert rig.lookups == []

    asyncio.run(main())


def test_a_host_is_asked_about_while_its_request_waits_and_then_stays_allowed(work: Path) -> None:
    async def main() -> None:
        ui = ScriptedUi(1)
        async with contained_shell(work, ui) as rig:
            assert await rig.run(GET_EVIL) == "yes"
            assert await rig.run(GET_EVIL) == "yes"
        title, options = ui.asked[0]
        assert title == "A command in the sandbox wants to connect to evil.example:80."
        assert options == [NO, "Allow evil.example for this session"]
        assert len(ui.asked) == 1

    asyncio.run(main())


def test_a_refused_host_is_not_asked_about_again_and_two_refusals_end_asking(work: Path) -> None:
    async def main() -> None:
        ui = ScriptedUi(0, None)
        async with contained_shell(work, ui) as rig:
            assert "[Sandbox: blocked connection to evil.example:80]" in await rig.run(GET_EVIL)
            await rig.run(GET_EVIL)
            assert len(ui.asked) == 1
            await rig.run(GET_EVIL.replace("evil", "worse"))
            assert len(ui.asked) == 2
            await rig.run(GET_EVIL.replace("evil", "third"))
            assert len(ui.asked) == 2
            rig.contained.begin_run()
            ui.answers = [1]
            assert await rig.run(GET_EVIL) == "yes"
            assert len(ui.asked) == 3

    asyncio.run(main())


def test_the_folder_of_a_blocked_write_can_be_allowed_and_the_command_runs_again_inside(work: Path) -> None:
    async def main() -> None:
        ui = ScriptedUi(1)
        place = Path(os.environ["HOME"]) / "place"
        async with contained_shell(work, ui) as rig:
            await rig.run("NAME=kept")
            text = await rig.run(f"echo $NAME; echo hi > {place}/new")  # too clever to be sure about
            assert "Sandbox" not in text
            text = await rig.run(f"echo hi > {place}/new")
            assert (place / "new").read_text() == "hi\n"
            assert "The user allowed it; this is the result of running it with access to" in text
            assert await rig.run(f"echo more >> {place}/new; echo $NAME") == "kept\n"
            assert (place / "new").read_text() == "hi\nmore\n"
            assert "Read-only" in await rig.run("touch ~/other 2>&1; true")
            title, options = ui.asked[0]
            assert title == f"Sandbox: blocked write to {place}/new\necho hi > {place}/new"
            allow = f"Allow writes in {place} for this session, and run it again in a new sandbox"
            assert options == [NO, allow, OUTSIDE_ONCE]

    asyncio.run(main())


def test_a_command_can_run_once_outside(work: Path) -> None:
    async def main() -> None:
        home = Path(os.environ["HOME"])
        ui = ScriptedUi(1, 0)
        async with contained_shell(work, ui) as rig:
            text = await rig.run("touch ~/new")
            assert (home / "new").exists()
            assert "running it outside the sandbox" in text
            # There is no narrow grant for a file in the home folder itself.
            assert ui.asked[0][1] == [NO, OUTSIDE_ONCE]
            text = await rig.run("touch ~/other")
            assert not (home / "other").exists()
            assert text.endswith(f"[Sandbox: blocked write to {home}/other]\n[Exit code 1]")

    asyncio.run(main())


def test_with_the_network_off_nothing_is_asked_and_the_note_is_there(work: Path) -> None:
    async def main() -> None:
        ui = ScriptedUi()
        async with contained_shell(work, ui, network="off") as rig:
            assert "[Sandbox: blocked connection to evil.example:80]" in await rig.run(GET_EVIL)
            assert "[Sandbox: blocked connection to pypi.org:443]" in await rig.run(
                "curl -sS https://pypi.org/simple/"
            )
        assert ui.asked == []

    asyncio.run(main())


def test_the_default_list_reaches_registries_and_an_empty_one_nothing(work: Path) -> None:
    async def main() -> None:
        async with contained_shell(work, None) as rig:
            assert await rig.run("curl -sS http://pypi.org/simple/") == "yes"
        async with contained_shell(work, None, hosts=[]) as rig:
            assert "[Sandbox: blocked connection to pypi.org:80]" in await rig.run(
                "curl -sS http://pypi.org/simple/"
            )

    asyncio.run(main())


def test_a_cell_that_was_blocked_has_a_note(work: Path) -> None:
    async def main() -> None:
        code = "import urllib.request\ntry: urllib.request.urlopen('http://evil.example/')\n"
        code += "except OSError as error: print(error)"
        async with contained_shell(work, None) as rig:
            kernels = await rig.stack.enter_async_context(Kernels(rig.ctx.run))
            tool = Eval(kernels, sandbox=rig.sandbox)
            output = await call(tool, rig.ctx, cells=[{"language": "py", "code": code}])
            assert "HTTP Error 403: Blocked by the sandbox" in text_of(output.content)
            assert "[Sandbox: blocked connection to evil.example:80]" in text_of(output.content)

    asyncio.run(main())


def test_a_background_job_reports_what_was_blocked(work: Path) -> None:
    async def main() -> None:
        async with contained_shell(work, None) as rig:
            output = await rig.output(GET_EVIL, **{"async": True})
            assert output.details.job_id
            await rig.ctx.jobs.wait([output.details.job_id], 20)
            job = rig.ctx.jobs.get(output.details.job_id)
            assert job is not None
            assert "[Sandbox: blocked connection to evil.example:80]" in (job.result_text or "")
            rig.ctx.jobs.acknowledge([job.id])

    asyncio.run(main())


def test_the_users_rules_answer_before_a_question_does(work: Path) -> None:
    async def main() -> None:
        ui = ScriptedUi()
        async with contained_shell(work, ui) as rig:
            rig.contained.grants.judge_host = lambda host, port: host == "evil.example"
            assert await rig.run(GET_EVIL) == "yes"
            assert "[Sandbox: blocked connection to worse.example:80]" in await rig.run(
                GET_EVIL.replace("evil", "worse")
            )
        assert ui.asked == []

    asyncio.run(main())


def test_no_folder_that_contains_the_home_folder_is_offered() -> None:
    home = Path.home()
    assert grant_folder(home / "new") is None
    assert grant_folder(home.parent / "new") is None
    assert grant_folder(Path("/new")) is None
    assert grant_folder(home / "a" / "new") == home / "a"


def test_running_outside_shows_the_folder_and_the_variables_of_the_command() -> None:
    """BASH_ENV alone would run anything, with the user's permissions."""

    async def main() -> None:
        ui = ScriptedUi(0)
        grants = SandboxGrants(ui)  # type: ignore[arg-type]
        attempt = BlockedAttempt("socket", "/run/docker.sock")
        env = {"BASH_ENV": "./evil.sh\nfolder: /"}
        assert await grants.ask_rerun(attempt, "docker ps", WORK, env) == "no"
        title = ui.asked[0][0]
        assert "folder: /work\n" in title and "variable BASH_ENV: ./evil.sh<U+000A>folder: /" in title

    asyncio.run(main())


def test_questions_come_one_at_a_time_and_show_the_whole_command() -> None:
    async def main() -> None:
        ui = ScriptedUi(0, 0)
        grants = SandboxGrants(ui)  # type: ignore[arg-type]
        attempt = BlockedAttempt("socket", "/run/docker.sock")
        assert await grants.ask_rerun(attempt, "docker ps\x1b[2J", WORK, {}) == "no"
        assert "\x1b" not in ui.asked[0][0]
        assert await grants.ask_rerun(attempt, "docker ps\x1b[2J", WORK, {}) == "no"
        assert len(ui.asked) == 1
        long = "x" * 9_000
        assert await grants.ask_rerun(attempt, long, WORK, {}) == "no"
        assert "characters not shown" in ui.asked[1][0]
        assert OUTSIDE_ONCE in ui.asked[0][1] and OUTSIDE_ONCE not in ui.asked[1][1]
        assert await grants.ask_rerun(attempt, "docker images", WORK, {}) == "no"
        assert len(ui.asked) == 2

    asyncio.run(main())
