"""Sessions shared with other processes and clients: locks, repeated requests, limits, idle sessions."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from tau.ai.faux import Act, Say
from tau.modes.serve import session_pool, session_routes
from tests.modes.serve.rig import Served, drive

# Holds the lock of a session file, as a tau with a screen does.
HOLD = """
import sys
from pathlib import Path
from tau.coding.session.storage.log import SessionLog
log = SessionLog.open(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.read()
"""


def test_session_that_another_process_writes_can_be_read_and_names_its_holder(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        id = await served.session()
        await served.ask(id, "hi")
        path = served.pool.live[id].host.session.log.path
        await served.pool.close_session(id)
        holder = subprocess.Popen(  # noqa: ASYNC220 - it starts at once
            [sys.executable, "-c", HOLD, str(path), "--mode", "rpc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert holder.stdin is not None and holder.stdout is not None
        try:
            await asyncio.to_thread(holder.stdout.readline)
            expected = {"pid": holder.pid, "face": "rpc"}
            client, base = served.client, f"/v1/sessions/{id}"
            view = (await client.get(f"{base}?messages=5")).json
            assert (view["session"]["holder"], view["state"]) == (expected, None)
            assert [one["message"]["role"] for one in view["page"]["messages"]] == ["user", "assistant"]
            for path_read in ("messages", "entries", "changes", "export?format=json"):
                assert (await client.get(f"{base}/{path_read}")).status == 200, path_read
            [row] = (await client.get("/v1/sessions")).json["sessions"]
            assert row["holder"] == expected
            for refused in (
                await served.command(id, "prompt", {"message": "x"}),
                await client.get(f"{base}/events"),
                await client.send("PATCH", base, b'{"name":"x"}'),
                await client.send("DELETE", base, None),
            ):
                assert (refused.status, refused.code) == (409, "session_locked"), refused
                assert refused.json["holder"] == expected
        finally:
            holder.communicate()
        await served.ask(id, "again")

    drive(tmp_path, [[Say("ok")]] * 2, work)


def test_repeated_prompt_with_the_same_key_is_sent_once(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        id = await served.session()

        async def send(message: str) -> tuple[int, dict[str, object]]:
            answer = await served.command(id, "prompt", {"message": message}, idempotency_key="k1")
            return answer.status, answer.json

        answers = await asyncio.gather(*(send("hi") for _ in range(5)))
        assert [status for status, _ in answers] == [200] * 5
        assert answers[0][1] == {"data": {"disposition": "started"}}
        assert (await send("other"))[0] == 409
        failed = await served.command(
            id, "set_model", {"provider": "x", "modelId": "y"}, idempotency_key="k2"
        )
        assert failed.status == 409
        named = await served.command(id, "set_session_name", {"name": "n"}, idempotency_key="k2")
        assert named.status == 200  # a failure may be repeated, with other content too

    faux = drive(tmp_path, [[Say("ok")]], work)
    assert len(faux.requests) == 1


def test_prompts_of_two_clients_are_not_mixed_up(tmp_path: Path) -> None:
    gate = asyncio.Event()

    async def work(served: Served) -> None:
        id = await served.session()
        async with served.client.events(id) as events:
            assert (await served.command(id, "prompt", {"message": "one"})).status == 200
            busy = await served.command(id, "prompt", {"message": "two"})
            assert (busy.status, "streamingBehavior" in busy.json["error"]) == (409, True)
            queued = await served.command(id, "follow_up", {"message": "three"})
            assert queued.json["data"] == {"disposition": "queued"}
            view = (await served.client.get(f"/v1/sessions/{id}")).json
            assert view["queue"] == {"steering": [], "followUp": ["three"]}
            gate.set()
            await events.until("agent_settled")

    faux = drive(tmp_path, [[Act(gate.wait), Say("ok")], [Say("ok")]], work)
    assert len(faux.requests) == 2


def test_idle_session_is_closed_and_opened_again_on_demand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_pool, "IDLE_S", -1)

    async def work(served: Served) -> None:
        unsaved, id = await served.session(), await served.session()
        await served.ask(id, "hi")
        async with served.client.events(id):
            await served.pool.close_idle()
            assert id in served.pool.live  # somebody watches it
        while served.pool.live[id].ring.readers:  # noqa: ASYNC110 - until the server notices
            await asyncio.sleep(0)
        await served.pool.close_idle()
        assert list(served.pool.live) == [unsaved]
        page = (await served.client.get(f"/v1/sessions/{id}/messages")).json
        assert len(page["messages"]) == 2
        assert list(served.pool.live) == [unsaved]  # reading does not take the lock
        await served.ask(id, "again")
        assert id in served.pool.live

    drive(tmp_path, [[Say("ok")]] * 2, work)


def test_sessions_and_readers_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_pool, "MAX_SESSIONS", 2)
    monkeypatch.setattr(session_routes, "MAX_READERS", 2)

    async def work(served: Served) -> None:
        first, second = await served.session(), await served.session()
        async with served.client.events(first), served.client.events(second):
            full = await served.client.post("/v1/sessions")
            assert (full.status, full.code) == (429, "too_many_sessions")
            full = await served.client.get(f"/v1/sessions/{first}/events")
            assert (full.status, full.code) == (429, "too_many_readers")
        while any(live.ring.readers for live in served.pool.live.values()):  # noqa: ASYNC110
            await asyncio.sleep(0)
        await served.session()  # in place of an idle one
        assert len(served.pool.live) == 2

    drive(tmp_path, [], work)


def test_stopping_the_server_ends_and_answers_running_commands(tmp_path: Path) -> None:
    started = tmp_path / "started"

    async def work(served: Served) -> None:
        id = await served.session()
        command = f"touch {started}; exec sleep 100"
        running = asyncio.create_task(served.command(id, "bash", {"command": command}))
        while not started.exists():  # noqa: ASYNC110 - until the command runs
            await asyncio.sleep(0)
        served.server.stop()
        assert (await running).json["data"]["cancelled"]

    drive(tmp_path, [], work)


def test_session_can_be_looked_at_while_a_command_replaces_it(tmp_path: Path) -> None:
    started = tmp_path / "started"

    async def work(served: Served) -> None:
        id = await served.session()
        await served.ask(id, "hi")
        command = f"trap '' TERM; touch {started}; sleep 100"  # the replaced session takes a while to end
        running = asyncio.create_task(served.command(id, "bash", {"command": command}))
        while not started.exists():  # noqa: ASYNC110 - until the command runs
            await asyncio.sleep(0)
        cloning = asyncio.create_task(served.command(id, "clone"))
        while not cloning.done():
            assert (await served.client.get("/v1/sessions")).status == 200
            await served.pool.close_idle()
        assert (await cloning).json["sessionId"] in served.pool.live
        await running

    drive(tmp_path, [[Say("ok")]], work)
