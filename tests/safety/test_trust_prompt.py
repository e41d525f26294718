"""Instructions of an untrusted repository are marked; trusted and empty projects cost nothing."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tau.config.paths import user_paths
from tau.config.trust import TrustStore
from tau.modes import trust_question
from tests.e2e.program import Program
from tests.support.fake_server import FakeServer

MARK = 'trusted="no"'


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    with FakeServer() as server:
        yield Program(server, tmp_path)


def prompt_of(program: Program, *flags: str) -> tuple[str, str]:
    """The system prompt of one run, and what it printed to stderr."""
    program.script("ok")
    ran = program.ask(*flags, "hi")
    assert ran.stdout.strip() == "ok"
    return json.dumps(program.server.requests[-1].body["messages"][0]["content"]), ran.stderr


def test_empty_project_has_no_mark_and_no_notice(program: Program) -> None:
    (program.home / "AGENTS.md").write_text("Mine.")
    prompt, notices = prompt_of(program)
    assert "Mine." in prompt and "trusted" not in prompt and notices == ""


def test_project_instructions_are_marked_until_the_repository_is_trusted(program: Program) -> None:
    (program.home / "AGENTS.md").write_text("Mine.")
    (program.project / "AGENTS.md").write_text("Theirs.")
    marked, notices = prompt_of(program)
    assert marked.replace("\\", "").count(MARK) == 2 and notices == ""  # the sentence and one file
    once, _ = prompt_of(program, "--trust")
    assert "Theirs." in once and "trusted" not in once
    assert MARK in prompt_of(program)[0].replace("\\", "")
    TrustStore(user_paths()).trust(program.project)
    trusted, _ = prompt_of(program)
    assert "Theirs." in trusted and "trusted" not in trusted


def test_headless_run_prints_one_notice_and_the_flag_silences_it(program: Program) -> None:
    (program.project / ".mcp.json").write_text('{"mcpServers": {"x": {"command": "y"}}}')
    _, notices = prompt_of(program)
    assert notices.count("not trusted") == 1 and ".mcp.json" in notices
    assert prompt_of(program, "--trust")[1] == ""
    assert not (program.home / "trust.json").exists()


def test_the_flag_does_not_trust_links_out_of_the_repository(program: Program) -> None:
    (program.project / ".tau").mkdir()
    (program.project / ".tau" / "hooks").symlink_to("/etc")
    _, notices = prompt_of(program, "--trust")
    assert "cannot be trusted" in notices


LYING = "echo ok \x1b];touch P;\x07 ; echo fine\x08\x08\u202e"
SHOWN = "echo ok <U+001B>];touch P;<U+0007> ; echo fine<U+0008><U+0008><U+202E>"


def test_a_command_cannot_hide_from_the_question_about_it(program: Program) -> None:
    command = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": LYING}]}]}}
    for name, content in (
        (".tau/hooks.json", command),
        (".mcp.json", {"mcpServers": {"m": {"command": "sh", "args": ["-c", LYING]}}}),
        ("lsp.json", {"servers": {"l": {"command": "sh", "args": ["-c", LYING], "fileTypes": [".py"]}}}),
        ("dap.json", {"adapters": {"l": {"command": "sh", "args": ["-c", LYING], "fileTypes": [".py"]}}}),
    ):
        path = program.project / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content))
    (program.project / ".claude/commands").mkdir(parents=True)
    (program.project / ".claude/commands/c.md").write_text(f"!`{LYING}`")
    asked = trust_question.question(TrustStore(user_paths()).status(program.project))
    assert asked.count(SHOWN) == 5
    assert f"!`{SHOWN}`" in program.run("trust", "show").stdout
    assert "touch P" in program.run("mcp", "get", "m").stdout
    (program.home / "hooks.json").write_text(json.dumps(command))
    assert SHOWN in program.run("hooks").stdout


def test_a_plugin_cannot_hide_what_it_runs(program: Program, tmp_path: Path) -> None:
    folder = tmp_path / "plugin"
    (folder / ".claude-plugin").mkdir(parents=True)
    (folder / "hooks").mkdir()
    (folder / ".claude-plugin/plugin.json").write_text(json.dumps({"name": "p", "description": LYING}))
    hooks = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": LYING}]}]}}
    (folder / "hooks/hooks.json").write_text(json.dumps(hooks))
    assert program.run("plugin", "install", str(folder), "--dry-run").stdout.count(SHOWN) == 2
