"""The permissions of a running session: the mode and the rules change, and everybody learns of it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tau.agent.events import AgentEvent, PermissionsChanged
from tau.base.errors import ConfigError, TauError, UsageError
from tau.coding.approval.session_permissions import MODE_ENTRY, RuleStore, SessionPermissions
from tau.coding.session.entries import CustomEntry, ModeChange
from tau.config.settings import APPROVAL_MODES, ToolsSettings
from tau.modes.permissions_report import run_command
from tests.coding.context import CallContext


class MemoryStore(RuleStore):
    def __init__(self, error: TauError | None = None) -> None:
        self.rules: list[tuple[str, str]] = []
        self._error = error

    def add(self, action: Any, patterns: Sequence[str]) -> None:
        if self._error is not None:
            raise self._error
        self.rules += [(action, pattern) for pattern in patterns]

    def remove(self, action: Any, pattern: str) -> bool:
        found = (action, pattern) in self.rules
        self.rules = [rule for rule in self.rules if rule != (action, pattern)]
        return found


def permissions_of(
    ctx: CallContext, store: RuleStore | None = None, **tools: Any
) -> tuple[SessionPermissions, list[PermissionsChanged]]:
    told: list[PermissionsChanged] = []

    def hear(event: AgentEvent) -> None:
        if isinstance(event, PermissionsChanged):
            told.append(event)

    environment = ctx.environment
    environment.events.subscribe(hear)
    made = SessionPermissions(
        ToolsSettings(**tools), environment.plan, ctx.log, environment.events.emit, root=ctx.cwd, store=store
    )
    environment.plan.changed = lambda on: made.announce()
    return made, told


def test_every_mode_can_be_chosen_and_is_announced_once(ctx: CallContext) -> None:
    permissions, told = permissions_of(ctx)
    for mode in ("ask", "plan", "plan", "yolo", "workspace"):
        permissions.set_mode(mode)
        assert permissions.mode == permissions.current.mode == mode
    assert [event.mode for event in told] == ["ask", "plan", "yolo", "workspace"]
    with pytest.raises(UsageError, match=r'Unknown mode "always"\. Modes: ask, workspace, plan, yolo'):
        permissions.set_mode("always")


def test_plan_is_plan_mode_itself(ctx: CallContext) -> None:
    permissions, told = permissions_of(ctx, approval_mode="ask")
    plan = ctx.environment.plan
    permissions.set_mode("plan")
    assert plan.on
    plan.leave()  # the plan was approved
    assert permissions.mode == "ask"
    plan.enter()
    permissions.set_mode("yolo")
    assert not plan.on and permissions.mode == "yolo"
    assert [event.mode for event in told] == ["plan", "ask", "plan", "yolo"]


def test_session_can_start_in_plan_mode(ctx: CallContext) -> None:
    permissions, _ = permissions_of(ctx, approval_mode="plan")
    assert ctx.environment.plan.on and permissions.mode == "plan"
    ctx.environment.plan.leave()
    assert permissions.mode == "workspace"


def test_key_never_leads_to_yolo(ctx: CallContext) -> None:
    permissions, _ = permissions_of(ctx)
    assert [permissions.cycle_mode() for _ in range(4)] == ["ask", "plan", "workspace", "ask"]
    permissions.set_mode("yolo")
    assert permissions.cycle_mode() == "workspace"


def test_changes_of_the_mode_are_in_the_log(ctx: CallContext) -> None:
    permissions, _ = permissions_of(ctx)
    permissions.set_mode("yolo")
    permissions.set_mode("plan")
    entries = [entry for _, entry in ctx.log.entries()]
    assert [
        entry.data for entry in entries if isinstance(entry, CustomEntry) and entry.custom_type == MODE_ENTRY
    ] == [{"mode": "yolo"}]
    assert [entry.mode for entry in entries if isinstance(entry, ModeChange)] == ["plan"]
    assert ctx.log.messages() == []


def test_rules_are_added_stored_and_removed(ctx: CallContext) -> None:
    store = MemoryStore()
    permissions, told = permissions_of(ctx, store, deny=["run: sudo"])
    permissions.add_rule("ask", "run: git push")
    permissions.add_rule("deny", "read: ./.env")
    assert store.rules == [("ask", "run: git push"), ("deny", "read: ./.env")]
    assert told[-1] == PermissionsChanged("workspace", [], ["run: git push"], ["run: sudo", "read: ./.env"])
    assert permissions.remove_rule("read: ./.env") == "deny"
    assert permissions.patterns("deny") == ("run: sudo",)
    with pytest.raises(UsageError, match="not in your settings file; it stays"):
        permissions.remove_rule("run: sudo")  # a project's
    assert permissions.patterns("deny") == ("run: sudo",)
    with pytest.raises(UsageError, match="There is no rule"):
        permissions.remove_rule("run: other")


@pytest.mark.parametrize(
    "pattern", ["nonsense", "run:", "fly: away", "write: x", "run: 'x", "write: /a/../b", "a\x1bb"]
)
def test_invalid_rules_are_refused_with_the_reason(ctx: CallContext, pattern: str) -> None:
    permissions, told = permissions_of(ctx)
    for action in ("allow", "ask", "deny"):
        with pytest.raises(UsageError, match="is invalid"):
            permissions.add_rule(action, pattern)  # type: ignore[arg-type]
    assert not told


def test_relative_rules_are_below_the_project(ctx: CallContext, tmp_path: Path) -> None:
    permissions, _ = permissions_of(ctx, deny=["write: ./src/**"])
    deny = permissions.current.deny
    assert deny is not None
    assert deny.write(ctx.cwd / "src" / "a") and not deny.write(tmp_path / "other" / "src" / "a")


# what is typed after /permissions, and the reply
COMMANDS = [
    ("yolo", "Permission mode yolo: asks only where a rule says so."),
    ("ask", "Permission mode ask: asks before every write, command and connection."),
    ("allow run: make test", "Added to tools.allow: run: make test"),
    ("ask run: git push", "Added to tools.ask: run: git push"),
    ("deny  tool: ssh", "Added to tools.deny: tool: ssh"),
]


@pytest.mark.parametrize(("typed", "reply"), COMMANDS)
def test_command_changes_the_mode_and_the_rules(ctx: CallContext, typed: str, reply: str) -> None:
    permissions, _ = permissions_of(ctx, MemoryStore())
    assert run_command(permissions, typed) == reply


def test_command_shows_the_mode_and_the_rules(ctx: CallContext) -> None:
    permissions, _ = permissions_of(ctx, MemoryStore())
    assert "There are no rules." in run_command(permissions, "")
    for typed in ("allow run: make", "deny run: sudo", "ask run: git push", "remove run: make"):
        run_command(permissions, typed)
    assert run_command(permissions, "").splitlines() == [
        "Permission mode workspace: allows reads, writes inside the workspace and contained commands.",
        "Change it with /permissions ask, plan or yolo.",
        "Denied (tools.deny):",
        "  run: sudo",
        "Always asks (tools.ask):",
        "  run: git push",
    ]


@pytest.mark.parametrize("typed", ["nonsense", "allow", "remove", "yolo now", "deny"])
def test_wrong_use_of_the_command_is_explained(ctx: CallContext, typed: str) -> None:
    permissions, told = permissions_of(ctx)
    with pytest.raises(UsageError, match="Usage: /permissions"):
        run_command(permissions, typed)
    assert not told


def test_rule_that_cannot_be_stored_holds_for_the_session(ctx: CallContext) -> None:
    permissions, _ = permissions_of(ctx, MemoryStore(ConfigError("The file is damaged.")))
    assert run_command(permissions, "deny run: x") == "Added for this session only. The file is damaged."
    assert permissions.patterns("deny") == ("run: x",)


def test_modes_have_descriptions(ctx: CallContext) -> None:
    permissions, _ = permissions_of(ctx)
    for mode in APPROVAL_MODES:
        permissions.set_mode(mode)
        assert run_command(permissions, "").startswith(f"Permission mode {mode}: ")
