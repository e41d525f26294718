"""A session starts in the right order, survives odd adapters, and leaves nothing behind."""

import asyncio
import json
from pathlib import Path
from typing import Any, get_args

import pytest

from tau.backends.dap.config import Transport
from tau.backends.dap.connection import DapError
from tau.backends.dap.output import OutputRing
from tau.backends.dap.protocol import BreakpointRow
from tests.backends.dap.adapters import fake_spec, sessions_of, start
from tests.support.idle import until
from tests.support.limits import HANG_S

STEPS = ("initialize", "launch", "setExceptionBreakpoints", "configurationDone", "threads")


def asked(log: Path) -> list[str]:
    return [json.loads(line)[0] for line in log.read_text().splitlines()]


@pytest.mark.parametrize("transport", get_args(Transport))
def test_a_program_stops_with_its_frames_and_variables(tmp_path: Path, transport: Transport) -> None:
    async def main() -> None:
        async with sessions_of(tmp_path, fake_spec(transport)) as sessions:
            session = await start(sessions, tmp_path)
            place = await session.place()
            assert session.status == "stopped" and place is not None and place.reason == "entry"
            assert [frame.name for frame in place.frames] == ["main", "start"]
            assert [(row.name, row.value) for row in place.variables] == [("n", "3")]
            assert await session.go("continue", HANG_S) == "terminated"
            assert (session.status, session.exit_code) == ("terminated", 0)
            assert session.output.text() == "[stdout] three"

    asyncio.run(main())


@pytest.mark.parametrize("order", ["after launch", "before launch", "with initialize"])
def test_breakpoints_are_set_before_the_program_runs(tmp_path: Path, order: str) -> None:
    log = tmp_path / "log"
    script: dict[str, Any] = {"save": str(log)}
    if order == "before launch":
        script["launch"] = {"before": [["initialized", {}]], "events": []}
    elif order == "with initialize":
        script |= {"initialize": {"events": [["initialized", {}]]}, "launch": {"events": []}}

    async def main() -> None:
        async with sessions_of(tmp_path, fake_spec(**script)) as sessions:
            row = BreakpointRow(path=str(tmp_path / "main.x"), line=2)
            session = await start(sessions, tmp_path, breakpoints=[("source", row)])
            assert session.breakpoints.rows("source", row.path)[0].verified

    asyncio.run(main())
    steps = asked(log)[:5]
    assert steps == ["initialize", "launch", "setBreakpoints", "setExceptionBreakpoints", "configurationDone"]
    filters = next(json.loads(line)[1] for line in log.read_text().splitlines() if "Exception" in line)
    assert filters == {"filters": ["uncaught"]}


def test_an_adapter_that_announces_nothing_is_configured_by_the_next_request(tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = {"launch": {"events": []}, "save": str(log), "configurationDone": {"events": []}}

    async def main() -> None:
        async with sessions_of(tmp_path, fake_spec(**script)) as sessions:
            session = await start(sessions, tmp_path, timeout_s=1.0)
            assert session.summary().needs_configuration_done
            await session.request("threads", None, HANG_S)
            assert not session.summary().needs_configuration_done

    asyncio.run(main())
    assert asked(log)[:5] == list(STEPS)


@pytest.mark.parametrize("step", STEPS[:4])
@pytest.mark.parametrize(
    ("act", "problem"),
    [
        ({"stderr": "giving up\n", "exit": 3}, "fake exited with code 3; it printed: giving up"),
        ({"kill": True}, "fake ended with signal 9"),
        ({"raw": "Content-Length: 99\r\n\r\n{", "exit": 0}, "exited with code 0 in the middle of a message"),
        ({"raw": "Content-Length: 3\r\n\r\n{]}"}, "not DAP"),
        ({"raw": "hello world\n"}, "instead of a header"),
    ],
)
def test_an_adapter_that_breaks_during_the_handshake_is_named(
    tmp_path: Path, step: str, act: dict[str, Any], problem: str
) -> None:
    async def main() -> None:
        async with sessions_of(tmp_path, fake_spec(**{step: act})) as sessions:
            with pytest.raises(DapError, match=problem):
                await start(sessions, tmp_path)
            assert sessions.last is None

    asyncio.run(main())


def test_a_refused_launch_says_why(tmp_path: Path) -> None:
    async def main() -> None:
        async with sessions_of(tmp_path, fake_spec(launch={"fail": "no such interpreter"})) as sessions:
            with pytest.raises(DapError, match=r"^no such interpreter$"):
                await start(sessions, tmp_path)

    asyncio.run(main())


def test_a_hanging_launch_ends_in_time(tmp_path: Path) -> None:
    async def main() -> None:
        async with sessions_of(tmp_path, fake_spec(launch={"hang": True}, ignoreTerm=True)) as sessions:
            with pytest.raises(DapError, match="DAP request launch timed out after 1000ms"):
                await start(sessions, tmp_path, timeout_s=1.0)

    asyncio.run(main())


def test_a_request_without_an_answer_keeps_the_session(tmp_path: Path) -> None:
    async def main() -> None:
        async with sessions_of(tmp_path, fake_spec(evaluate={"hang": True})) as sessions:
            session = await start(sessions, tmp_path)
            with pytest.raises(DapError, match="DAP request evaluate timed out after 50ms"):
                await session.request("evaluate", {"expression": "1"}, 0.05)
            assert (await session.request("threads", None, HANG_S))["threads"]
            assert session.status == "stopped"

    asyncio.run(main())


def test_a_program_that_keeps_running_can_be_paused(tmp_path: Path) -> None:
    async def main() -> None:
        async with sessions_of(tmp_path, fake_spec(**{"continue": {"events": []}})) as sessions:
            session = await start(sessions, tmp_path)
            assert await session.go("continue", 0.05) == "running"
            assert session.status == "running"
            assert await session.pause(HANG_S) == "stopped"
            assert await session.pause(HANG_S) == "stopped"

    asyncio.run(main())


def test_only_one_session_is_active(tmp_path: Path) -> None:
    async def main() -> None:
        async with sessions_of(tmp_path, fake_spec()) as sessions:
            first = await start(sessions, tmp_path)
            with pytest.raises(
                DapError, match=r"Debug session 1 is still active\. Terminate it before launching another\."
            ):
                await start(sessions, tmp_path)
            await first.end()
            second = await start(sessions, tmp_path)
            assert [row.status for row in sessions.summaries()] == ["terminated", "stopped"]
            assert second.id == "2"

    asyncio.run(main())


def test_a_killed_adapter_ends_the_session(tmp_path: Path) -> None:
    async def main() -> None:
        async with sessions_of(tmp_path, fake_spec(evaluate={"kill": True})) as sessions:
            session = await start(sessions, tmp_path)
            with pytest.raises(DapError, match="fake ended with signal 9"):
                await session.request("evaluate", {"expression": "1"}, HANG_S)
            assert session.status == "terminated"
            assert "signal 9" in session.summary().why_ended
            with pytest.raises(DapError, match="No active debug session"):
                sessions.active()

    asyncio.run(main())


def test_an_unused_session_is_ended(tmp_path: Path) -> None:
    async def main() -> None:
        async with sessions_of(tmp_path, fake_spec(), idle_s=0.05) as sessions:
            session = await start(sessions, tmp_path)
            await until(lambda: session.is_over, HANG_S, lambda: "the session did not end")
            assert "not used" in session.summary().why_ended

    asyncio.run(main())


def test_child_programs_are_debugged_too(tmp_path: Path) -> None:
    """As js-debug does it: only the child has threads and stops, and the breakpoints are set there."""
    log = tmp_path / "log"
    configuration = {"program": str(tmp_path / "main.x"), "stopOnEntry": True, "child": True}
    child = {"request": "launch", "configuration": configuration}
    script = {"save": str(log), "launch": {"ask": [["startDebugging", child]]}}

    async def main() -> None:
        spec = fake_spec("server", **script)
        async with sessions_of(tmp_path, spec) as sessions:
            row = BreakpointRow(path=str(tmp_path / "main.x"), line=2)
            session = await start(sessions, tmp_path, breakpoints=[("source", row)])
            await until(lambda: session.status == "stopped" and len(session.targets) > 1, HANG_S, lambda: "?")
            await until(lambda: asked(log).count("configurationDone") == 2, HANG_S, lambda: str(asked(log)))
            assert session.summary().children == 1

    asyncio.run(main())
    assert asked(log).count("setBreakpoints") == 2


def test_a_program_in_a_terminal_runs_through_the_runner(tmp_path: Path) -> None:
    given = {
        "kind": "integrated",
        "args": ["sh", "-c", "echo $WORD"],
        "env": {"WORD": "hello"},
        "cwd": str(tmp_path),
    }
    answers = tmp_path / "answers"
    script = {
        "threads": {
            "ask": [["runInTerminal", given], ["nonsense", {}], ["runInTerminal", {"args": ["/no/such"]}]]
        },
        "saveAnswers": str(answers),
    }

    async def main() -> None:
        async with sessions_of(tmp_path, fake_spec(**script)) as sessions:
            session = await start(sessions, tmp_path)
            await session.request("threads", None, HANG_S)
            await until(lambda: "hello" in session.output.text(), HANG_S, lambda: session.output.text())
            await until(
                lambda: answers.exists() and len(answers.read_text().splitlines()) == 3,
                HANG_S,
                lambda: "no answers",
            )

    asyncio.run(main())
    told = {row["command"]: row for row in map(json.loads, answers.read_text().splitlines())}
    assert told["nonsense"]["message"] == "tau does not support nonsense"
    rows = [json.loads(line) for line in answers.read_text().splitlines()]
    assert [row["success"] for row in rows if row["command"] == "runInTerminal"].count(True) == 1


def test_10_mb_of_output_are_cut_to_the_end(tmp_path: Path) -> None:
    async def main() -> None:
        async with sessions_of(tmp_path, fake_spec(threads={"flood": 10})) as sessions:
            session = await start(sessions, tmp_path)
            await session.request("threads", None, HANG_S)
            await until(lambda: "the end" in session.output.text(), HANG_S, lambda: "no end")
            assert session.output.truncated and session.output.bytes <= 128 * 1024

    asyncio.run(main())


def test_a_flood_of_reverse_requests_ends_the_adapter(tmp_path: Path) -> None:
    flood = [["runInTerminal", {"args": ["true"]}]] * 500

    async def main() -> None:
        async with sessions_of(tmp_path, fake_spec(threads={"ask": flood})) as sessions:
            session = await start(sessions, tmp_path)
            await session.request("threads", None, HANG_S)
            await until(lambda: session.is_over, HANG_S, lambda: "it goes on")
            assert "asks faster" in session.why_ended

    asyncio.run(main())


def test_output_keeps_its_end_and_its_labels() -> None:
    ring = OutputRing(max_bytes=20)
    for category, text in (("stdout", "a" * 15), ("stderr", "b\n"), ("important", "c\n"), ("stdout", "d\n")):
        ring.add(category, text)
    assert ring.text() == "[stderr] b\n[console] c\n[stdout] d" or ring.truncated
    seen = ring.total_pieces
    ring.add("stdout", "new\n")
    assert ring.text(since=seen) == "[stdout] new"
