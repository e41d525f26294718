"""`tau plugin new`: a folder with code, a manifest and a test that passes."""

from pathlib import Path

from tau.base.errors import TauError, UsageError
from tau.ext.plugins.manifest import valid_name

KINDS = ("extension", "tool", "hook", "skill", "rule", "plugin")
PROJECT = """\
[project]
name = "{name}"
version = "0.1.0"
description = "{what}"
dependencies = ["tau-agent"]

[tool.tau]
extensions = ["{module}.py"]

[project.entry-points."tau.extensions"]
{module} = "{module}"

[build-system]
requires = ["hatchling>=1.25"]
build-backend = "hatchling.build"

[tool.hatch.build.targets.wheel]
only-include = ["{module}.py"]
"""
EXTENSION = '''\
"""{what}"""

from tau.ext import Deny, ExtensionAPI, ExtensionCommandContext, ExtensionContext, ToolCallEvent


def extension(tau: ExtensionAPI) -> None:
    @tau.tool(effects="none")
    def count_words(text: str) -> int:
        """Count the words of a text."""
        return len(text.split())

    @tau.on("tool_call")
    def guard(event: ToolCallEvent, ctx: ExtensionContext) -> Deny | None:
        if "rm -rf /" in str(event.arguments.get("command")):
            return Deny("This would delete everything.")
        return None

    @tau.command("{module}", description="Say hello")
    def hello(args: str, ctx: ExtensionCommandContext) -> None:
        ctx.ui.notify(f"Hello {{args or 'from {name}'}}")
'''
EXTENSION_TEST = '''\
"""Tests of {name}, without a model."""

from tau.testing import Say, Use, run
from {module} import extension


def test_the_model_can_count_words() -> None:
    with run(extension, [[Use("count_words", text="one two")], [Say("Two.")]]) as tau:
        assert tau.prompt("How many words?") == "Two."
        assert tau.tool_results == ["2"]


def test_dangerous_commands_are_refused() -> None:
    with run(extension, [[Use("bash", command="rm -rf /")], [Say("")]]) as tau:
        tau.prompt("Clean up")
        assert tau.tool_results == ["This would delete everything."]


def test_the_command_says_hello() -> None:
    with run(extension) as tau:
        tau.command("/{module} you")
        assert tau.ui.notices == ["Hello you"]
'''
TOOL = '''\
"""{what}"""


def {module}(text: str, most: int = 10) -> str:
    """Shorten a text to its first words.

    Args:
        text: what to shorten
        most: how many words stay
    """
    return " ".join(text.split()[:most])
'''
TOOL_TEST = '''\
"""Tests of {name}."""

from tools.{module} import {module}


def test_the_first_words_stay() -> None:
    assert {module}("one two three", 2) == "one two"
'''
HOOK = '''\
"""{what}"""

from tau.ext import Deny, ExtensionAPI, ExtensionContext, ToolCallEvent


def hook(tau: ExtensionAPI) -> None:
    @tau.on("tool_call")
    def check(event: ToolCallEvent, ctx: ExtensionContext) -> Deny | None:
        return Deny("Not on a Friday.") if "deploy" in str(event.arguments) else None
'''
HOOK_TEST = '''\
"""Tests of {name}, without a model."""

from hooks.{module} import hook
from tau.testing import Say, Use, run


def test_deployments_are_refused() -> None:
    with run(hook, [[Use("bash", command="make deploy")], [Say("")]]) as tau:
        tau.prompt("Deploy")
        assert tau.tool_results == ["Not on a Friday."]
'''
SKILL = """\
---
name: {name}
description: {what} Use it when the user asks for it.
---

# {name}

1. Say what to do first.
2. Name the files in this folder that help.
"""
RULE = """\
---
description: {what}
condition: "TODO\\\\(nobody\\\\)"
---

Every TODO names its owner.
"""
PLUGIN_JSON = """\
{{
  "name": "{name}",
  "version": "0.1.0",
  "description": "{what}"
}}
"""
FILES: dict[str, dict[str, str]] = {
    "extension": {
        "pyproject.toml": PROJECT,
        "{module}.py": EXTENSION,
        "test_{module}.py": EXTENSION_TEST,
    },
    "tool": {"tools/{module}.py": TOOL, "test_{module}.py": TOOL_TEST},
    "hook": {"hooks/{module}.py": HOOK, "test_{module}.py": HOOK_TEST},
    "skill": {"skills/{name}/SKILL.md": SKILL},
    "rule": {"rules/{name}.md": RULE},
    "plugin": {
        ".claude-plugin/plugin.json": PLUGIN_JSON,
        "skills/{name}/SKILL.md": SKILL,
        "commands/{name}.md": "Say hello to $ARGUMENTS.\n",
        "extensions/{module}.py": EXTENSION,
    },
}


def write(name: str, kind: str, folder: Path) -> list[str]:
    """Write the files into a new folder. Raises TauError. Returns what to say."""
    if kind not in KINDS:
        raise UsageError(f'There is no kind "{kind}"; there are {", ".join(KINDS)}.')
    name = valid_name(name)
    target = folder / name
    if target.exists():
        raise TauError(f"{target} exists already.")
    module = name.replace("-", "_").replace(".", "_")
    if not module.isidentifier():
        raise UsageError(f'"{name}" cannot be the name of a Python module; start it with a letter.')
    words = {"name": name, "module": module, "what": f"The {kind} {name}."}
    for path, text in FILES[kind].items():
        file = target / path.format(**words)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.format(**words), encoding="utf-8")
    has_test = any(path.startswith("test_") for path in FILES[kind])
    return [
        f"Wrote {target}.",
        f"Try it: tau plugin link ./{name}, then start tau"
        + (f"; test it: pytest {name}" if has_test else "")
        + ".",
    ]
