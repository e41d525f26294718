"""Plan mode: what the model may do, where the plan is, and how the user approves it."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tau.agent.effects import Effects
from tau.agent.ui import Ui
from tau.ai.faux import FAUX_MODEL, FauxStep, Say, Use
from tau.base.errors import TauError, ToolError
from tau.coding.model_resolver import ResumedModel
from tau.coding.plan.mode import MAX_PLAN_BYTES, PlanMode, resumed_model
from tau.coding.plan.review import (
    APPROVE,
    KEEP,
    REJECT,
    Plan,
    PlanAnswer,
    file_stem,
    refusal,
    title_of,
)
from tau.coding.session.entries import ModeChange
from tau.coding.session.storage.log import SessionLog
from tests.coding.context import FakeDialogs, FakeUi
from tests.coding.session_rig import SessionRig

PLAN = "# Mend the leak\n\n1. Close the file in `a.py`.\n"
WRITE = Use("write", path="local://plan.md", content=PLAN)
SUBMIT = Use("resolve", action="apply", reason="ready")


class Person(FakeUi):
    """Answers `select` and `input` from two lists."""

    def __init__(self, answers: Sequence[str | None], words: Sequence[str | None] = ()) -> None:
        super().__init__(answers)
        self.words = list(words)

    async def input(self, title: str, placeholder: str = "", *, timeout: float | None = None) -> str | None:
        return self.words.pop(0)


def planning(script: Any, folder: Path, ui: Ui | None = None, **options: Any) -> SessionRig:
    work = SessionRig(script, folder, ui=ui, **options)
    work.plan.enter()
    return work


def test_plan_is_written_approved_and_carried_out(tmp_path: Path) -> None:
    person = Person([APPROVE])
    do = Use("write", path="done.txt", content="done")
    work = planning([[WRITE], [SUBMIT], [do], [Say("Done.")]], tmp_path, person)
    work.go("plan it")
    assert (tmp_path / "done.txt").read_text() == "done"
    assert person.asked == ['Carry out the plan "Mend the leak" (local://plan.md)?']
    assert not work.plan.on and work.plan.approved == "local://mend-the-leak.md"
    assert "The user approved the plan; it is saved at local://mend-the-leak.md." in work.results[1]


def test_plan_mode_offers_read_only_tools_and_instructs_the_model(tmp_path: Path) -> None:
    work = planning([[WRITE], [SUBMIT], [Say("Done.")]], tmp_path, Person([APPROVE]))
    work.go()
    before, _, after = work.faux.requests
    names = {tool.name for tool in before.tools}
    assert "read" in names and "bash" not in names and "echo" not in names
    assert "Plan mode is on" in before.system and "local://plan.md" in before.system
    assert after.system == "You work." and {tool.name for tool in after.tools} >= {"bash", "echo"}


def test_model_with_the_plan_role_makes_the_plan(tmp_path: Path) -> None:
    planner = replace(FAUX_MODEL, id="planner")
    work = planning([[WRITE], [SUBMIT], [Say("ok")]], tmp_path, Person([APPROVE]), plan_model=planner)
    work.go()
    assert [model.id for model in work.asked] == ["planner", "planner", "faux"]


def test_only_the_plan_can_be_written(tmp_path: Path) -> None:
    calls = [
        Use("write", path="a.txt", content="x"),
        Use("write", path="local://other.md", content="x"),
        Use("bash", command="touch b.txt"),
    ]
    work = planning([calls, [Say("ok")]], tmp_path)
    work.go()
    assert not list(tmp_path.glob("*.txt"))
    assert work.results[0] == "Plan mode is on: only local://plan.md can be written."
    assert work.results[1] == work.results[0] and 'no tool named "bash"' in work.results[2]


def test_rejected_plan_is_revised_and_submitted_again(tmp_path: Path) -> None:
    person = Person([REJECT, APPROVE], ["  Tests first. "])
    work = planning([[WRITE], [SUBMIT], [WRITE], [SUBMIT], [Say("ok")]], tmp_path, person)
    work.go()
    assert work.results[1].startswith("The user sent the plan back: Tests first.\n")
    assert not work.plan.on


@pytest.mark.parametrize(
    ("answers", "words"), [([KEEP], []), ([None], []), ([REJECT], [None]), ([REJECT], [" "])]
)
def test_undecided_user_keeps_planning(
    tmp_path: Path, answers: list[str | None], words: list[str | None]
) -> None:
    work = planning([[WRITE], [SUBMIT], [Say("ok")]], tmp_path, Person(answers, words))
    work.go()
    assert work.plan.on and work.results[1].startswith("The user wants to keep planning.")


def test_without_a_ui_the_plan_is_the_answer(tmp_path: Path) -> None:
    work = planning([[WRITE], [SUBMIT], [Say("The plan: ...")]], tmp_path)
    work.go()
    assert work.plan.on and work.results[1].startswith("This mode cannot ask.")


def test_rich_ui_shows_the_whole_plan(tmp_path: Path) -> None:
    class Screen(FakeDialogs):
        async def review_plan(self, plan: Plan) -> PlanAnswer:
            return PlanAnswer("approve" if "a.py" in plan.text else "keep")

    work = planning([[WRITE], [SUBMIT], [Say("ok")]], tmp_path, Person([]), dialogs=Screen())
    work.go()
    assert not work.plan.on


def test_cannot_submit_without_a_plan(tmp_path: Path) -> None:
    work = planning([[SUBMIT], [Say("ok")]], tmp_path, Person([]))
    work.go()
    assert work.results == ["There is no plan yet; write it to local://plan.md first."]


def test_plan_size_is_bounded(tmp_path: Path) -> None:
    work = planning([[Say("ok")]], tmp_path)
    folder = work.artifacts.scratch(make=True)
    assert folder is not None
    folder.mkdir()
    (folder / "plan.md").write_text("x" * (MAX_PLAN_BYTES + 1))
    with pytest.raises(ToolError, match="longer than 256"):
        work.plan.plan()
    work.artifacts.close()


def test_discarded_plan_can_be_submitted_later(tmp_path: Path) -> None:
    discard = Use("resolve", action="discard", reason="not yet")
    work = planning([[WRITE], [discard], [SUBMIT], [Say("ok")]], tmp_path, Person([APPROVE]))
    work.go()
    assert work.results[1] == "Discarded: the plan. Nothing was changed." and not work.plan.on


def test_each_approved_plan_keeps_its_own_name(tmp_path: Path) -> None:
    script: list[list[FauxStep]] = [[WRITE], [SUBMIT], [Say("ok")]]
    work = planning(script, tmp_path, Person([APPROVE, APPROVE]))

    async def main() -> None:
        await work.prompt()
        first = work.plan.approved
        work.plan.enter()
        with pytest.raises(ToolError, match="no plan yet"):
            work.plan.plan()
        work.follow(script)
        await work.prompt()
        assert (first, work.plan.approved) == ("local://mend-the-leak.md", "local://mend-the-leak-2.md")

    try:
        asyncio.run(main())
    finally:
        work.artifacts.close()


def test_user_can_review_the_plan_at_any_time(tmp_path: Path) -> None:
    work = planning([[WRITE], [Say("ok")]], tmp_path)

    async def main() -> None:
        await work.prompt()
        kept = await work.plan.review(Person([KEEP]))
        assert kept.prompt == "" and work.plan.on
        sent_back = await work.plan.review(Person([REJECT], ["Shorter."]))
        assert "Shorter." in sent_back.prompt and work.plan.on
        approved = await work.plan.review(Person([APPROVE]))
        assert approved.prompt.startswith("The user approved") and not work.plan.on

    try:
        asyncio.run(main())
    finally:
        work.artifacts.close()


def test_plan_mode_follows_the_branch(tmp_path: Path) -> None:
    work = SessionRig([[Say("one")], [Say("two")]], tmp_path)
    work.go()
    before = work.log.leaf
    assert work.plan.toggle()
    work.go("plan")
    planned = work.log.leaf
    work.log.move(before)
    assert work.plan.model() is FAUX_MODEL and not work.plan.on
    work.log.move(planned)
    assert work.plan.toggle() is False


def test_plan_mode_is_saved_in_the_log(tmp_path: Path) -> None:
    log = SessionLog.new(tmp_path, tmp_path)
    planning([[Say("ok")]], tmp_path, log=log).go()
    log.close()
    assert log.path is not None
    again = SessionRig([[Say("ok")]], tmp_path, log=SessionLog.open(log.path))
    assert again.plan.toggle() is False
    kinds = [(e.mode, e.data) for _, e in again.log.entries() if isinstance(e, ModeChange)]
    assert kinds == [("plan", {"planFile": "local://plan.md", "model": "faux/faux"}), ("none", {})]
    again.log.close()


def test_resumed_session_uses_the_model_the_user_chose(tmp_path: Path) -> None:
    planner = replace(FAUX_MODEL, id="planner")
    work = planning([[Say("ok")]], tmp_path, plan_model=planner)
    work.go()
    assert work.log.context().model == ("faux", "planner")
    assert resumed_model(work.log) == ResumedModel("faux", "faux")
    work.plan.leave()
    assert resumed_model(work.log) == ResumedModel("faux", "planner")  # recorded by the session


def test_entering_twice_changes_nothing_and_leaving_is_reported(tmp_path: Path) -> None:
    work = SessionRig([[Say("ok")]], tmp_path)
    reported: list[bool] = []
    work.plan.changed = reported.append
    work.plan.enter()
    work.plan.enter()
    work.plan.leave()
    work.plan.leave()
    assert reported == [True, False]


def test_plan_mode_can_be_switched_off(tmp_path: Path) -> None:
    work = SessionRig([[Say("ok")]], tmp_path)
    plan = PlanMode(work.log, work.artifacts, work.models, enabled=False)
    with pytest.raises(TauError, match=r"plan\.enabled"):
        plan.enter()
    assert not plan.on


@pytest.mark.parametrize(
    ("tool", "arguments", "effects", "allowed"),
    [
        ("read", {"path": "a"}, Effects(reads=(Path("/a"),)), True),
        ("web_search", {"query": "a"}, Effects(network=("*",)), True),
        ("github", {"op": "repo_view"}, Effects(network=("github.com",)), True),
        ("github", {"op": "pr_create"}, Effects(publishes=("open a pull request",)), False),
        ("github", {"op": "pr_checkout"}, Effects(writes=(Path("/w/pr-1"),)), False),
        ("write", {"path": " local://plan.md "}, Effects(), True),
        ("write", {"path": "conflict://1"}, Effects(), False),
        ("write", {}, Effects(), False),
        ("lsp", {"action": "rename"}, Effects(writes=(Path("/a"),)), False),
        ("resolve", {"action": "apply"}, Effects(writes=(Path("/a"),)), False),
        ("read", {}, Effects(runs=("x",)), False),
        ("bash", {"command": "ls"}, Effects(), False),
        ("mcp__anything", {}, Effects(), False),
    ],
)
def test_tools_allowed_while_planning(
    tool: str, arguments: dict[str, Any], effects: Effects, allowed: bool
) -> None:
    sentence = refusal(tool, arguments, effects)
    assert (sentence is None) is allowed
    assert sentence is None or sentence.endswith(".")


@pytest.mark.parametrize(
    ("text", "title", "stem"),
    [
        ("intro\n\n## Mend: the *leak*!\n", "Mend: the *leak*!", "mend-the-leak"),
        ("just words\nmore", "just words", "just-words"),
        ("# Plan", "Plan", "approved-plan"),
        ("#\n", "Plan", "approved-plan"),
        ("# ../../etc/passwd", "../../etc/passwd", "etc-passwd"),
        ("# Größe ändern", "Größe ändern", "größe-ändern"),
    ],
)
def test_plan_is_named_after_its_heading(text: str, title: str, stem: str) -> None:
    assert title_of(text) == title
    assert file_stem(title) == stem
