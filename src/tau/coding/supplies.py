"""What files supply to a session's prompts: instructions, system prompts, skills; read when first needed."""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from tau.ai.model import Model
from tau.base.errors import ConfigError
from tau.base.files import typed_path
from tau.base.late import late
from tau.coding.rules.catalog import RuleCatalog
from tau.coding.rules.rule import RuleFile
from tau.coding.skills.catalog import Skill, SkillCatalog, excludes_skill
from tau.coding.skills.listing import list_skills, listing_budget
from tau.config.discovery.capabilities import Item
from tau.config.discovery.file_cache import read_text
from tau.config.discovery.providers import Root, nested_roots
from tau.config.discovery.registry import CapabilityRegistry, DiscoveryOptions
from tau.config.instruction_files import ContextFile, ContextReader, find_context_files
from tau.config.paths import Paths
from tau.config.settings import Settings

if TYPE_CHECKING:
    from tau.config.command_files import CommandFile

command_files = late("tau.config.command_files")
prompt_template = late("tau.coding.prompts.prompt_template")

MAX_NAMED = 30
MAX_INVALID = 5


def _ignore(message: str) -> None:
    pass


class PromptFiles(Struct, frozen=True, kw_only=True):
    """What the first request is made of. `replacement` replaces the template, `title` that of titles."""

    context: Sequence[ContextFile] = ()
    skills: Callable[[Model], str] = lambda model: ""
    replacement: str | None = None
    addition: str | None = None
    title: str = ""


class Supplies:
    """Scans once. `roots` are the folders that exist, if known already; `agent` is the kind of agent they are
    for, None for any.
    """

    def __init__(
        self,
        cwd: Path,
        paths: Paths,
        settings: Settings,
        *,
        trusted: bool = False,
        has_changed: Callable[[], bool] = lambda: False,
        roots: Sequence[Root] | None = None,
        plugin_dirs: Sequence[Path] = (),
        agent: str | None = None,
    ) -> None:
        self.settings = settings
        self._agent = agent
        options = DiscoveryOptions(
            trusted=trusted,
            has_changed=has_changed,
            disabled_providers=settings.disabled_providers,
            disabled_items=settings.disabled_extensions,
            excludes=partial(_is_excluded, settings),
            plugin_dirs=plugin_dirs,
            skill_folders=[typed_path(name).absolute() for name in settings.skills.custom_directories],
        )
        self.discovery = CapabilityRegistry(cwd, paths, options, roots)

    @cached_property
    def skills(self) -> SkillCatalog:
        return SkillCatalog(self.discovery)

    @cached_property
    def rules(self) -> RuleCatalog:
        return RuleCatalog(self.discovery, self.settings.ttsr, self._agent)

    def commands(self) -> "list[CommandFile]":
        """The slash commands."""
        skills = self.settings.skills.enable_skill_commands
        found: list[CommandFile] = command_files.find_command_files(self.discovery, skills=skills)
        return found

    def command_prompt(self, file: "CommandFile", typed: str) -> str:
        """The prompt that a command expands to. Raises ConfigError."""
        if file.is_skill:
            self.skills.record_use(file.name.rpartition(command_files.SKILL_PREFIX)[2])
        prompt: str = prompt_template.command_prompt(file, typed)
        return prompt

    def expand(self, text: str) -> str:
        """Expand a slash command that a file defines; other text stays as it is. Raises ConfigError."""
        name, _, typed = text.removeprefix("/").partition(" ")
        found = self.commands() if text.startswith("/") else ()
        file = next((file for file in found if file.name == name), None)
        return text if file is None else self.command_prompt(file, typed)

    def read_prompts(self, model: Model, warn: Callable[[str], None]) -> PromptFiles:
        """Read what goes into the first request; what is lost goes to `warn`."""
        skills = self.skills.skills
        used = self.skills.used() if skills else {}
        setting = self.settings.skills.listing_tokens

        rulebook = self.rules.listing()
        listed = lru_cache(1)(lambda budget: list_skills(skills, budget, used))

        def listing(model: Model) -> str:
            return listed(listing_budget(setting, model.context_window)).text + rulebook

        collisions = self.skills.collisions() if skills else []
        for sentence in collisions[:MAX_INVALID]:
            warn(sentence)
        if len(collisions) > MAX_INVALID:
            warn(f"{len(collisions) - MAX_INVALID} more skills are skipped; see tau extensions list --all.")
        budget = listing_budget(setting, model.context_window)
        shortened = listed(budget).shortened
        if shortened:
            warn(_shortened_text(shortened, budget))
        for sentence in self._losses():
            warn(sentence)
        return PromptFiles(
            context=self._context(warn),
            skills=listing,
            replacement=self._system_prompt("SYSTEM", warn),
            addition=self._system_prompt("APPEND_SYSTEM", warn),
            title=self._system_prompt("TITLE_SYSTEM", warn) or "",
        )

    def _context(self, warn: Callable[[str], None]) -> list[ContextFile]:
        found = find_context_files(self.discovery, warn) if self.settings.context_files.enabled else []
        return [*found, *_always([*self.skills.skills, *self.rules.of("always")], warn)]

    def texts(self) -> list[ContextFile]:
        """All files whose text is part of each request."""
        prompts = [item for item in self.discovery.items("system-prompt") if item.name != "TITLE_SYSTEM"]
        system = [
            ContextFile(item.path, text) for item in prompts if (text := self._system_prompt(item.name))
        ]
        return [*self._context(_ignore), *system]

    def _losses(self) -> Iterator[str]:
        """Why skills and whole folders are missing."""
        yield from self.discovery.warnings
        invalid = [item for item in self.discovery.all("skills") if item.state == "invalid"]
        yield from map(command_files.invalid_text, invalid[:MAX_INVALID])
        if len(invalid) > MAX_INVALID:
            yield f"{len(invalid) - MAX_INVALID} more skills are invalid; see tau extensions list."

    def nested_context(self, folder: Path, warn: Callable[[str], None]) -> list[ContextFile]:
        """The instructions in one more folder of the workspace."""
        discovery = CapabilityRegistry(
            folder, self.discovery.paths, self.discovery.options, nested_roots(folder)
        )
        items = discovery.items("context-files")
        return ContextReader(Path(os.path.realpath(self.discovery.root)), warn).read(items)

    def _system_prompt(self, name: str, warn: Callable[[str], None] = _ignore) -> str | None:
        """The working folder's, or else the user's; not those of the folders between."""
        items = [item for item in self.discovery.all("system-prompt") if item.name == name and item.rank == 0]
        for item in sorted(items, key=lambda item: item.state != "waiting"):
            if item.state == "waiting":
                warn(f"Skipped {item.path}: {item.why[:1].lower()}{item.why[1:]}")
            elif item.state in ("active", "shadowed"):
                try:
                    return read_text(item.path).strip() or None
                except ConfigError as error:
                    warn(f"{error} Skipped.")
        return None


def _is_excluded(settings: Settings, item: Item) -> bool:
    """Whether settings about all skills or rules turn an item off."""
    is_rule = item.kind in ("rules", "instructions") or item.path.name == "RULES.md"
    return not settings.rules.enabled if is_rule else excludes_skill(settings.skills, item)


def _always(sources: Sequence[Skill | RuleFile], warn: Callable[[str], None]) -> list[ContextFile]:
    """The texts of skills and rules that are part of every prompt."""
    files = []
    for source in sources:
        if source.always:
            try:
                files.append(ContextFile(Path(source.path), source.body(), source.trusted))
            except ConfigError as error:
                warn(f"{error} Skipped.")
    return files


def _shortened_text(names: Sequence[str], budget: int) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return (
        f"The list of skills exceeds {budget:,} tokens, so these descriptions are shortened: "
        f"{', '.join(names[:MAX_NAMED])}{more}. Raise skills.listingTokens, or set skills.ignoredSkills."
    )
