"""The kinds of things that are found: how each is named, checked and run."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from msgspec import Struct

from tau.base.late import late
from tau.base.text import clean_line
from tau.config.discovery.front_matter import text_of
from tau.config.discovery.providers import Kind, Level

unicodedata = late("unicodedata")

KINDS: tuple[Kind, ...] = get_args(Kind)
NAME_CHARS = 64
DESCRIPTION_CHARS = 1024
COMPATIBILITY_CHARS = 500
_SIGNS = dict.fromkeys(map(ord, "-_.:"))
State = Literal["active", "shadowed", "disabled", "invalid", "waiting"]
SPEC_FIELDS = frozenset({"name", "description", "license", "allowed-tools", "metadata", "compatibility"})
OWN_FIELDS = frozenset({"globs", "alwaysApply", "hide", "disable-model-invocation", "argument-hint"})


class Source(Struct, frozen=True):
    """Where an item is from; `plugin` is the folder of its plugin."""

    provider: str
    path: Path
    level: Level
    plugin: Path | None = None


class Item(Struct, frozen=True, kw_only=True):
    """Something found. `state` and `why` say whether it is used; `notes` are lesser faults.

    `rank` is the distance of its folder from the working folder; `trusted`, whether the user vouches for it.
    """

    kind: Kind
    name: str
    source: Source | None
    fields: dict[str, Any] = {}
    summary: str = ""
    notes: tuple[str, ...] = ()
    state: State = "active"
    why: str = ""
    line: int | None = None
    rank: int = 0
    trusted: bool = True
    identity: tuple[int, int] = (0, 0)  # of the file, which may have several names

    @property
    def path(self) -> Path:
        return Path() if self.source is None else self.source.path

    @property
    def level(self) -> Level:
        return "user" if self.source is None else self.source.level

    @property
    def id(self) -> str:
        """What `disabledExtensions` names."""
        return f"{self.kind}:{self.name}"

    def text(self, field: str) -> str:
        return text_of(self.fields.get(field))


Problem: TypeAlias = tuple[str, str]
"""A sentence, and the field it is about."""


class Capability(Struct, frozen=True):
    """`name` names a file by its path below its root; `check` says why an item is unusable and what is odd.

    `runs`: it starts programs or replaces the system prompt, so a project's waits for trust. `reads`: its
    front matter counts. `user_first`: a project's never takes the name of the user's. `nearest`: the working
    folder's come before the user's, and those of its parents do not count. `named`: items of one name replace
    each other; else all count.
    """

    id: Kind
    name: Callable[[str, dict[str, Any]], str]
    check: Callable[[Item], tuple[Problem | None, list[str]]]
    runs: bool = False
    reads: bool = False
    user_first: bool = False
    nearest: bool = False
    named: bool = True


def _stem(inner: str, fields: dict[str, Any]) -> str:
    name = inner.rpartition("/")[2]
    return name.split(".")[0] or name


def _named(inner: str, fields: dict[str, Any]) -> str:
    return text_of(fields.get("name")).strip() or _stem(inner, fields)


def _skill_name(inner: str, fields: dict[str, Any]) -> str:
    return text_of(fields.get("name")).strip() or _folder_of(inner, fields)


def _command_name(inner: str, fields: dict[str, Any]) -> str:
    """`git/commit.md` below the folder of commands is `git:commit`."""
    return inner.removesuffix(".md").removesuffix(".prompt").partition("/")[2].replace("/", ":")


def _file_name(inner: str, fields: dict[str, Any]) -> str:
    return inner.rpartition("/")[2].upper().removesuffix(".MD")


def _folder_of(path: str, fields: dict[str, Any]) -> str:
    return path.rsplit("/", 2)[-2]


def _accept(item: Item) -> tuple[Problem | None, list[str]]:
    return None, []


def _check_typed_name(item: Item) -> tuple[Problem | None, list[str]]:
    """Names are typed after a slash or in a URL: letters, digits and a few signs, limited in length."""
    if len(item.name) > NAME_CHARS:
        return (f"The name is longer than {NAME_CHARS} characters.", "name"), []
    if not item.name or not f"a{item.name.translate(_SIGNS)}".isalnum():
        shown = clean_line(item.name)
        return (f'"{shown}" is not a valid name: use letters, digits, "-" and "_".', "name"), []
    if not item.summary and not (item.kind == "skills" and item.text("description")):
        return ("The file is empty.", ""), []
    return None, []


def _check_skill(item: Item) -> tuple[Problem | None, list[str]]:
    problem, notes = _check_typed_name(item)
    return problem, [*notes, *skill_faults(item.fields, _folder_of(str(item.path), {}))]


def skill_faults(fields: dict[str, Any], folder: str) -> list[str]:
    """What the specification of agentskills.io does not allow; tau uses the skill nevertheless."""
    faults = []
    extra = sorted(fields.keys() - SPEC_FIELDS - OWN_FIELDS)
    if extra:
        faults.append(f"Unknown fields: {', '.join(map(clean_line, extra))}.")
    name = text_of(fields.get("name")).strip()
    faults += _name_faults(name, folder) if name else ["It has no name."]
    description = text_of(fields.get("description"))
    if not description.strip():
        faults.append("It has no description.")
    elif len(description) > DESCRIPTION_CHARS:
        faults.append(f"The description is longer than {DESCRIPTION_CHARS:,} characters.")
    if len(text_of(fields.get("compatibility"))) > COMPATIBILITY_CHARS:
        faults.append(f"The field compatibility is longer than {COMPATIBILITY_CHARS} characters.")
    return faults


def _name_faults(name: str, folder: str) -> list[str]:
    if not (name.isascii() and folder.isascii()):
        name, folder = (unicodedata.normalize("NFKC", one) for one in (name, folder))
    faults = []
    if len(name) > NAME_CHARS:
        faults.append(f"The name is longer than {NAME_CHARS} characters.")
    if name != name.lower() or re.search(r"^-|-$|--", name) or not name.replace("-", "a").isalnum():
        faults.append(
            f'The name "{clean_line(name)}" may only contain lowercase letters, digits and single hyphens.'
        )
    if name != folder:
        faults.append(f'The name "{clean_line(name)}" differs from that of its folder.')
    return faults


_ROWS = (
    Capability("context-files", _stem, _accept, named=False),
    Capability("system-prompt", _file_name, _accept, runs=True, nearest=True),
    Capability("skills", _skill_name, _check_skill, reads=True),
    Capability("rules", _stem, _check_typed_name, reads=True),
    Capability("instructions", _stem, _check_typed_name, reads=True),
    Capability("slash-commands", _command_name, _check_typed_name, reads=True, user_first=True),
    Capability("prompts", _command_name, _check_typed_name, reads=True, user_first=True),
    Capability("agents", _named, _check_typed_name, reads=True),
    Capability("hooks", _stem, _accept, runs=True, named=False),
    Capability("tools", _stem, _accept, runs=True),
    Capability("extension-modules", _stem, _accept, runs=True),
    Capability("extensions", _folder_of, _accept, runs=True),
    Capability("mcps", _stem, _accept, runs=True, named=False),
    Capability("settings", _stem, _accept, runs=True, named=False),
    Capability("ssh", _stem, _accept, named=False),
)
CAPABILITIES: dict[Kind, Capability] = {row.id: row for row in _ROWS}
