"""Slash commands from files: Markdown prompts and skills of the user, the project and plugins."""

from pathlib import Path

from msgspec import Struct

from tau.base.text import clean_line, shortened
from tau.config.discovery.capabilities import Item
from tau.config.discovery.file_cache import SUMMARY_CHARS, read_text
from tau.config.discovery.front_matter import parse_front_matter
from tau.config.discovery.providers import Level
from tau.config.discovery.registry import CapabilityRegistry

SKILL_PREFIX = "skill:"
PROJECT_PREFIX = "project:"


class CommandFile(Struct, frozen=True, kw_only=True):
    """One command; `name` is what follows the slash."""

    name: str
    path: Path
    origin: Level
    description: str = ""
    hint: str = ""
    """The arguments to type after the name."""

    @property
    def is_skill(self) -> bool:
        return self.name.removeprefix(PROJECT_PREFIX).startswith(SKILL_PREFIX)

    def read(self) -> str:
        """Read the current prompt, without front matter. Raises ConfigError."""
        return parse_front_matter(read_text(self.path), self.path).body


def find_command_files(discovery: CapabilityRegistry, *, skills: bool = True) -> list[CommandFile]:
    """Commands, prompts, then skills. The first with a name gets it.

    A project's command with the name of a user's becomes `project:NAME`, so a repository cannot override the
    user's text.
    """
    found: dict[str, CommandFile] = {}
    for kind in ("slash-commands", "prompts", *(("skills",) if skills else ())):
        prefix = SKILL_PREFIX if kind == "skills" else ""
        for item in discovery.all(kind):
            if item.state not in ("active", "shadowed"):
                continue
            name = f"{prefix}{item.name}"
            if name not in found:
                found[name] = _command(item, name)
            elif item.level == "project" and found[name].origin == "user":
                second = f"{PROJECT_PREFIX}{name}"
                found.setdefault(second, _command(item, second))
    return list(found.values())


def command_warnings(discovery: CapabilityRegistry) -> list[str]:
    """Why files are not commands, one sentence each."""
    invalid = [
        item
        for kind in ("slash-commands", "prompts", "skills")
        for item in discovery.all(kind)
        if item.state == "invalid"
    ]
    return [*discovery.warnings, *(invalid_text(item) for item in invalid)]


def invalid_text(item: Item) -> str:
    line = "" if item.line is None else f":{item.line}"
    return f"{item.path}{line}: {item.why} Skipped."


def _command(item: Item, name: str) -> CommandFile:
    description = item.text("description") or ("" if item.kind == "skills" else item.summary)
    return CommandFile(
        name=name,
        path=item.path,
        origin=item.level,
        description=shortened(clean_line(description), SUMMARY_CHARS),
        hint=shortened(clean_line(item.text("argument-hint")), SUMMARY_CHARS),
    )
