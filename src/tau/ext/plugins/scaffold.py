"""`tau plugin new`: a folder with code, a manifest and a test that passes, from the files in `templates/`."""

from pathlib import Path

from tau.base.errors import TauError, UsageError
from tau.ext.plugins.manifest import valid_name

TEMPLATES = Path(__file__).parent / "templates"
PROJECT = {"pyproject.toml": "project.toml"}
FILES: dict[str, dict[str, str]] = {
    "extension": {
        "pyproject.toml": "pyproject.toml",
        "{module}.py": "extension.py",
        "test_{module}.py": "extension_test.py",
    },
    "tool": {"tools/{module}.py": "tool.py", "test_{module}.py": "tool_test.py"} | PROJECT,
    "hook": {"hooks/{module}.py": "hook.py", "test_{module}.py": "hook_test.py"} | PROJECT,
    "skill": {"skills/{name}/SKILL.md": "skill.md", "test_{module}.py": "skill_test.py"} | PROJECT,
    "rule": {"rules/{name}.md": "rule.md", "test_{module}.py": "rule_test.py"} | PROJECT,
    "plugin": {
        ".claude-plugin/plugin.json": "plugin.json",
        "skills/{name}/SKILL.md": "skill.md",
        "commands/{name}.md": "command.md",
        "extensions/{module}.py": "extension.py",
        "test_{module}.py": "extension_test.py",
    }
    | PROJECT,
}
"""The files of each kind, and the template of each."""


def write(name: str, kind: str, folder: Path) -> list[str]:
    """Write the files into a new folder. Raises TauError. Returns what to say."""
    if kind not in FILES:
        raise UsageError(f'There is no kind "{kind}"; there are {", ".join(FILES)}.')
    name = valid_name(name)
    target = folder / name
    if target.exists():
        raise TauError(f"{target} exists already.")
    module = name.replace("-", "_").replace(".", "_")
    if not module.isidentifier():
        raise UsageError(f'"{name}" cannot be the name of a Python module; start it with a letter.')
    words = {"{name}": name, "{module}": module, "{what}": f"The {kind} {name}."}
    words["{package}"] = "extensions." if kind == "plugin" else ""
    for path, template in FILES[kind].items():
        file = target / _filled(path, words)
        file.parent.mkdir(parents=True, exist_ok=True)
        text = (TEMPLATES / f"{template}.txt").read_text(encoding="utf-8")
        file.write_text(_filled(text, words), encoding="utf-8")
    return [
        f"Wrote {target}.",
        f"Try it: tau plugin link ./{name}, then start tau; test it: pytest {name}.",
    ]


def _filled(text: str, words: dict[str, str]) -> str:
    for placeholder, word in words.items():
        text = text.replace(placeholder, word)
    return text
