"""Faults of extensions: the next prompt is answered, and the user learns whose fault it was."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tau.ai.faux import Say, Use
from tau.base.tasks import spawn
from tau.ext.extensions import extension_set
from tests.ext.extensions.host import opened

FAULTS = {
    "raises": "def bad(event, ctx): raise ValueError('no')",
    "raises in a coroutine": "async def bad(event, ctx): raise ValueError('no')",
    "exits": "def bad(event, ctx): raise SystemExit(3)",
    "exits in a coroutine": "async def bad(event, ctx): raise SystemExit(3)",
    "is interrupted": "def bad(event, ctx): raise KeyboardInterrupt",
    "cancels itself": "async def bad(event, ctx): raise __import__('asyncio').CancelledError",
    "reads the terminal": "def bad(event, ctx): input('> ')",
    "returns nonsense": "def bad(event, ctx): return object()",
    "prints": "def bad(event, ctx): print('to stdout'); raise ValueError('printed')",
    "recurses": "def bad(event, ctx): return bad(event, ctx)",
    "uses the session wrongly": "async def bad(event, ctx): tau_none.anything()",
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("event", ["agent_end", "context", "session_start", "before_provider_request"])
def test_a_fault_in_a_handler_does_not_cost_the_answer(
    tmp_path: Path, fault: str, event: str, capfd: pytest.CaptureFixture[str]
) -> None:
    code = f"{FAULTS[fault]}\n\ndef extension(tau):\n    tau.on('{event}', bad)\n"

    async def main() -> None:
        async with opened(tmp_path, code) as rig:
            outcome = await rig.session.prompt("hello")
            assert outcome.message is not None and outcome.message.text == "ok"
            if fault != "returns nonsense":
                await rig.until(lambda: rig.faults, "the report")
                assert rig.faults[0].startswith(f"{event}: ")

    asyncio.run(main())
    assert "to stdout" not in capfd.readouterr().out


def test_a_guard_that_fails_refuses_the_call(tmp_path: Path) -> None:
    code = "def extension(tau):\n    tau.on('tool_call', lambda event, ctx: 1 / 0)\n"

    async def main() -> None:
        async with opened(tmp_path, code, [[Use("bash", command="touch x")], [Say("ok")]]) as rig:
            await rig.session.prompt("go")
            assert "failed to check this call" in str(rig.faux.requests[1].messages[-1])
            assert not (tmp_path / "x").exists()

    asyncio.run(main())


def test_five_failures_in_a_row_switch_it_off(tmp_path: Path) -> None:
    code = "def extension(tau):\n    tau.on('context', lambda event, ctx: 1 / 0)\n"

    async def main() -> None:
        async with opened(tmp_path, code) as rig:
            for _ in range(6):
                await rig.session.prompt("hi")
            assert [one for one in rig.faults if "ZeroDivisionError" in one] == rig.faults[:1]
            assert "switched off" in rig.faults[-1]
            assert len(rig.faults) == 2

    asyncio.run(main())


def test_folder_and_environment_are_restored(tmp_path: Path) -> None:
    code = """
    import os, signal

    os.chdir("/")
    os.environ["CHANGED"] = "1"

    def extension(tau):
        pass
    """

    async def main() -> None:
        before = Path.cwd()
        async with opened(tmp_path, code) as rig:
            assert Path.cwd() == before
            assert "changed the working folder, the environment; restored" in "\n".join(rig.notices)

    asyncio.run(main())


def test_replaced_names_of_tau_are_reported(tmp_path: Path) -> None:
    code = """
    import tau.coding.session.session as target

    saved = target.Session.python

    async def python(self, code): ...

    def extension(tau):
        target.Session.python = python
        tau.on("session_shutdown", lambda event, ctx: setattr(target.Session, "python", saved))
    """

    async def main() -> None:
        async with opened(tmp_path, code) as rig:
            assert "replaced tau.coding.session.session.Session.python in tau" in "\n".join(rig.notices)

    asyncio.run(main())


def test_a_stale_context_raises_and_is_contained(tmp_path: Path) -> None:
    code = """
    kept = []

    def extension(tau):
        tau.on("session_start", lambda event, ctx: kept.append(ctx))

        @tau.command("old")
        def old(args, ctx):
            kept[0].usage()
    """

    async def main() -> None:
        async with opened(tmp_path, code) as rig:
            await rig.until(lambda: rig.extensions.extensions[0].module.kept, "the start")
            old = rig.extensions.extensions[0]
            await rig.extensions.reload()
            with pytest.raises(Exception, match="is over or the extension was reloaded"):
                old.module.kept[0].usage()

    asyncio.run(main())


def test_tasks_end_with_the_session(tmp_path: Path) -> None:
    code = """
    import asyncio

    def extension(tau):
        async def forever():
            await asyncio.Event().wait()

        @tau.on("session_start")
        async def start(event, ctx):
            tau.task(forever())
            asyncio.create_task(forever())
    """

    async def main() -> None:
        async with opened(tmp_path, code) as rig:
            await rig.session.prompt("hi")
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())


def model_file() -> None:
    home = Path(os.environ["TAU_HOME"])
    home.mkdir(parents=True)
    model = {"baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions", "apiKey": "x"}
    model |= {"models": [{"id": "m"}]}  # type: ignore[dict-item]
    (home / "models.json").write_text(json.dumps({"providers": {"fake": model}}))


def run_program(folder: Path, *args: str) -> "subprocess.CompletedProcess[str]":
    model_file()
    command = [sys.executable, "-m", "tau", "-e", "e.py", "--model", "fake/m", *args]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_notices_of_an_extension_reach_stderr_in_print_mode(tmp_path: Path) -> None:
    (tmp_path / "e.py").write_text(
        "def extension(tau):\n    tau.command('hi', lambda args, ctx: ctx.ui.notify('hello ' + args))\n"
    )
    run = run_program(tmp_path, "-p", "/hi you")
    assert run.returncode == 0, run.stderr
    assert "hello you" in run.stderr


@pytest.mark.parametrize("mode", ["text", "json"])
def test_descriptors_of_an_extension_lead_to_a_log(mode: str, tmp_path: Path) -> None:
    (tmp_path / "e.py").write_text(NOISY)
    run = run_program(tmp_path, "--mode", mode, "-p", "/noise")
    assert run.returncode == 0, run.stderr
    assert "NOISE" not in run.stdout + run.stderr
    assert "said" in (run.stderr if mode == "text" else run.stdout)
    for line in run.stdout.splitlines():
        json.loads(line)
    log = (Path(os.environ["TAU_HOME"]) / "logs" / "extension-output.log").read_text()
    assert sorted(log.split()) == sorted(
        f"NOISE-{when}-{how}" for when in ("load", "command") for how in ("1", "2", "child", "stream")
    )


NOISY = """
import os, sys

def noise(when):
    for fd in (1, 2):
        os.write(fd, f"NOISE-{when}-{fd}\\n".encode())
    os.system(f"echo NOISE-{when}-child")
    sys.__stdout__.write(f"NOISE-{when}-stream\\n")

def extension(tau):
    noise("load")

    @tau.command("noise")
    def command(args, ctx):
        noise("command")
        ctx.ui.notify("said")
"""


def test_program_that_embeds_tau_keeps_its_descriptors(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async def main() -> None:
        async with opened(tmp_path, "def extension(tau): pass"):
            os.write(1, b"mine")

    asyncio.run(main())
    assert capfd.readouterr().out == "mine"


HANGING = {
    "awaits": "async def hang(args, ctx):\n    started()\n    await asyncio.sleep(1000)",
    "sleeps in its thread": "def hang(args, ctx):\n    started()\n    time.sleep(0.3)",
    "swallows its cancellation": "async def hang(args, ctx):\n    started()\n    await swallow()",
}
HANG = """
import asyncio, time

async def swallow():
    while True:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            pass

def extension(tau):
    global api, started
    api, started = tau, lambda: tau.events.emit("started")
    tau.events.on("started", lambda data: tau.send_message("started", kind="mark"))
    tau.command("hang", hang)
    tau.command("leave", leave)

async def leave(args, ctx):
    api.task(swallow())
    asyncio.create_task(swallow())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
"""


@pytest.mark.parametrize("how", HANGING)
def test_stopping_ends_a_command_that_hangs(how: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path, f"{HANG}\n{HANGING[how]}\n") as rig, asyncio.TaskGroup() as group:
            running = spawn(group, rig.extensions.run_command("/hang"))
            await rig.until(lambda: any("started" in str(one) for one in rig.events), "the command")
            assert rig.session.busy
            rig.session.abort()
            await running
            assert not rig.session.busy
            assert rig.notices[-1] == "Stopped /hang."
            outcome = await rig.session.prompt("hello")
            assert outcome.message is not None and outcome.message.text == "ok"
            assert len([one for one in asyncio.all_tasks() if "swallow" in str(one.get_coro())]) == 0

    asyncio.run(main())


def test_task_that_swallows_its_cancellation_does_not_keep_tau_from_ending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extension_set, "KILL_LIMIT_S", 0.05)

    async def main() -> None:
        async with opened(tmp_path, f"{HANG}\n{HANGING['awaits']}\n") as rig:
            await rig.extensions.run_command("/leave")
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())
