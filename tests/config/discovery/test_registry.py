"""What providers supply: which item of a name wins, what is left out, and the sentence that says why."""

import json
import os
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pytest

from tau.config import trust_locations
from tau.config.discovery import registry
from tau.config.discovery.capabilities import CAPABILITIES, Item, Source
from tau.config.discovery.file_cache import FileCache, FileHead
from tau.config.discovery.plugins import plugin_patterns
from tau.config.discovery.providers import (
    PLUGIN,
    PROVIDERS,
    FileProvider,
    Kind,
    find_roots,
    has_any,
    may_name_servers,
)
from tau.config.discovery.registry import CapabilityRegistry, DiscoveryOptions, LoadContext
from tau.config.paths import user_paths


def put(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        text or f"---\nname: {path.parent.name}\ndescription: d\n---\nText of {path.parent.name}."
    )
    return path


@pytest.fixture
def home() -> Path:
    return Path(os.environ["HOME"])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    return tmp_path / "repo"


def discover(cwd: Path, **options: object) -> CapabilityRegistry:
    return CapabilityRegistry(cwd, user_paths(), DiscoveryOptions(**options))  # type: ignore[arg-type]


def states(discovery: CapabilityRegistry, kind: Kind) -> dict[str, str]:
    """The states of all items by path, relative to the folder above the project's or the home folder."""
    return {"/".join(item.path.parts[-4:]): item.state for item in discovery.all(kind)}


def why(discovery: CapabilityRegistry, kind: Kind = "skills") -> dict[str, str]:
    return {item.path.parent.name: item.why for item in discovery.all(kind)}


def test_nothing_is_found_where_nothing_is(tmp_path: Path) -> None:
    found = find_roots(tmp_path, user_paths())
    assert not has_any(found)
    assert [discover(tmp_path).all(kind) for kind in CAPABILITIES] == [[] for _ in CAPABILITIES]


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        (".tau/agent/skills/x/SKILL.md", "skills"),
        (".pi/agent/skills/x/SKILL.md", "skills"),
        (".omp/agent/skills/x/SKILL.md", "skills"),
        (".claude/skills/x/SKILL.md", "skills"),
        (".agents/skills/x/SKILL.md", "skills"),
        (".agent/skills/x/SKILL.md", "skills"),
        (".codex/skills/x/SKILL.md", "skills"),
        (".config/opencode/skills/x/SKILL.md", "skills"),
        (".gemini/skills/x/SKILL.md", "skills"),
        (".codex/prompts/x.md", "prompts"),
        (".config/opencode/command/x.md", "slash-commands"),
        (".cursor/rules/x.mdc", "rules"),
        (".codeium/windsurf/memories/global_rules.md", "rules"),
        (".claude/agents/x.md", "agents"),
        (".gemini/extensions/x/gemini-extension.json", "extensions"),
        (".claude.json", "mcps"),
        (".tau/agent/plugins/p/commands/x.md", "slash-commands"),
        (".codex/config.toml", "settings"),
    ],
)
def test_users_files_are_found(home: Path, tmp_path: Path, place: str, kind: Kind) -> None:
    put(home / place, "---\nname: x\ndescription: d\n---\ntext")
    (item,) = discover(tmp_path).items(kind)
    assert item.path == home / place and item.level == "user"


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        (".tau/skills/x/SKILL.md", "skills"),
        (".github/skills/x/SKILL.md", "skills"),
        (".github/copilot-instructions.md", "context-files"),
        (".github/instructions/x.instructions.md", "instructions"),
        (".github/prompts/x.prompt.md", "prompts"),
        (".clinerules/x.md", "rules"),
        (".windsurfrules", "rules"),
        (".windsurf/rules/x.md", "rules"),
        (".vscode/mcp.json", "mcps"),
        (".mcp.json", "mcps"),
        ("ssh.json", "ssh"),
        (".tau/extensions/x.py", "extension-modules"),
        (".tau/tools/x.py", "tools"),
        (".claude/hooks/pre/x.sh", "hooks"),
        (".gemini/GEMINI.md", "context-files"),
    ],
)
def test_projects_files_are_found_from_the_working_folder_up(project: Path, place: str, kind: Kind) -> None:
    put(project / place, "---\nname: x\ndescription: d\n---\ntext")
    (project / "inner").mkdir()
    (item,) = discover(project / "inner", trusted=True).items(kind)
    assert item.path == project / place and (item.level, item.rank) == ("project", 1)


def test_higher_priority_wins_and_the_other_is_listed_as_shadowed(home: Path, tmp_path: Path) -> None:
    put(home / ".agents/skills/x/SKILL.md")
    put(home / ".claude/skills/x/SKILL.md")
    discovery = discover(tmp_path)
    assert [item.path.parts[-4] for item in discovery.items("skills")] == [".claude"]
    loser = next(item for item in discovery.all("skills") if item.state == "shadowed")
    assert loser.path.parts[-4] == ".agents" and "/.claude/skills/x/SKILL.md has the same name." in loser.why


@pytest.mark.parametrize(("trusted", "winner"), [(False, ".claude"), (True, ".tau")])
def test_untrusted_project_takes_no_name_from_the_user(
    home: Path, project: Path, trusted: bool, winner: str
) -> None:
    put(home / ".claude/skills/x/SKILL.md")
    put(project / ".tau/skills/x/SKILL.md")
    (item,) = discover(project, trusted=trusted).items("skills")
    assert item.path.parts[-4] == winner


def test_one_file_under_several_names_counts_once(home: Path, tmp_path: Path) -> None:
    put(home / ".claude/skills/x/SKILL.md")
    (home / ".agents/skills").mkdir(parents=True)
    (home / ".agents/skills/x").symlink_to(home / ".claude/skills/x")
    (home / ".codex").mkdir()
    (home / ".codex/skills").symlink_to(home / ".claude/skills")
    discovery = discover(tmp_path)
    assert len(discovery.items("skills")) == 1
    assert sorted(item.why.partition(" /")[0] for item in discovery.all("skills")) == [
        "",
        *["It is the same file as"] * 2,
    ]


def test_disabled_providers_and_items_are_not_used(home: Path, tmp_path: Path) -> None:
    put(home / ".claude/skills/x/SKILL.md")
    put(home / ".agents/skills/y/SKILL.md")
    put(home / ".agents/skills/x/SKILL.md")
    off = discover(tmp_path, disabled_providers=["claude"], disabled_items=["skill:y"])
    assert [(item.path.parts[-4], item.name) for item in off.items("skills")] == [(".agents", "x")]
    assert set(states(off, "skills").values()) == {"active", "disabled"}


def test_item_without_a_source_is_skipped_with_a_warning(tmp_path: Path) -> None:
    def load(context: LoadContext, kind: Kind) -> Iterable[Item]:
        assert context.cwd == tmp_path and context.home == Path(os.environ["HOME"])
        yield Item(kind=kind, name="good", source=Source("mine", tmp_path, "user"), summary="text")
        yield Item(kind=kind, name="bad", source=None)

    discovery = discover(tmp_path)

    def fail(context: LoadContext, kind: Kind) -> Iterable[Item]:
        raise OSError("broken")

    discovery.register(FileProvider("mine", "Mine", 95), load)
    discovery.register(FileProvider("other", "Other", 96), fail)
    assert [item.name for item in discovery.items("rules")] == ["good"]
    assert sorted(discovery.warnings) == [
        "Mine: rules:bad does not say where it is from; skipped.",
        "Other: Loading rules failed: OSError('broken').",
    ]


def test_installed_plugins_of_claude_code_are_found(home: Path, tmp_path: Path) -> None:
    place = home / ".claude/plugins/cache/m/demo/1.0"
    put(place / "commands/hello.md", "Hello.")
    put(place / "skills/s/SKILL.md")
    put(
        home / ".claude/plugins/installed_plugins.json",
        f'{{"version": 2, "plugins": {{"demo@m": [{{"scope": "user", "installPath": "{place}"}}], "x": 7}}}}',
    )
    discovery = discover(tmp_path)
    assert [item.name for item in discovery.items("slash-commands")] == ["demo:hello"]
    assert [item.name for item in discovery.items("skills")] == ["s"]


RUNS = [kind for kind, capability in CAPABILITIES.items() if capability.runs]


def test_code_of_a_project_waits_for_trust_which_looks_at_each_place(project: Path) -> None:
    places = [
        (kind, f"{root.removeprefix('./')}/{pattern}".replace("/*/", "/x/").replace("*", "x"))
        for provider in PROVIDERS
        for kind in RUNS
        for roots, patterns in ((provider.roots, provider.finds), ((".",), provider.also))
        for root in roots
        if root.startswith(".")
        for pattern in patterns.get(kind, ())
        if not pattern.startswith(("~", "{"))
    ]
    assert len(places) > 50
    for _, place in places:
        path = put(project / place.removeprefix("./").replace("/./", "/"), "{}")
        assert trust_locations.configures_agents(path.relative_to(project.parent)), place
    for kind in RUNS:
        waiting = discover(project).all(kind)
        assert waiting and all(item.state == "waiting" and "tau trust" in item.why for item in waiting)
        assert not discover(project).items(kind)
        assert discover(project, trusted=True).items(kind)


def test_large_skill_is_refused_without_reading_it(home: Path, tmp_path: Path) -> None:
    path = put(home / ".claude/skills/x/SKILL.md")
    os.truncate(path, 100 * 2**20)
    assert why(discover(tmp_path)) == {"x": "The file is larger than 128 KiB."}


def test_pipes_loops_and_binary_files_are_refused(home: Path, project: Path) -> None:
    folder = home / ".claude/skills"
    for name in ("pipe", "loop", "dangling", "binary", "closed", "named"):
        (folder / name).mkdir(parents=True)
    os.mkfifo(folder / "pipe/SKILL.md")
    (folder / "loop/SKILL.md").symlink_to("SKILL.md")
    (folder / "dangling/SKILL.md").symlink_to("nowhere")
    (folder / "binary/SKILL.md").write_bytes(b"---\nname: x\0\n---\ntext")
    put(folder / "closed/SKILL.md", "---\nname: x\n")
    put(folder / "named/SKILL.md", "---\ndescription: d\nname: a b\n---\ntext")
    (folder / "circle").symlink_to(folder)
    assert why(discover(project)) == {
        "pipe": "Not a regular file.",
        "loop": "The file cannot be read: Too many levels of symbolic links.",
        "dangling": "It is a link to something that is not there.",
        "binary": "The file has a NUL character, so it is not text.",
        "closed": "The front matter has no closing line of three dashes.",
        "named": '"a b" is not a valid name: use letters, digits, "-" and "_".',
    }
    named = next(item for item in discover(project).all("skills") if item.path.parent.name == "named")
    assert named.line == 3


def test_link_out_of_the_project_is_not_followed(home: Path, project: Path) -> None:
    secret = put(home / "secret/SKILL.md")
    (project / ".claude/skills").mkdir(parents=True)
    (project / ".claude/skills/x").symlink_to(secret.parent)
    (project / ".tau").symlink_to(home / "secret")
    put(home / "secret/commands/y.md", "private")
    discovery = discover(project, trusted=True)
    assert discovery.items("skills") == [] and discovery.items("slash-commands") == []
    assert all("outside the project" in item.why for item in discovery.all("skills"))


def test_ten_thousand_skills_are_cut_with_one_sentence(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "MAX_ITEMS", 20)
    monkeypatch.setattr(registry, "MAX_ENTRIES", 30)
    for number in range(40):
        put(home / f".claude/skills/s{number:02}/SKILL.md")
    discovery = discover(tmp_path)
    assert len(discovery.items("skills")) == 20
    (warning,) = discovery.warnings
    assert warning.startswith("Claude Code: There are more than 20 skills in ") and "and others" in warning


def test_folders_of_the_users_home_are_never_a_projects(home: Path) -> None:
    put(home / ".claude/skills/x/SKILL.md")
    (home / ".git").mkdir()
    assert [item.level for item in discover(home).all("skills")] == ["user"]


def test_custom_folders_are_read_one_level_deep(home: Path, tmp_path: Path) -> None:
    put(tmp_path / "mine/a/SKILL.md")
    put(tmp_path / "mine/deep/b/SKILL.md")
    (item,) = discover(tmp_path, skill_folders=[tmp_path / "mine"]).items("skills")
    assert item.source == Source("custom", tmp_path / "mine/a/SKILL.md", "user")


def test_each_kind_is_scanned_once(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(home / ".claude/skills/x/SKILL.md")
    discovery = discover(tmp_path)
    found = discovery.all("skills")
    put(home / ".claude/skills/y/SKILL.md")
    assert discovery.all("skills") is found
    discovery.refresh()
    assert len(discovery.all("skills")) == 2


def test_folder_of_cline_is_not_read_as_a_rule_and_a_file_is(project: Path) -> None:
    put(project / ".clinerules/style.md", "Be brief.")
    assert [(item.name, item.state) for item in discover(project).all("rules")] == [("style", "active")]
    (project / ".clinerules/style.md").unlink()
    (project / ".clinerules").rmdir()
    put(project / ".clinerules", "Be brief.")
    put(project / ".cursorrules", "Be terse.")
    assert {item.name for item in discover(project).items("rules")} == {".clinerules", ".cursorrules"}


def test_system_prompt_of_the_working_folder_is_listed_as_the_one_in_use(home: Path, project: Path) -> None:
    own = put(home / ".claude/SYSTEM.md", "mine")
    outer = put(project / ".tau/SYSTEM.md", "outer")
    inner = put(project / "sub/.tau/SYSTEM.md", "inner")
    found = {item.path: item.state for item in discover(project / "sub", trusted=True).all("system-prompt")}
    assert found == {inner: "active", own: "shadowed", outer: "shadowed"}
    found = {item.path: item.state for item in discover(project / "sub").all("system-prompt")}
    assert found == {inner: "waiting", own: "active", outer: "shadowed"}


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        (".claude/settings.json", '{"hooks": {}}', False),
        (".claude/settings.json", '{"disabledMcpjsonServers": ["x"]}', True),
        (".claude/settings.json", '{"\\u006dcp": {}}', True),
        (".config/opencode/opencode.json", '{"mcp": {}}', True),
        (".codex/config.toml", "[mcp_servers.x]", True),
        (".cursor/mcp.json", "{}", True),
    ],
)
def test_servers_are_looked_for_only_where_a_file_may_name_some(
    file: str, text: str, expected: bool, home: Path, tmp_path: Path
) -> None:
    put(home / file, text)
    assert may_name_servers(find_roots(tmp_path, user_paths())) is expected


def test_settings_behind_a_link_are_left_to_the_reader_who_checks_it(project: Path, tmp_path: Path) -> None:
    secret = put(tmp_path / "secret", "nothing")
    (project / ".claude").mkdir()
    (project / ".claude/settings.json").symlink_to(secret)
    assert may_name_servers(find_roots(project, user_paths()))
    (project / ".claude/settings.json").unlink()
    os.mkfifo(project / ".claude/settings.json")
    assert not may_name_servers(find_roots(project, user_paths()))


def test_folders_that_are_scanned_at_once_share_one_cache(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the second start read some files again."""
    for name in (".tau", ".claude", ".agents", ".codex"):
        put(project / name / "skills" / f"skill-{name[1:]}" / "SKILL.md")
    together, loads = threading.Barrier(2), 0
    original = FileCache._load

    def load(cache: FileCache) -> dict[str, FileHead]:
        nonlocal loads
        loads += 1
        with suppress(threading.BrokenBarrierError):
            together.wait(timeout=0.05)  # another thread that begins now would not see what this one reads
        return original(cache)

    monkeypatch.setattr(FileCache, "_load", load)
    found = CapabilityRegistry(project, user_paths()).items("skills")
    assert len(found) == 4
    assert loads == 1


def test_path_of_a_manifest_that_is_too_long_is_ignored(tmp_path: Path) -> None:
    (tmp_path / ".claude-plugin").mkdir()
    content = {"name": "x", "skills": f"./{'a' * 5000}", "commands": "./more"}
    (tmp_path / ".claude-plugin/plugin.json").write_text(json.dumps(content))
    (tmp_path / "more").mkdir()
    patterns = plugin_patterns(tmp_path)
    assert patterns["skills"] == PLUGIN["skills"] and "more/**/*.md" in patterns["slash-commands"]
