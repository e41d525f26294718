"""Whatever a repository has in the folders of agents, tau lists it, says what is wrong, and starts."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tau.coding.supplies import Supplies
from tau.config.discovery.capabilities import CAPABILITIES
from tau.config.instruction_files import find_context_files
from tau.config.paths import user_paths
from tau.config.settings import Settings
from tau.ext.hooks.hook_files import load_hooks
from tau.ext.plugins.manifest import check_manifest
from tau.modes.extensions_report import run_command
from tests.support.soak import seeds

PLUGIN = ".tau/plugins/p"
HEADS = (
    ".tau/rules/a.md",
    ".claude/rules/b.md",
    ".tau/commands/c.md",
    ".claude/agents/d.md",
    ".tau/agents/e.md",
)
SKILLS = (".tau/skills/k/SKILL.md", f"{PLUGIN}/skills/s/SKILL.md")
FIELDS = (
    *("name", "version", "description", "commands", "agents", "skills", "hooks", "mcpServers", "settings"),
    *("PreToolUse", "Stop", "matcher", "command", "type", "timeout", "args", "url", "headers", "if", "once"),
    *(
        "globs",
        "condition",
        "astCondition",
        "scope",
        "alwaysApply",
        "paths",
        "applyTo",
        "interruptMode",
        "hide",
    ),
)
VALUES: tuple[Any, ...] = (
    *(
        "",
        ".",
        "./",
        "../..",
        "/etc/passwd",
        "./a" * 2000,
        "a" * 5000,
        "\0",
        "./\ud800",
        "\u202e",
        "./skills",
        "./*",
    ),
    *("[", "**", "./[a", "~", "~root", "\n", "x\ny", "./skills/s/SKILL.md", "(", "(?", "a|b", "\x1b[2J"),
    *(5, -1, 1e308, None, True, [], {}, [[]], [{}], {"a": {}}, ["./skills", 5, None], 10**40),
)
SPOILED: dict[str, Callable[[Path], object]] = {
    "folder": Path.mkdir,
    "pipe": os.mkfifo,
    "loop": lambda path: path.symlink_to(path.name),
    "outside": lambda path: path.symlink_to("/etc/hostname"),
    "dangling": lambda path: path.symlink_to("/nope/x"),
    "binary": lambda path: path.write_bytes(bytes(range(256))),
    "large": lambda path: path.write_text("a: b\n" * 60_000),
    "empty": Path.touch,
    "utf-16": lambda path: path.write_bytes("---\nname: x\n---\n".encode("utf-16")),
    "deep": lambda path: path.write_text('{"hooks":' * 3000),
    "deep head": lambda path: path.write_text("---\na: " + "[" * 5000),
}


def odd(random: Random, depth: int = 0) -> Any:
    kind = random.random()
    if depth < 3 and kind < 0.15:
        return [odd(random, depth + 1) for _ in range(random.randint(0, 3))]
    if depth < 3 and kind < 0.3:
        return {random.choice(FIELDS): odd(random, depth + 1) for _ in range(random.randint(0, 3))}
    return random.choice(VALUES)


def fill(repository: Path, random: Random) -> None:
    def table(*names: str) -> str:
        return json.dumps({name: odd(random) for name in names})

    texts = {
        f"{PLUGIN}/.claude-plugin/plugin.json": table(*random.sample(FIELDS[:9], 5)),
        f"{PLUGIN}/hooks/hooks.json": table("hooks"),
        f"{PLUGIN}/.mcp.json": table("mcpServers"),
        ".claude/settings.json": table("hooks", "disableAllHooks", "enabledPlugins", "permissions"),
        ".tau/hooks.json": json.dumps({"hooks": {"PreToolUse": odd(random), "Stop": odd(random)}}),
        "AGENTS.md": " ".join(f"@{odd(random)}" for _ in range(5)).encode("utf-8", "replace").decode(),
    }
    for name in (*HEADS, *SKILLS):
        lines = [f"{random.choice(FIELDS)}: {json.dumps(odd(random))}\n" for _ in range(random.randint(0, 5))]
        texts[name] = f"---\n{''.join(lines)}---\nText"
    for name, text in texts.items():
        path = repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name in random.sample(sorted(texts), 4):
        (repository / name).unlink()
        SPOILED[random.choice(sorted(SPOILED))](repository / name)


@pytest.mark.parametrize("seed", seeds(4, 1000))
def test_nothing_that_a_repository_has_keeps_tau_from_starting(seed: int, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    fill(tmp_path, Random(seed))
    for trusted in (False, True):
        supplies = Supplies(tmp_path, user_paths(), Settings(), trusted=trusted)
        for kind in CAPABILITIES:
            supplies.discovery.all(kind)
        find_context_files(supplies.discovery)
        load_hooks(supplies.discovery, Settings().hooks)
        assert "\x1b" not in supplies.rules.listing()
        assert all(skill.name for skill in supplies.skills.skills)
        assert "\x1b" not in run_command("", supplies, user_paths())
    check_manifest(tmp_path / PLUGIN)
