"""Which copies of a plugin are used, and what its manifest adds."""

import asyncio
import json
from pathlib import Path

import pytest

from tau.ai.faux import Say, Use
from tau.backends.lsp.config import TABLE, find_servers
from tau.config.discovery.registry import CapabilityRegistry, DiscoveryOptions
from tau.config.paths import user_paths
from tau.config.program_markers import may_have_programs
from tau.config.settings import HooksSettings
from tau.ext.hooks.hook_files import load_hooks
from tests.ext.extensions.host import opened
from tests.ext.plugins.test_store import manage

HOOKS = {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "echo x >> $HOME/fired"}]}]}}


def hooked(folder: Path, manifest: dict[str, object] | None = None) -> Path:
    (folder / ".claude-plugin").mkdir(parents=True)
    (folder / ".claude-plugin" / "plugin.json").write_text(json.dumps({"name": "demo", **(manifest or {})}))
    (folder / "hooks").mkdir()
    (folder / "hooks" / "hooks.json").write_text(json.dumps(HOOKS))
    return folder


def installed_by_claude(folder: Path, *, enabled: bool = True, project: str = "") -> None:
    """As Claude Code 2.1.197 writes it."""
    home = Path.home() / ".claude"
    (home / "plugins").mkdir(parents=True)
    copy = {"scope": "user", "installPath": str(folder), "version": "1.0.0"}
    copy |= {"scope": "project", "projectPath": project} if project else {}
    listed = {"version": 2, "plugins": {"demo@market": [copy]}}
    (home / "plugins" / "installed_plugins.json").write_text(json.dumps(listed))
    (home / "settings.json").write_text(json.dumps({"enabledPlugins": {"demo@market": enabled}}))


def registry(cwd: Path) -> CapabilityRegistry:
    return CapabilityRegistry(cwd, user_paths(), DiscoveryOptions(trusted=True))


def test_the_hook_of_a_plugin_with_three_copies_fires_once(tmp_path: Path) -> None:
    plugins = manage(tmp_path)
    plugins.install(str(hooked(tmp_path / "src")))
    hooked(tmp_path / ".tau" / "plugins" / "demo")
    installed_by_claude(hooked(tmp_path / "claude"))

    async def main() -> None:
        replies = [[Use("bash", command="true")], [Say("ok")]]
        async with opened(tmp_path, "", replies, trust=True) as rig:
            await rig.session.prompt("go")

    asyncio.run(main())
    assert (Path.home() / "fired").read_text() == "x\n"
    plugins.remove("demo")
    [hook] = load_hooks(registry(tmp_path), HooksSettings()).hooks
    assert hook.level == "project"


@pytest.mark.parametrize(
    ("options", "count"), [({}, 1), ({"enabled": False}, 0), ({"project": "/elsewhere"}, 0)]
)
def test_plugins_that_claude_code_has_turned_off_are_not_used(
    options: dict[str, object], count: int, tmp_path: Path
) -> None:
    installed_by_claude(hooked(tmp_path / "claude"), **options)  # type: ignore[arg-type]
    assert len(load_hooks(registry(tmp_path), HooksSettings()).hooks) == count


def test_paths_and_tables_in_a_manifest_count(tmp_path: Path) -> None:
    source = hooked(
        tmp_path / "src",
        {
            "commands": ["./more/one.md", "./extra"],
            "skills": "./own/",
            "agents": "../out.md",
            "hooks": HOOKS["hooks"],
            "mcpServers": {"server": {"command": "${CLAUDE_PLUGIN_ROOT}/run"}},
        },
    )
    for name, text in {
        "more/one.md": "One",
        "extra/two.md": "Two",
        "own/tell/SKILL.md": "---\nname: tell\ndescription: x\n---\nTell",
        "../out.md": "---\nname: out\ndescription: x\n---\nOut",
    }.items():
        (source / name).parent.mkdir(exist_ok=True, parents=True)
        (source / name).write_text(text)
    plugins = manage(tmp_path)
    with plugins.offer(str(source)) as offer:
        assert offer.manifest is not None
        assert {one.partition(" ")[0] for one in offer.manifest.runs} == {"hooks:", "MCP"}
        plugins.accept(offer)
    found = registry(tmp_path)
    assert {one.name for one in found.items("slash-commands")} == {"demo:one", "demo:two"}
    assert [one.name for one in found.items("skills")] == ["tell"]
    assert found.items("agents") == []
    hooks = load_hooks(found, HooksSettings()).hooks
    assert len(hooks) == 2 and {one.plugin_root for one in hooks} == {plugins.store.folder / "demo"}


def test_language_servers_of_a_plugin_are_used(tmp_path: Path) -> None:
    source = hooked(tmp_path / "src")
    (source / "serve").write_text("#!/bin/sh\n")
    (source / "serve").chmod(0o755)
    server = {"command": "${CLAUDE_PLUGIN_ROOT}/serve", "extensionToLanguage": {".zig": "zig"}}
    (source / ".lsp.json").write_text(json.dumps({"zig-server": server}))
    plugins = manage(tmp_path)
    assert not may_have_programs(TABLE, "lsp", tmp_path, plugins.paths)
    plugins.install(str(source))
    assert may_have_programs(TABLE, "lsp", tmp_path, plugins.paths)
    found = find_servers(tmp_path, plugins.paths, {"PATH": "/usr/bin"}, trusted=False)
    [spec] = [one for one in found.usable if one.name == "zig-server"]
    assert spec.argv == [str(plugins.store.folder / "demo" / "serve")]
    assert spec.matches(Path("a.zig")) and spec.language_of(Path("a.zig")) == "zig"
