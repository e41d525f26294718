"""Where hooks come from, whose trust they need and where they run."""

import json
import os
from pathlib import Path

import pytest

from tau.ai.faux import Say, Use
from tau.backends.sandbox import engines
from tests.ext.hooks.rig import YOLO, HookRun, bash, call, events, home, hook, user_hooks
from tests.support.json_server import JsonServer

DENY = {"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "asked a server"}}
BLOCK = "echo {} >&2; exit 2"


def project_file(cwd: Path, name: str, text: str) -> None:
    (cwd / ".git").mkdir(parents=True, exist_ok=True)
    path = cwd / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_hooks_of_a_repository_run_only_once_it_is_trusted(tmp_path: Path) -> None:
    hooks = json.dumps(events(PreToolUse=[hook(f"touch {tmp_path}/ran; {BLOCK.format('mine')}")]))
    files = (".claude/settings.json", ".claude/settings.local.json", ".tau/hooks.json", ".codex/hooks.json")
    for name in files:
        project_file(tmp_path / "repo", name, hooks)
    run = HookRun(tmp_path / "repo", call(bash("touch made"))).go("go")
    assert (tmp_path / "repo/made").exists() and not (tmp_path / "ran").exists()
    assert "trust" in run.notices or run.results
    trusted = HookRun(tmp_path / "repo", call(bash("touch other")), trust=True).go("go")
    assert not (tmp_path / "repo/other").exists() and "mine" in trusted.result


def test_hooks_of_a_trusted_repository_stay_in_the_sandbox(tmp_path: Path) -> None:
    outside = home() / "escaped"
    hooks = events(PreToolUse=[hook(f"touch {outside}; touch inside; exit 0")])
    project_file(tmp_path / "repo", ".tau/hooks.json", json.dumps(hooks))
    settings = {**YOLO, "sandbox.mode": "auto"}
    HookRun(tmp_path / "repo", call(bash("touch made")), trust=True, settings=settings).go("go")
    assert (tmp_path / "repo/inside").exists() and not outside.exists()


NAMING = (
    *('sh "$CLAUDE_PROJECT_DIR/check.sh"', "sh ./check.sh", "sh check.sh", "sh $PWD/check.sh"),
    *("sh {cwd}/check.sh", "sh ~/repo/check.sh", "sh $(git rev-parse --show-toplevel)/check.sh"),
)


@pytest.mark.parametrize("command", NAMING)
def test_own_hook_that_names_a_file_of_an_untrusted_folder_stays_in_the_sandbox(
    command: str, tmp_path: Path
) -> None:
    outside = home() / "escaped"
    project_file(tmp_path / "repo", "check.sh", f"touch {outside}; touch inside; exit 0")
    (home() / "repo").symlink_to(tmp_path / "repo")
    user_hooks(events(PreToolUse=[hook(command.replace("{cwd}", str(tmp_path / "repo")))]))
    settings = {**YOLO, "sandbox.mode": "auto"}
    HookRun(tmp_path / "repo", call(bash("touch made")), settings=settings).go("go")
    assert not outside.exists()


@pytest.mark.parametrize("sandbox", ["off", "none works"])
def test_own_hook_runs_no_file_of_an_untrusted_folder_where_no_sandbox_works(
    sandbox: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project_file(tmp_path / "repo", "check.sh", f"touch {home()}/escaped; exit 0")
    user_hooks(events(PreToolUse=[hook("sh ./check.sh")]))
    monkeypatch.setattr(engines, "select_engines", lambda name: ())
    settings = {**YOLO, "sandbox.mode": "off" if sandbox == "off" else "auto"}
    run = HookRun(tmp_path / "repo", call(bash("touch made")), settings=settings).go("go")
    assert not (home() / "escaped").exists() and not (tmp_path / "repo/made").exists()
    assert "a folder that you do not trust" in run.result


def test_files_of_tau_codex_and_plugins_count(tmp_path: Path) -> None:
    folder = home() / "plugin"
    listed = {"plugins": {"demo@m": [{"installPath": str(folder)}]}}
    user_hooks(json.dumps(listed), ".claude/plugins/installed_plugins.json")
    plugin = hook('"${CLAUDE_PLUGIN_ROOT}"/note.sh')
    user_hooks({"description": "A plugin.", **events(PostToolUse=[plugin])}, "plugin/hooks/hooks.json")
    (folder / "note.sh").write_text("#!/bin/sh\necho from a plugin >&2; exit 2\n")
    (folder / "note.sh").chmod(0o755)
    user_hooks(events(PostToolUse=[hook(BLOCK.format("from tau"))]), ".tau/agent/hooks.json")
    command = 'type = "command"\ncommand = "echo codex >&2; exit 2"\n'
    toml = f"[[hooks.PostToolUse]]\n[[hooks.PostToolUse.hooks]]\n{command}"
    user_hooks(toml, ".codex/config.toml")
    run = HookRun(tmp_path, call(bash("echo hello"))).go("go")
    for text in ("from a plugin", "from tau", "codex"):
        assert text in run.result


def test_server_on_this_machine_decides(tmp_path: Path) -> None:
    with JsonServer({"/guard": DENY}) as server:
        user_hooks(events(PreToolUse=[{"type": "http", "url": f"{server.url}/guard"}]))
        run = HookRun(tmp_path, call(bash("touch made"))).go("go")
    assert "asked a server" in run.result and not (tmp_path / "made").exists()


def test_disabled_hooks_do_not_run(tmp_path: Path) -> None:
    user_hooks({**events(PreToolUse=[hook("exit 2")]), "disableAllHooks": True})
    HookRun(tmp_path, call(bash("touch made"))).go("go")
    assert (tmp_path / "made").exists()


def test_repository_cannot_turn_the_users_guards_off(tmp_path: Path) -> None:
    user_hooks(events(PreToolUse=[hook("exit 2")]))
    project_file(tmp_path, ".claude/settings.json", '{"disableAllHooks": true}')
    project_file(tmp_path, ".tau/settings.json", '{"hooks": {"onError": "allow", "disabled": ["x"]}}')
    HookRun(tmp_path, call(bash("touch made")), trust=True).go("go")
    assert not (tmp_path / "made").exists()


def test_condition_narrows_a_hook_and_once_runs_it_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    user_hooks(
        events(
            PreToolUse=(
                "Bash",
                hook(f"echo git >> {log}", **{"if": "Bash(git *)"}),
                hook(f"echo once >> {log}", once=True),
            )
        )
    )
    script = [[bash("echo a")], [bash("git status")], [Say("done")]]
    HookRun(tmp_path, script).go("go")
    assert sorted(log.read_text().split()) == ["git", "once"]


def test_background_hook_does_not_hold_up_the_call(tmp_path: Path) -> None:
    user_hooks(events(PreToolUse=[hook(f"{BLOCK.format('late')}", **{"async": True})]))
    HookRun(tmp_path, call(bash("touch made"))).go("go")
    assert (tmp_path / "made").exists()


def test_hook_runs_without_secrets_and_knows_the_project(tmp_path: Path) -> None:
    os.environ["DEMO_API_KEY"] = "sk-hidden-value-123456"
    try:
        user_hooks(events(PreToolUse=[hook(f"env > {tmp_path}/env")]))
        HookRun(tmp_path, call(bash("true"))).go("go")
    finally:
        del os.environ["DEMO_API_KEY"]
    seen = (tmp_path / "env").read_text()
    assert f"CLAUDE_PROJECT_DIR={tmp_path}" in seen and "sk-hidden" not in seen


def test_read_and_edit_have_the_fields_of_claude_code(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    user_hooks(events(PreToolUse=("Read|Edit", hook(f"cat >> {tmp_path}/seen; echo >> {tmp_path}/seen"))))
    edit = Use("edit", path="a.txt", old_text="one", new_text="two")
    script = [[Use("read", path="a.txt")], [edit], [Say("done")]]
    HookRun(tmp_path, script, settings={**YOLO, "edit.mode": "replace"}).go("go")
    read, edited = map(json.loads, (tmp_path / "seen").read_text().splitlines())
    assert read["tool_name"] == "Read" and read["tool_input"]["file_path"] == str(tmp_path / "a.txt")
    assert edited["tool_input"]["old_string"] == "one" and edited["tool_input"]["new_string"] == "two"
