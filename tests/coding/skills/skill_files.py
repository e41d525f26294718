"""Writes skills, and makes the catalog that a session has."""

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tau.coding.skills.catalog import SkillCatalog
from tau.coding.supplies import Supplies
from tau.config.discovery_settings import SkillsSettings
from tau.config.paths import user_paths
from tau.config.settings import Settings


def put_skill(folder: Path, description: str = "Does it", body: str = "Do it.", **fields: Any) -> Path:
    """A skill in `folder`, with the name of the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    head = "".join(f"{key.replace('_', '-')}: {value}\n" for key, value in fields.items())
    text = f"---\nname: {folder.name}\ndescription: {description}\n{head}---\n{body}\n"
    (folder / "SKILL.md").write_text(text)
    return folder


def supplies(cwd: Path, *, trusted: bool = False, **skills: Any) -> Supplies:
    settings = replace(Settings(), skills=replace(SkillsSettings(), **skills))
    return Supplies(cwd, user_paths(), settings, trusted=trusted)


def catalog(cwd: Path, *, trusted: bool = False, **skills: Any) -> SkillCatalog:
    return supplies(cwd, trusted=trusted, **skills).skills
