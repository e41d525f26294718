"""The skills of a session: which of those found are offered, their texts, and which were used lately."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import Raw, Struct, ValidationError, convert, json

from tau.base import log
from tau.base.clock import now_ms
from tau.base.errors import ConfigError
from tau.base.text import clean_line
from tau.config.discovery.capabilities import DESCRIPTION_CHARS, Item
from tau.config.discovery.file_cache import read_text
from tau.config.discovery.front_matter import list_of, parse_front_matter
from tau.config.discovery.registry import CapabilityRegistry
from tau.config.discovery_settings import SkillsSettings
from tau.config.json_file import change_json, read_json

MAX_USED = 200
_TOGGLES: Mapping[tuple[str, str], str] = {
    ("native", "user"): "enable_tau_user",
    ("native", "project"): "enable_tau_project",
    ("pi", "user"): "enable_pi_user",
    ("pi", "project"): "enable_pi_project",
    ("claude", "user"): "enable_claude_user",
    ("claude", "project"): "enable_claude_project",
    ("codex", "user"): "enable_codex_user",
}
"""Skills from elsewhere are offered while any of these is on, except for those in the user's own folders."""


class Skill(Struct, frozen=True):
    """`listed`: the model sees it; `always`: its text is part of every prompt; `by_model`: it may read it."""

    name: str
    description: str
    path: Path
    source: str
    trusted: bool = True
    globs: tuple[str, ...] = ()
    always: bool = False
    listed: bool = True
    by_model: bool = True

    @property
    def folder(self) -> Path:
        return self.path.parent

    def body(self) -> str:
        """The text without front matter, as it is now. Raises ConfigError."""
        return parse_front_matter(read_text(self.path), self.path).body


class SkillCatalog:
    """The skills that are used, of those found."""

    def __init__(self, discovery: CapabilityRegistry) -> None:
        self._discovery = discovery
        self._used_file = discovery.paths.cache / "skills_used.json"

    @property
    def skills(self) -> list[Skill]:
        """Those offered; of two with one name, the one that was found first."""
        return [_skill(item) for item in self._discovery.items("skills")]

    def collisions(self) -> list[str]:
        """A sentence for each skill that another one with the same name hides, unless they are equal."""
        items = self._discovery.all("skills")
        winners = {item.name: item for item in items if item.state == "active"}
        return [
            f"Skipped the skill {item.path}: {item.why}"
            for item in items
            if item.state == "shadowed"
            and (winner := winners.get(item.name)) is not None
            and winner.identity != item.identity
            and (winner.fields, winner.summary) != (item.fields, item.summary)
        ]

    def find(self, name: str) -> Skill | None:
        return next((skill for skill in self.skills if skill.name == name), None)

    def record_use(self, name: str) -> None:
        """Remember it for the listing, which shortens the descriptions of other skills first."""

        def add(members: dict[str, Raw]) -> None:
            members.pop(name, None)
            for oldest in list(members)[: max(0, len(members) - MAX_USED + 1)]:
                del members[oldest]
            members[name] = Raw(json.encode(now_ms()))

        try:
            change_json(self._used_file, add, mode=0o600)
        except ConfigError as error:
            log.warning("The use of a skill was not recorded.", error)

    def used(self) -> dict[str, int]:
        """When skills were last used, by name."""
        try:
            return convert(read_json(self._used_file).content, dict[str, int])
        except (ConfigError, ValidationError) as error:
            log.warning("The record of used skills is damaged; it is ignored.", error)
            return {}


def excludes_skill(settings: SkillsSettings, item: Item) -> bool:
    """Whether the settings turn a skill off."""
    if item.kind != "skills":
        return False
    provider = "" if item.source is None else item.source.provider
    toggle = _TOGGLES.get((provider, item.level))
    if toggle is not None:
        enabled = getattr(settings, toggle)
    else:
        enabled = provider == "custom" or any(getattr(settings, name) for name in _TOGGLES.values())
    included = not settings.include_skills or _matches(item.name, settings.include_skills)
    is_offered = settings.enabled and enabled and included
    return not is_offered or _matches(item.name, settings.ignored_skills)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _skill(item: Item) -> Skill:
    description = clean_line(item.text("description") or item.summary)
    by_model = item.fields.get("disable-model-invocation") is not True
    return Skill(
        name=item.name,
        description=description[:DESCRIPTION_CHARS],
        path=item.path,
        source="" if item.source is None else f"{item.source.provider}:{item.level}",
        trusted=item.trusted,
        globs=tuple(list_of(item.fields.get("globs"))),
        always=by_model and item.fields.get("alwaysApply") is True,
        listed=by_model and item.fields.get("hide") is not True,
        by_model=by_model,
    )
