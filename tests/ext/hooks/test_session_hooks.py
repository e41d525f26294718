"""Command hooks in a session: what each event gets, and what becomes of the answers."""

import json
from collections.abc import Sequence
from pathlib import Path

from tau import Session
from tau.ai.faux import Say, Use
from tests.ext.hooks.rig import HookRun, bash, call, events, hook, user_hooks

DENY = json.dumps(
    {"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no way"}}
)
PROMPTS = "grep -q secret && { echo leak >&2; exit 2; }; echo 'It is Monday'"


def test_hook_that_exits_with_2_blocks_the_call_and_the_model_reads_why(tmp_path: Path) -> None:
    user_hooks(events(PreToolUse=("Bash", hook("echo 'not here' >&2; exit 2"))))
    run = HookRun(tmp_path, call(bash("touch made"))).go("go")
    assert not (tmp_path / "made").exists()
    assert "not here" in run.result and run.results[0].is_error


def test_hook_that_has_no_objection_lets_the_call_run(tmp_path: Path) -> None:
    user_hooks(events(PreToolUse=("Bash", hook("exit 0"))))
    HookRun(tmp_path, call(bash("touch made"))).go("go")
    assert (tmp_path / "made").exists()


def test_hook_gets_the_call_in_the_form_of_claude_code(tmp_path: Path) -> None:
    user_hooks(events(PreToolUse=("Write", hook(f"cat > {tmp_path}/seen"))))
    HookRun(tmp_path, call(Use("write", path="a.txt", content="hi"))).go("go")
    seen = json.loads((tmp_path / "seen").read_text())
    assert seen["hook_event_name"] == "PreToolUse" and seen["tool_name"] == "Write"
    assert seen["tool_input"] == {"file_path": str(tmp_path / "a.txt"), "content": "hi"}
    assert seen["cwd"] == str(tmp_path) and seen["permission_mode"] == "bypassPermissions"
    assert seen["session_id"] and seen["transcript_path"].endswith(".jsonl")


def test_json_denies_with_its_reason(tmp_path: Path) -> None:
    user_hooks(events(PreToolUse=[hook(f"echo '{DENY}'")]))
    run = HookRun(tmp_path, call(bash("touch made"))).go("go")
    assert "no way" in run.result and not (tmp_path / "made").exists()


def test_allow_does_not_beat_the_policy(tmp_path: Path) -> None:
    allow = json.dumps({"hookSpecificOutput": {"permissionDecision": "allow"}})
    user_hooks(events(PreToolUse=[hook(f"echo '{allow}'")], PermissionRequest=[hook(f"echo '{allow}'")]))
    settings = {"tools.approvalMode": "ask"}
    run = HookRun(tmp_path, call(bash("touch made")), settings=settings).go("go")
    assert "needs the user's approval" in run.result and not (tmp_path / "made").exists()


def test_ask_asks_even_in_yolo_and_blocks_where_nobody_can_be_asked(tmp_path: Path) -> None:
    ask = json.dumps(
        {"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "sure?"}}
    )
    user_hooks(events(PreToolUse=[hook(f"echo '{ask}'")]))
    run = HookRun(tmp_path, call(bash("touch made"))).go("go")
    assert "sure?" in run.result and not (tmp_path / "made").exists()


def test_changed_input_runs_instead_and_the_model_sees_that(tmp_path: Path) -> None:
    update = json.dumps({"hookSpecificOutput": {"updatedInput": {"command": "touch other"}}})
    user_hooks(events(PreToolUse=("Bash", hook(f"echo '{update}'"))))
    run = HookRun(tmp_path, call(bash("touch made"))).go("go")
    assert (tmp_path / "other").exists() and not (tmp_path / "made").exists()
    assert "changed the arguments" in run.result


def test_changed_input_is_judged_again_by_the_other_hooks(tmp_path: Path) -> None:
    update = json.dumps({"hookSpecificOutput": {"updatedInput": {"command": "touch bad"}}})
    user_hooks(
        events(
            PreToolUse=(
                "Bash",
                hook(f"echo '{update}'"),
                hook("grep -q 'touch bad' && { echo never >&2; exit 2; }; exit 0"),
            )
        )
    )
    run = HookRun(tmp_path, call(bash("touch made"))).go("go")
    assert "never" in run.result and not (tmp_path / "bad").exists()


def test_hooks_after_a_call_add_to_its_result(tmp_path: Path) -> None:
    user_hooks(events(PostToolUse=("Bash", hook(f"cat > {tmp_path}/seen; echo 'run the tests' >&2; exit 2"))))
    run = HookRun(tmp_path, call(bash("echo hello"))).go("go")
    assert "hello" in run.result and "run the tests" in run.result
    assert "hello" in json.loads((tmp_path / "seen").read_text())["tool_response"]["stdout"]


def test_failed_call_has_its_own_event(tmp_path: Path) -> None:
    user_hooks(events(PostToolUseFailure=[hook(f"cat > {tmp_path}/seen")], PostToolUse=[hook("exit 2")]))
    HookRun(tmp_path, call(Use("read", path="missing"))).go("go")
    assert "missing" in json.loads((tmp_path / "seen").read_text())["error"]


def test_hook_on_prompts_adds_context_or_blocks(tmp_path: Path) -> None:
    user_hooks(events(UserPromptSubmit=[hook(PROMPTS)]))
    run = HookRun(tmp_path, [[Say("ok")]]).go("What day?", "a secret")
    assert "It is Monday" in run.seen(0)
    assert len(run.faux.requests) == 1 and "leak" in str(run.error)


def test_session_start_adds_context_once(tmp_path: Path) -> None:
    user_hooks(events(SessionStart=("startup", hook("echo 'Branch: main'"))))
    run = HookRun(tmp_path, [[Say("ok")], [Say("ok")]]).go("one", "two")
    assert run.seen(1).count("Branch: main") == 1


def test_stop_hook_continues_at_most_five_times(tmp_path: Path) -> None:
    user_hooks(events(Stop=[hook(f"cat >> {tmp_path}/seen; echo 'run the tests' >&2; exit 2")]))
    run = HookRun(tmp_path, [[Say("ok")]] * 9).go("go")
    assert len(run.faux.requests) == 6 and "run the tests" in run.seen(1)
    lines = (tmp_path / "seen").read_text().replace("}{", "}\n{").splitlines()
    assert [json.loads(line)["stop_hook_active"] for line in lines] == [False] + [True] * 5
    assert "kept the agent from stopping" in run.notices


def test_continue_false_stops_the_run(tmp_path: Path) -> None:
    answer = json.dumps({"continue": False, "stopReason": "enough"})
    user_hooks(events(PostToolUse=[hook(f"echo '{answer}'")]))
    run = HookRun(tmp_path, call(bash("echo hello"))).go("go")
    assert len(run.faux.requests) == 1 and "enough" in run.notices


def test_equal_commands_run_once_at_the_end_of_a_session(tmp_path: Path) -> None:
    once = hook(f"echo x >> {tmp_path}/count")
    user_hooks(events(SessionEnd=[once, once]))
    HookRun(tmp_path, [[Say("ok")]]).go("go")
    assert (tmp_path / "count").read_text() == "x\n"


def test_edit_of_several_files_shows_each_to_the_hooks(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / ".env").write_text("x = 1\n")
    user_hooks(events(PreToolUse=("Edit", hook("grep -q '\\.env' && { echo no >&2; exit 2; }; exit 0"))))
    edit = Use("ast_edit", ops=[{"pat": "x = 1", "out": "x = 2"}], paths=["a.py", ".env"])
    run = HookRun(tmp_path, call(edit), tools=("ast_edit", "read")).go("go")
    assert run.results and "x = 1" in (tmp_path / "a.py").read_text()


def test_hook_on_prompts_sees_what_the_user_says_meanwhile(tmp_path: Path) -> None:
    user_hooks(events(UserPromptSubmit=[hook(PROMPTS)]))

    class Steered(HookRun):
        async def work(self, session: Session, prompts: Sequence[str]) -> None:
            session.follow_up("a secret")
            session.follow_up("What day?")
            await session.prompt("one")

    run = Steered(tmp_path, [[Say("ok")]] * 3).go()
    assert len(run.faux.requests) == 2 and "leak" in run.notices
    assert "a secret" not in run.seen(1) and run.seen(1).count("It is Monday") == 2
