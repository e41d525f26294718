"""Thirty ways in which a guard fails: the call never runs unseen, and the answer names file and line."""

import json
from pathlib import Path
from typing import Any

import pytest

from tau.ai.faux import Say
from tests.coding.context import FakeUi
from tests.ext.hooks.rig import HookRun, bash, call, events, hook, user_hooks

ALLOW = '{"hookSpecificOutput":{"permissionDecision":"allow"}}'


def answer(**fields: Any) -> str:
    return f"echo '{json.dumps({'hookSpecificOutput': fields})}'"


FAULTS: dict[str, Any] = {
    "a command that is not there": hook("no-such-guard-anywhere"),
    "a script that is not there": hook("/nonexistent/guard.sh"),
    "a script of Python that is not there": hook("python3 /nonexistent/guard.py"),
    "a script of sh that is not there": hook("sh /nonexistent/guard.sh"),
    "a script of bash that is not there": hook("bash /nonexistent/guard.sh"),
    "a script of Perl that is not there": hook(
        "perl /nonexistent/guard.pl 2>&1 >/dev/null | cat >&2; exit 2"
    ),
    "a script without the permission to execute": hook("{folder}/plain"),
    "a folder as a script": hook("{folder}"),
    "a program without a shell that is not there": hook("no-such-guard", args=["x"]),
    "a file that is no program": hook("{folder}/binary", args=[]),
    "a syntax error of the shell": hook("if then"),
    "an exit with 1": hook("exit 1"),
    "an exit with 3 after an answer": hook(f"echo '{ALLOW}'; exit 3"),
    "an exception of Python": hook("python3 -c 'raise SystemExit(1)'"),
    "a signal": hook("kill -9 $$"),
    "an abort": hook("kill -ABRT $$"),
    "a time-out": hook("sleep 60", timeout=0.2),
    "a time-out that ignores TERM": hook("trap '' TERM; sleep 60", timeout=0.2),
    "a time-out after an answer": hook(f"echo '{ALLOW}'; sleep 60", timeout=0.2),
    "JSON that is cut off": hook("echo '{\"hookSpecificOutput\":{'"),
    "JSON with text before it": hook(f"echo Loading; echo '{ALLOW}'"),
    "JSON with text after it": hook(f"echo '{ALLOW}'; echo done"),
    "two answers": hook(f"echo '{ALLOW}'; echo '{ALLOW}'"),
    "an answer that is no text": hook('printf \'{"a":"\\377"}\''),
    "an unknown decision": hook(answer(permissionDecision="denied")),
    "a decision of the wrong type": hook(answer(permissionDecision=False)),
    "the answer to another event": hook(answer(hookEventName="PostToolUse", permissionDecision="allow")),
    "a decision in the wrong place": hook('echo \'{"permissionDecision":"deny"}\''),
    "more than an answer may be": hook("head -c 3000000 /dev/zero | tr '\\0' 'x'"),
    "endless output": hook("yes", timeout=30),
    "a command with a mistyped name": {"type": "command", "comand": "exit 2"},
    "a type that tau has not": {"type": "prompt", "prompt": "Is it fine?"},
    "an empty command": hook(" "),
    "a timeout that is no number": hook("exit 2", timeout="60"),
    "a hook that is no object": "exit 2",
    "a server that is not there": {"type": "http", "url": "http://127.0.0.1:9/"},
    "a server elsewhere": {"type": "http", "url": "http://guard.example/"},
    "an URL that is none": {"type": "http", "url": "file:///etc/passwd"},
}


def prepared(one: Any, folder: Path) -> Any:
    (folder / "plain").write_text("#!/bin/sh\nexit 2\n")
    (folder / "binary").write_bytes(b"\0\1\2")
    (folder / "binary").chmod(0o700)
    if isinstance(one, dict) and "command" in one:
        return {**one, "command": one["command"].replace("{folder}", str(folder))}
    return one


@pytest.mark.parametrize("fault", FAULTS)
def test_guard_that_fails_never_lets_a_call_through(fault: str, tmp_path: Path) -> None:
    path = user_hooks(events(PreToolUse=("Bash", prepared(FAULTS[fault], tmp_path))))
    work = tmp_path / "work"
    work.mkdir()
    run = HookRun(work, call(bash("touch made"))).go("go")
    assert not (work / "made").exists()
    assert run.results[0].is_error and f"{path}:" in run.result and "failed: " in run.result


BROKEN_FILES = {
    "cut off": '{"hooks": {"PreToolUse": [',
    "a list": '["PreToolUse"]',
    "hooks is a list": '{"hooks": ["PreToolUse"]}',
    "an event is an object": '{"hooks": {"PreToolUse": {"hooks": []}}}',
    "no hooks in the group": '{"hooks": {"PreToolUse": [{"matcher": "Bash"}]}}',
    "a hook without a group": '{"hooks": {"PreToolUse": [{"type": "command", "command": "exit 2"}]}}',
    "a matcher that is no pattern": json.dumps(events(PreToolUse=("(", hook("true")))),
}


@pytest.mark.parametrize("fault", BROKEN_FILES)
def test_broken_file_with_a_guard_blocks_calls_and_is_named(fault: str, tmp_path: Path) -> None:
    path = user_hooks(BROKEN_FILES[fault])
    run = HookRun(tmp_path, call(bash("touch made"))).go("go")
    assert not (tmp_path / "made").exists()
    assert str(path) in run.result and str(path) in run.notices


@pytest.mark.parametrize(
    ("choice", "runs"),
    [("Run it this time", True), ("Block it", False), (None, False), ("Disable the hook and run it", True)],
)
def test_user_decides_about_a_guard_that_fails(choice: str | None, runs: bool, tmp_path: Path) -> None:
    path = user_hooks(events(PreToolUse=("Bash", hook("exit 1"))))
    ui = FakeUi([choice] * 2)
    script = [[bash("touch made")], [bash("touch again")], [Say("done")]]
    run = HookRun(tmp_path, script, ui=ui).go("go")
    assert (tmp_path / "made").exists() == runs
    assert f"{path}:" in ui.asked[0] and "exited with code 1" in ui.asked[0]
    is_disabled = choice is not None and choice.startswith("Disable")
    assert len(ui.asked) == (1 if is_disabled else 2)
    assert len(run.results) == 2
    later = HookRun(tmp_path, call(bash("touch later"))).go("go")
    assert (tmp_path / "later").exists() == is_disabled and len(later.results) == 1


def test_setting_decides_for_all(tmp_path: Path) -> None:
    user_hooks(events(PreToolUse=[hook("exit 1")]))
    settings = {"tools.approvalMode": "yolo", "hooks.onError": "allow"}
    run = HookRun(tmp_path, call(bash("touch made")), settings=settings).go("go")
    assert (tmp_path / "made").exists() and "exited with code 1" in run.notices
    settings["hooks.onError"] = "block"
    HookRun(tmp_path, call(bash("touch other")), settings=settings, ui=FakeUi([])).go("go")
    assert not (tmp_path / "other").exists()


def test_deny_of_one_guard_counts_though_another_fails(tmp_path: Path) -> None:
    user_hooks(events(PreToolUse=[hook("exit 1"), hook("echo never >&2; exit 2")]))
    run = HookRun(tmp_path, call(bash("touch made")), ui=FakeUi([])).go("go")
    assert "never" in run.result


def test_guard_of_prompts_that_fails_keeps_the_prompt(tmp_path: Path) -> None:
    user_hooks(events(UserPromptSubmit=[hook("exit 1")]))
    run = HookRun(tmp_path, [[Say("ok")]]).go("go")
    assert not run.faux.requests and "exited with code 1" in str(run.error)


def test_other_hooks_that_fail_only_warn(tmp_path: Path) -> None:
    failing = [hook("exit 1")]
    user_hooks(events(PostToolUse=failing, Stop=failing, SessionStart=failing))
    run = HookRun(tmp_path, call(bash("touch made"))).go("go")
    assert (tmp_path / "made").exists() and len(run.faux.requests) == 2
    assert run.notices.count("exited with code 1") == 3
