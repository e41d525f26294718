"""A whole session with the scripted model: real tools, real files, a real log."""

import asyncio
import json
from pathlib import Path

import pytest

from tau.agent.events import AgentEvent
from tau.agent.hooks import Hooks, ToolQuestion
from tau.ai.faux import Act, Fail, Faux, Say, Use, Wait
from tau.ai.wire import AssistantMessage, TextContent, ToolResultMessage, UserMessage
from tau.base.errors import ProviderError, TauError, UsageError
from tau.coding.session.storage.log import SessionLog
from tau.hashline.snapshots import tag_of
from tau.sdk import SessionOptions, session_factory
from tests.agent.agent_rig import names, until
from tests.coding.session.rig import scripted
from tests.e2e.program import is_alive

BUSY = ProviderError("busy, come back", status=529, retryable=True)


def texts(message: object) -> str:
    assert isinstance(message, ToolResultMessage)
    return "".join(part.text for part in message.content if isinstance(part, TextContent))


def test_model_reads_edits_and_runs_in_the_folder(tmp_path: Path) -> None:
    text = "one\ntwo\n"
    (tmp_path / "a.txt").write_text(text)
    script = [
        [Use("read", path="a.txt")],
        [
            Use("edit", input=f"¶a.txt#{tag_of(text)}\nreplace 2..2:\n+three"),
            Use("write", path="d/b.txt", content="new\n"),
        ],
        [Use("bash", command="cat a.txt d/b.txt")],
        [Say("Done.")],
    ]

    async def main() -> None:
        opening, _ = scripted(script, tmp_path)
        async with opening as session:
            outcome = await session.prompt("go")
            assert outcome.message is not None and outcome.message.text == "Done."
            read, *_, bash = [texts(m) for m in outcome.messages if isinstance(m, ToolResultMessage)]
            assert "two" in read
            assert "one\nthree\nnew" in bash

    asyncio.run(main())


def test_session_resumes_where_it_stopped(tmp_path: Path) -> None:
    async def main() -> None:
        opening, _ = scripted([[Say("First.")]], tmp_path)
        async with opening as session:
            await session.prompt("one")
            id = session.log.header.id
        for how in ({"continue_recent": True}, {"resume": id}, {"resume": id[:30]}):
            opening, faux = scripted([[Say("Next.")]], tmp_path, **how)
            async with opening as session:
                await session.prompt("two")
            first, *_ = faux.requests[0].messages
            assert isinstance(first, UserMessage) and first.content == "one"
        [path] = (tmp_path / "sessions").glob("*.jsonl")
        kinds = [json.loads(line)["type"] for line in path.read_text().splitlines()]
        assert kinds.count("message") == 8
        assert kinds.count("model_change") == 1

    asyncio.run(main())


def test_without_saving_there_is_no_file(tmp_path: Path) -> None:
    async def main() -> None:
        opening, _ = scripted([[Use("bash", command="seq 100000")], [Say("x")]], tmp_path, save=False)
        async with opening as session:
            await session.prompt("one")
        assert not (tmp_path / "sessions").exists()

    asyncio.run(main())


def test_nothing_to_continue(tmp_path: Path) -> None:
    async def main() -> None:
        for how in ({"continue_recent": True}, {"resume": "abc"}, {"resume": "./no.jsonl"}):
            opening, _ = scripted([[Say("x")]], tmp_path, **how)
            with pytest.raises(UsageError, match=r"(?i)no session"):
                async with opening:
                    pytest.fail("it opened")

    asyncio.run(main())


def test_transient_failure_is_retried(tmp_path: Path) -> None:
    async def main() -> None:
        opening, faux = scripted([[Say("We"), Fail(BUSY)], [Fail(BUSY)], [Say("Well.")]], tmp_path)
        events: list[AgentEvent] = []
        async with opening as session:
            session.subscribe(events.append)
            outcome = await session.prompt("go")
        assert outcome.error is None
        assert outcome.message is not None and outcome.message.text == "Well."
        assert [name for name in names(events) if "retry" in name] == [
            "auto_retry_start",
            "auto_retry_start",
            "auto_retry_end",
        ]
        assert all(request.messages == faux.requests[0].messages for request in faux.requests)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("error", "requests"),
    [
        (BUSY, 3),
        (ProviderError("no such model", status=404), 1),
        (ProviderError("too long", status=400, retryable=True, overflow=True), 1),
        (ProviderError("come back tomorrow", status=429, retryable=True, retry_after=86_400), 1),
    ],
)
def test_retries_are_limited(tmp_path: Path, error: ProviderError, requests: int) -> None:
    async def main() -> None:
        opening, faux = scripted([[Fail(error)]], tmp_path)
        async with opening as session:
            outcome = await session.prompt("go")
            assert outcome.error is not None and str(outcome.error).startswith(str(error))
            assert len(faux.requests) == requests
            assert not session.busy

    asyncio.run(main())


def test_retry_wait_can_be_stopped(tmp_path: Path) -> None:
    async def main() -> None:
        slow = {"retry.baseDelayMs": 60_000}
        opening, _ = scripted([[Fail(BUSY)]], tmp_path, settings=slow)
        async with opening as session:

            def stop(event: AgentEvent) -> None:
                if names([event]) == ["auto_retry_start"]:
                    asyncio.get_running_loop().call_later(0.01, session.abort)

            session.subscribe(stop)
            outcome = await session.prompt("go")
            assert outcome.aborted and not session.busy

    asyncio.run(main())


def test_aborted_answer_is_kept_and_the_next_prompt_works(tmp_path: Path) -> None:
    async def main() -> None:
        opening, faux = scripted([[Say("Half"), Act(lambda: session.abort()), Wait()], [Say("ok")]], tmp_path)
        async with opening as session:
            outcome = await session.prompt("go")
            assert outcome.aborted
            kept = session.log.messages()[-1]
            assert isinstance(kept, AssistantMessage) and kept.text == "Half"
            assert (await session.prompt("go on")).error is None
            assert [type(m) for m in faux.requests[1].messages] == [
                UserMessage,
                AssistantMessage,
                UserMessage,
            ]

    asyncio.run(main())


def test_aborted_command_is_killed(tmp_path: Path) -> None:
    async def main() -> None:
        script = [[Use("bash", command="echo $$ > pid; sleep 1000")], [Say("x")]]
        opening, _ = scripted(script, tmp_path)
        async with opening as session:
            async with asyncio.TaskGroup() as group:
                running = group.create_task(session.prompt("go"))
                while not running.done():
                    if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip():
                        session.abort()
                    await asyncio.sleep(0.01)
            assert running.result().aborted
            assert not is_alive(int((tmp_path / "pid").read_text()))

    asyncio.run(main())


def test_busy_session_refuses_a_second_prompt(tmp_path: Path) -> None:
    async def main() -> None:
        opening, _ = scripted([[Wait(0.05), Say("x")]], tmp_path)
        async with opening as session, asyncio.TaskGroup() as group:
            group.create_task(session.prompt("one"))
            await asyncio.sleep(0)
            with pytest.raises(TauError, match="is busy"):
                await session.prompt("two")
            session.follow_up("three")

    asyncio.run(main())


def test_failing_listener_does_not_fail_the_run(tmp_path: Path) -> None:
    async def main() -> None:
        opening, _ = scripted([[Say("x")]], tmp_path)
        async with opening as session:
            session.subscribe(lambda event: 1 / 0)  # type: ignore[arg-type,return-value]
            assert (await session.prompt("go")).error is None

    asyncio.run(main())


def test_write_outside_the_workspace_is_refused_without_a_ui(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    target = tmp_path / "outside.txt"

    async def main() -> None:
        opening, _ = scripted([[Use("write", path=str(target), content="x")], [Say("ok")]], folder)
        async with opening as session:
            outcome = await session.prompt("go")
        [result] = [m for m in outcome.messages if isinstance(m, ToolResultMessage)]
        assert result.is_error and "approval" in texts(result)
        assert not target.exists()

    asyncio.run(main())


def test_caller_hooks_see_the_prompt_and_may_refuse_a_call(tmp_path: Path) -> None:
    class Strict(Hooks):
        async def input(self, message: UserMessage) -> UserMessage | None:
            return UserMessage(f"{message.content}!", message.timestamp)

        async def before_tool(self, question: ToolQuestion) -> str | None:
            return f"No {question.call.name} here."

    async def main() -> None:
        script = [[Use("write", path="a.txt", content="x")], [Say("Done.")]]
        opening, faux = scripted(script, tmp_path, hooks=(Strict(),))
        async with opening as session:
            await session.prompt("Go")
            messages = session.log.messages()
        (result,) = [message for message in messages if isinstance(message, ToolResultMessage)]
        texts = [part.text for part in result.content if isinstance(part, TextContent)]
        assert texts == ["No write here."]
        assert faux.requests[0].messages[0].content == "Go!"
        assert not (tmp_path / "a.txt").exists()

    asyncio.run(main())


def test_added_folder_belongs_to_the_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, other = tmp_path / "project", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))

    async def main() -> None:
        script = [[Use("write", path=str(other / "x.txt"), content="x")], [Say("ok")]]
        opening, faux = scripted(script, folder, add_dirs=(other,))
        async with opening as session:
            await session.prompt("go")
        assert (other / "x.txt").read_text() == "x"
        assert f"Also in the workspace: {other}" in faux.requests[0].system

    asyncio.run(main())


def test_model_can_ask_another_model_about_a_picture(tmp_path: Path) -> None:
    (tmp_path / "dot.gif").write_bytes(
        b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00!\xf9\x04\x01\x00\x00\x00\x00,"
        b"\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
    )
    script = [
        [Use("inspect_image", path="dot.gif", question="What is it?")],
        [Say("A white dot.")],  # the answer of the vision model
        [Say("It is a dot.")],
    ]

    async def main() -> None:
        settings = {"inspectImage.enabled": True}
        opening, faux = scripted(script, tmp_path, settings=settings)
        async with opening as session:
            outcome = await session.prompt("go")
        [result] = [m for m in outcome.messages if isinstance(m, ToolResultMessage)]
        assert texts(result) == "A white dot."
        assert faux.requests[1].tools == []

    asyncio.run(main())


def test_session_factory_creates_child_sessions(tmp_path: Path) -> None:
    async def main() -> None:
        faux = Faux([[Say("Yes.")]])
        options = SessionOptions(cwd=tmp_path, stream=faux.stream, save=False)
        make = session_factory(options)
        async with make(cwd=tmp_path / "sub", model=None, tools=["read"], system_prompt="Be brief.") as child:
            await child.prompt("go")
        assert [tool.name for tool in faux.requests[0].tools] == ["read"]
        assert faux.requests[0].system.startswith("Be brief.")

    (tmp_path / "sub").mkdir()
    asyncio.run(main())


def test_closing_a_session_stops_its_run_and_records_it(tmp_path: Path) -> None:
    async def main() -> None:
        talking = asyncio.Event()
        opening, _ = scripted([[Say("Half"), Act(talking.set), Wait()]], tmp_path)
        async with asyncio.TaskGroup() as group, opening as session:
            running = group.create_task(session.prompt("go"))
            await talking.wait()
        assert running.result().aborted
        reopened = SessionLog.open(next((tmp_path / "sessions").glob("*.jsonl")))
        kept = reopened.messages()[-1]
        reopened.close()
        assert isinstance(kept, AssistantMessage) and kept.text == "Half"

    asyncio.run(main())


@pytest.mark.parametrize(
    ("settings", "variable", "parameters"),
    [
        ({}, "", {"input"}),
        ({"edit.mode": "replace"}, "", {"path", "old_text", "new_text", "replace_all"}),
        ({"edit.modelModes": {"fau*": "replace"}}, "", {"path", "old_text", "new_text", "replace_all"}),
        ({"edit.modelModes": {"gpt-*": "replace"}}, "", {"input"}),
        ({"edit.mode": "replace"}, "patch", {"input"}),
    ],
)
def test_edit_mode_is_set_globally_per_model_or_per_run(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, object],
    variable: str,
    parameters: set[str],
) -> None:
    monkeypatch.setenv("TAU_EDIT_MODE", variable)

    async def main() -> None:
        opening, faux = scripted([[Say("ok")]], tmp_path, settings=settings, tools=("edit",))
        async with opening as session:
            await session.prompt("go")
        [edit] = faux.requests[0].tools
        assert set(edit.parameters["properties"]) == parameters

    asyncio.run(main())


def test_unknown_edit_mode_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAU_EDIT_MODE", "telepathy")

    async def main() -> None:
        opening, _ = scripted([[Say("ok")]], tmp_path)
        with pytest.raises(UsageError, match="hashline, replace, apply_patch, patch"):
            async with opening:
                pytest.fail("it opened")

    asyncio.run(main())


def test_a_closed_session_says_so(tmp_path: Path) -> None:
    async def main() -> None:
        opening, _ = scripted([[Say("hi")]], tmp_path)
        async with opening as session:
            await session.prompt("go")
        with pytest.raises(TauError, match="closed"):
            await session.prompt("go on")

    asyncio.run(main())


def test_failing_input_hook_blocks_the_message(tmp_path: Path) -> None:
    class Broken(Hooks):
        async def input(self, message: UserMessage) -> UserMessage | None:
            raise ZeroDivisionError

    async def main() -> None:
        opening, faux = scripted([[Say("hi")]], tmp_path, hooks=(Broken(),))
        async with opening as session:
            with pytest.raises(TauError, match="ZeroDivisionError"):
                await session.prompt("go")
            assert not session.busy
        assert faux.requests == []

    asyncio.run(main())


def test_session_stops_running_work_and_takes_a_new_prompt(tmp_path: Path) -> None:
    async def main() -> None:
        opening, faux = scripted([[Say("Half"), Wait()], [Say("Now.")]], tmp_path)
        async with opening as session, asyncio.TaskGroup() as group:
            first = group.create_task(session.prompt("go"))
            await until(lambda: session.busy)
            session.follow_up("and then")
            outcome = await session.abort_and_prompt("rather this")
            assert (await first).aborted
            assert outcome.message is not None and outcome.message.text == "Now."
            sent_texts = [m.content for m in faux.requests[-1].messages if isinstance(m, UserMessage)]
            assert sent_texts == ["go", "rather this", "and then"]

    asyncio.run(main())


def test_prompt_can_be_consumed_as_events(tmp_path: Path) -> None:
    async def main() -> None:
        opening, _ = scripted([[Say("hi")]], tmp_path)
        async with opening as session:
            reported = [event.__struct_config__.tag async for event in session.stream("go")]
            assert (reported[0], reported[-1]) == ("agent_start", "agent_settled")

    asyncio.run(main())
