"""Open questions are state: shown on connect, answered by one client, closed for all."""

from pathlib import Path

from tau.ai.faux import Say, Use
from tests.modes.serve.rig import Served, drive

WRITE = [[Use("write", path="a.txt", content="new\n")], [Say("done")]]
ASK = {"settings": {"tools.approvalMode": "ask"}}


def test_approval_is_answered_by_one_client_and_closed_for_the_other(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        id = await served.session()
        async with served.client.events(id) as one, served.client.events(id) as other:
            await served.command(id, "prompt", {"message": "write"})
            [*_, opened] = await one.until("question_opened")
            question = opened.data["question"]
            approval = question["approval"]
            assert (approval["tool"], approval["heading"]) == ("write", "Allow this write?")
            assert {"name": "content", "text": "new\n"} in approval["arguments"]
            values = [choice["value"] for choice in approval["choices"]]
            assert values == ["once", "session", "always", "no"]
            view = (await served.client.get(f"/v1/sessions/{id}")).json
            assert [one["id"] for one in view["questions"]] == [question["id"]]
            assert view["session"]["needsYou"] and view["session"]["busy"]
            path = f"/v1/sessions/{id}/questions/{question['id']}"
            assert (await served.client.post(path, {"value": "once"})).status == 204
            again = await served.client.post(path, {"value": "no"})
            assert (again.status, again.code) == (404, "not_found")
            for events in (one, other):
                [*_, closed] = await events.until("question_closed")
                assert closed.data == {"type": "question_closed", "id": question["id"], "by": "client"}
                await events.until("agent_settled")
        async with served.client.events(id) as late:
            await served.command(id, "set_session_name", {"name": "x"})
            assert "question_opened" not in [one.type for one in await late.until("session_info_changed")]
        assert (await served.client.get(f"/v1/sessions/{id}")).json["questions"] == []

    drive(tmp_path, WRITE, work, **ASK)
    assert (tmp_path / "a.txt").read_text() == "new\n"


def test_declining_tells_the_model_why(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        id = await served.session()
        async with served.client.events(id) as events:
            await served.command(id, "prompt", {"message": "write"})
            [*_, opened] = await events.until("question_opened")
            path = f"/v1/sessions/{id}/questions/{opened.data['question']['id']}"
            await served.client.post(path, {"value": "no", "reason": "wrong folder"})
            ended = (await events.until("tool_execution_end"))[-1].data
            assert ended["isError"] and "wrong folder" in ended["result"]["content"][0]["text"]

    drive(tmp_path, WRITE, work, **ASK)
    assert not (tmp_path / "a.txt").exists()


def test_question_of_a_stopped_run_is_closed(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        id = await served.session()
        async with served.client.events(id) as events:
            await served.command(id, "prompt", {"message": "write"})
            await events.until("question_opened")
            assert (await served.command(id, "abort")).status == 200
            [*_, closed] = await events.until("question_closed")
            assert closed.data["by"] == "agent"
        assert (await served.client.get(f"/v1/sessions/{id}")).json["questions"] == []

    drive(tmp_path, WRITE, work, **ASK)


def test_question_of_the_agent_is_a_select(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        id = await served.session()
        async with served.client.events(id) as events:
            await served.command(id, "prompt", {"message": "ask"})
            [*_, opened] = await events.until("question_opened")
            question = opened.data["question"]
            assert (question["method"], question["options"][:2]) == ("select", ["red", "blue"])
            path = f"/v1/sessions/{id}/questions/{question['id']}"
            for mistake in ({}, {"value": "green"}, {"confirmed": True}):
                assert (await served.client.post(path, mistake)).code == "invalid_request"
            assert (await served.client.post(path, {"value": "blue"})).status == 204
            ended = (await events.until("tool_execution_end"))[-1].data
            assert "chose blue" in ended["result"]["content"][0]["text"]

    asked = [{"id": "color", "question": "Which color?", "options": [{"label": "red"}, {"label": "blue"}]}]
    drive(tmp_path, [[Use("ask", questions=asked)], [Say("ok")]], work)


def test_dismissing_an_approval_stops_the_run(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        id = await served.session()
        async with served.client.events(id) as events:
            await served.command(id, "prompt", {"message": "write"})
            [*_, opened] = await events.until("question_opened")
            path = f"/v1/sessions/{id}/questions/{opened.data['question']['id']}"
            await served.client.post(path, {"cancelled": True})
            assert (await events.until("agent_settled"))[-1].data["aborted"]

    drive(tmp_path, WRITE, work, **ASK)
    assert not (tmp_path / "a.txt").exists()
