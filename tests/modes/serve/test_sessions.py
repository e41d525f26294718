"""Sessions over HTTP: create, drive, read, rename, delete."""

from pathlib import Path

import pytest

from tau.ai.faux import Say, Use
from tau.modes.session_commands.table import COMMANDS
from tests.modes.serve.rig import Served, drive

UNSUPPORTED = ("switch_session", "set_host_tools", "set_host_uri_schemes")
BODIES = {
    "switch_session": {"sessionPath": "x"},
    "set_host_tools": {"tools": []},
    "set_host_uri_schemes": {"schemes": []},
}


def test_prompt_streams_events_and_its_messages_are_there_afterwards(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        id = await served.session(name="Greeting")
        async with served.client.events(id) as events:
            answer = await served.command(id, "prompt", {"message": "hi"})
            assert answer.json == {"data": {"disposition": "started"}}
            seen = await events.until("agent_settled")
        numbers = [int(one.id.rpartition("-")[2]) for one in seen]
        assert numbers == list(range(numbers[0], numbers[0] + len(seen)))
        deltas = [one.data["assistantMessageEvent"] for one in seen if one.type == "message_update"]
        assert "".join(one["delta"] for one in deltas if one["type"] == "text_delta") == "Hello there"
        page = (await served.client.get(f"/v1/sessions/{id}/messages")).json
        assert [one["message"]["role"] for one in page["messages"]] == ["user", "assistant"]
        entries = [one.data["id"] for one in seen if one.type == "entry"]
        assert {one["entryId"] for one in page["messages"]} <= set(entries)
        [row] = (await served.client.get("/v1/sessions")).json["sessions"]
        assert (row["name"], row["open"], row["messageCount"]) == ("Greeting", True, 2)

    drive(tmp_path, [[Say("Hello there", 3)]], work)


def test_pages_of_messages_go_back_to_the_first(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        id = await served.session()
        for number in range(3):
            await served.ask(id, f"question {number}")
        texts: list[str] = []
        before = ""
        while True:
            page = (await served.client.get(f"/v1/sessions/{id}/messages?limit=4&before={before}")).json
            users = [one["message"] for one in page["messages"] if one["message"]["role"] == "user"]
            texts = [one["content"] for one in users] + texts
            if "before" not in page:
                break
            before = page["before"]
        assert texts == ["question 0", "question 1", "question 2"]
        assert (await served.client.get(f"/v1/sessions/{id}/messages?before=nowhere")).status == 409

    drive(tmp_path, [[Say("ok")]] * 3, work)


def test_changes_of_a_session_are_diffs_and_can_be_undone(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")

    async def work(served: Served) -> None:
        id = await served.session()
        await served.ask(id, "write")
        changes = (await served.client.get(f"/v1/sessions/{id}/changes")).json
        found = {one["path"]: (one["status"], one["added"], one["removed"]) for one in changes["files"]}
        assert found == {"a.txt": ("changed", 1, 1), "new.txt": ("added", 1, 0)}
        assert "-one\n+two" in changes["files"][0]["diff"]
        texts = [
            (await served.client.get(f"/v1/sessions/{id}/changes/text?path={path}&side={side}")).data
            for path, side in (("a.txt", "before"), ("a.txt", "after"), ("new.txt", "before"))
        ]
        assert texts == [b"one\n", b"two\n", b""]
        other = await served.client.get(f"/v1/sessions/{id}/changes/text?path=../../etc/passwd")
        assert other.status == 404
        undone = await served.client.post(f"/v1/sessions/{id}/changes/undo", {"paths": ["a.txt"]})
        assert undone.status == 200, undone.data
        assert (tmp_path / "a.txt").read_text() == "one\n"
        changes = (await served.client.get(f"/v1/sessions/{id}/changes")).json
        assert ([one["path"] for one in changes["files"]], changes["canRedo"]) == (["new.txt"], True)
        assert (await served.client.post(f"/v1/sessions/{id}/changes/redo")).status == 200
        assert (tmp_path / "a.txt").read_text() == "two\n"

    script = [
        [Use("write", path="a.txt", content="two\n"), Use("write", path="new.txt", content="new\n")],
        [Say("done")],
    ]
    drive(tmp_path, script, work)


def test_fork_answers_with_the_id_of_the_new_session_and_moves_readers_there(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        id = await served.session()
        await served.ask(id, "first")
        await served.ask(id, "second")
        page = (await served.client.get(f"/v1/sessions/{id}/messages")).json
        second = next(one["entryId"] for one in page["messages"] if one["message"].get("content") == "second")
        view = (await served.client.get(f"/v1/sessions/{id}")).json
        async with served.client.events(id, view["lastEventId"]) as events:
            answer = (await served.command(id, "fork", {"entryId": second})).json
            [*_, last] = await events.until("reset")
            assert await events.next() is None
        assert answer["data"] == {"text": "second", "cancelled": False}
        assert answer["sessionId"] == last.data["sessionId"] != id
        forked = (await served.client.get(f"/v1/sessions/{answer['sessionId']}?messages=50")).json
        assert [one["message"]["role"] for one in forked["page"]["messages"]] == ["user", "assistant"]
        assert (await served.client.get(f"/v1/sessions/{id}")).json["state"]["messageCount"] == 4

    drive(tmp_path, [[Say("ok")]] * 2, work)


def test_commands_that_http_cannot_do_say_so(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        id = await served.session()
        await served.ask(id, "hi")
        refused = {}
        for name in COMMANDS:
            answer = await served.command(id, name, BODIES.get(name, {}))
            if answer.status == 409 and answer.code != "refused":
                refused[name] = answer.code
        assert refused == dict.fromkeys(BODIES, "unsupported")

    drive(tmp_path, [[Say("ok")]] * 9, work)


def test_deleted_session_is_gone(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        id = await served.session()
        await served.ask(id, "hi")
        assert (await served.client.send("DELETE", f"/v1/sessions/{id}", None)).status == 204
        assert (await served.client.get(f"/v1/sessions/{id}")).status == 404
        assert (await served.client.get("/v1/sessions")).json == {"sessions": []}

    drive(tmp_path, [[Say("ok")]], work)


@pytest.mark.parametrize("cwd", ["missing", "a\0b", "x" * 5000])
def test_session_in_no_folder_is_refused(cwd: str, tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        refused = await served.client.post("/v1/sessions", {"cwd": cwd})
        assert (refused.status, refused.code) == (404, "not_found")
        assert "There is no folder" in refused.json["error"] and len(refused.json["error"]) < 600
        id = await served.session()
        await served.ask(id, "hi")
        assert (await served.client.get(f"/v1/sessions/{id}/changes/text?path=%00&side=before")).status == 404

    drive(tmp_path, [[Say("ok")]], work)


def test_session_outside_the_root_does_not_exist(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    ids: list[str] = []

    async def start(served: Served) -> None:
        ids.append(await served.session())
        await served.ask(ids[0], "hi")

    async def look(served: Served) -> None:
        assert (await served.client.get(f"/v1/sessions/{ids[0]}")).status == 404
        assert (await served.client.get(f"/v1/sessions/{ids[0]}/messages")).status == 404
        assert (await served.client.get("/v1/sessions")).json == {"sessions": []}
        refused = await served.client.post("/v1/sessions", {"cwd": "../outside"})
        assert (refused.status, refused.code) == (403, "outside_root")

    drive(outside, [[Say("ok")]], start)
    drive(inside, [], look)
