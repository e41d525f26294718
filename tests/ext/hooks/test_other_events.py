"""Hooks around compaction, notifications and approvals: what they get, and what their answer does."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tau import Session
from tau.ai.faux import Say, Use
from tau.base.errors import TauError
from tau.ext.hooks import command_hooks
from tests.coding.context import FakeUi
from tests.coding.session.compaction.rig import GOOD
from tests.ext.hooks.rig import HookRun, bash, call, events, hook, user_hooks
from tests.support.idle import until
from tests.support.limits import HANG_S

ASK = {"tools.approvalMode": "ask"}
LONG = "word " * 4_000


class Compacting(HookRun):
    """Compacts after the prompts, with a focus."""

    refused = ""

    async def work(self, session: Session, prompts: Sequence[str]) -> None:
        await super().work(session, prompts)
        try:
            await session.compact("keep names")
        except TauError as error:
            self.refused = str(error)


def script() -> list[list[Say]]:
    return [[Say(LONG)], [Say(LONG)], *([Say(GOOD)] for _ in range(4))]


def saved(path: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads(path.read_text())
    return found


def test_hooks_see_a_compaction_before_and_after(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    user_hooks(
        events(
            PreCompact=("manual", hook(f"cat > {before}")),
            PostCompact=[hook(f"cat > {after}")],
        )
    )
    run = Compacting(tmp_path, script(), settings={"compaction.keepRecentTokens": 1_000})
    run.go("one", "two")
    assert run.refused == ""
    seen = saved(before)
    assert seen["hook_event_name"] == "PreCompact" and seen["trigger"] == "manual"
    assert seen["custom_instructions"] == "keep names"
    assert saved(after)["trigger"] == "manual" and "Mend the parser." in saved(after)["compact_summary"]


def test_hook_refuses_a_compaction_with_its_reason(tmp_path: Path) -> None:
    user_hooks(events(PreCompact=[hook("echo 'not now' >&2; exit 2")]))
    run = Compacting(tmp_path, script(), settings={"compaction.keepRecentTokens": 1_000}).go("one", "two")
    assert run.refused and "A hook refused the compaction: not now" in run.notices
    assert len(run.faux.requests) <= 3


def test_hook_for_automatic_compaction_does_not_see_a_manual_one(tmp_path: Path) -> None:
    user_hooks(events(PreCompact=("auto", hook("exit 2"))))
    run = Compacting(tmp_path, script(), settings={"compaction.keepRecentTokens": 1_000}).go("one", "two")
    assert run.refused == ""


@pytest.mark.parametrize("decision", ["deny", "allow"])
def test_hook_may_deny_a_request_for_approval_but_never_grant_it(decision: str, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    behavior = {"behavior": decision, "message": "not on Fridays"}
    answer = json.dumps({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": behavior}})
    user_hooks(events(PermissionRequest=("Bash", hook(f"cat > {seen}; echo '{answer}'"))))
    ui = FakeUi([None] * 3)
    run = HookRun(tmp_path, call(bash("touch made")), settings=ASK, ui=ui).go("go")
    assert not (tmp_path / "made").exists()
    assert saved(seen)["hook_event_name"] == "PermissionRequest"
    assert json.loads(seen.read_text())["tool_input"]["command"] == "touch made"
    assert ("not on Fridays" in run.result) == (decision == "deny")
    assert bool(ui.asked) == (decision == "allow")


def test_request_for_approval_that_exits_with_2_is_denied(tmp_path: Path) -> None:
    user_hooks(events(PermissionRequest=[hook("echo no >&2; exit 2")]))
    ui = FakeUi([])
    run = HookRun(tmp_path, call(bash("touch made")), settings=ASK, ui=ui).go("go")
    assert not ui.asked and "a hook denied it: no" in run.result


def test_hook_is_notified_when_approval_is_needed(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    user_hooks(events(Notification=("permission_prompt", hook(f"cat > {seen}.part; mv {seen}.part {seen}"))))

    class Waiting(HookRun):
        async def work(self, session: Session, prompts: Sequence[str]) -> None:
            await super().work(session, prompts)
            await until(seen.exists, HANG_S, lambda: "The hook was not notified.")

    Waiting(tmp_path, call(bash("touch made")), settings=ASK, ui=FakeUi([None])).go("go")
    assert saved(seen)["notification_type"] == "permission_prompt"
    assert "tau needs your approval to" in saved(seen)["message"]


def test_hook_is_notified_when_tau_waits_for_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_hooks, "IDLE_S", 0.01)
    seen = tmp_path / "seen"
    user_hooks(events(Notification=("idle_prompt", hook(f"cat > {seen}.part; mv {seen}.part {seen}"))))

    class Waiting(HookRun):
        async def work(self, session: Session, prompts: Sequence[str]) -> None:
            await super().work(session, prompts)
            await until(seen.exists, HANG_S, lambda: "The hook was not notified.")

    Waiting(tmp_path, [[Say("done")]]).go("go")
    assert saved(seen)["notification_type"] == "idle_prompt"


def test_hook_that_fails_on_a_notification_only_warns(tmp_path: Path) -> None:
    user_hooks(events(PermissionRequest=[hook("exit 1")], PreCompact=[hook("exit 1")]))
    ui = FakeUi([None])
    run = HookRun(tmp_path, [[Use("bash", command="touch made")], [Say("done")]], settings=ASK, ui=ui).go(
        "go"
    )
    assert ui.asked and "PermissionRequest hook" in run.notices and "exited with code 1" in run.notices
