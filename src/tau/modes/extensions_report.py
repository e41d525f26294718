"""What was found in the folders of tau and of other agents, whether it is used, and why not."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from tau.base.errors import UsageError
from tau.base.late import late
from tau.base.text import reveal_line
from tau.coding.session.compaction.estimate import text_tokens
from tau.coding.skills.listing import list_skills
from tau.coding.supplies import Supplies
from tau.config.discovery.capabilities import KINDS, Item, Source, State
from tau.config.discovery.providers import PROVIDERS, Kind
from tau.config.list_settings import add_to_list, remove_from_list
from tau.config.paths import Paths

sources = late("tau.ext.extensions.sources")

MARKS: dict[State, str] = {
    "active": "",
    "shadowed": "shadowed",
    "disabled": "off",
    "invalid": "invalid",
    "waiting": "waiting for trust",
}
HIDDEN = ("shadowed", "disabled")
"""Listed only on request."""
NOTHING = (
    "Nothing found. Skills, commands and instructions go into .tau or ~/.tau/agent; see the skills page."
)
_ANY_BUDGET = 10**9


class ExtensionRow(Struct, frozen=True, rename="camel", kw_only=True):
    """`id` is what `disabledExtensions` names; `tokens` are those it adds to each request."""

    kind: Kind
    name: str
    id: str
    state: State
    why: str
    notes: tuple[str, ...]
    provider: str
    level: str
    path: str
    line: int | None
    tokens: int


def extension_rows(supplies: Supplies, *, every: bool) -> list[ExtensionRow]:
    """All kinds in the order of the table; `every` includes what is shadowed or off."""
    tokens = _tokens(supplies)
    rows: list[ExtensionRow] = []
    for kind in KINDS:
        more = _packaged(supplies) if kind == "extension-modules" else ()
        shown = (one for one in (*supplies.discovery.all(kind), *more) if every or one.state not in HIDDEN)
        rows += [_row(one, tokens.get(one.path, 0) if one.state == "active" else 0) for one in shown]
    return rows


def _row(item: Item, tokens: int) -> ExtensionRow:
    return ExtensionRow(
        kind=item.kind,
        name=item.name,
        id=item.id,
        state=item.state,
        why=item.why,
        notes=item.notes,
        provider="" if item.source is None else item.source.provider,
        level=item.level,
        path=str(item.path),
        line=item.line,
        tokens=tokens,
    )


def _tokens(supplies: Supplies) -> dict[Path, int]:
    found = {
        skill.path: text_tokens(list_skills([skill], _ANY_BUDGET, {}).text.splitlines()[-2])
        for skill in supplies.skills.skills
        if skill.listed and not skill.always
    }
    found |= {
        Path(rule.path): text_tokens(f"- {rule.name}: {rule.summary}")
        for rule in supplies.rules.of("rulebook")
    }
    return found | {file.path: text_tokens(file.text) for file in supplies.texts()}


def extension_lines(rows: Sequence[ExtensionRow], warnings: Sequence[str]) -> list[str]:
    """A line for each row under the name of its kind."""
    if not rows:
        return [NOTHING, *warnings]
    lines: list[str] = []
    kind = ""
    for row in rows:
        if row.kind != kind:
            kind = row.kind
            lines += ["", f"{kind}:"] if lines else [f"{kind}:"]
        mark = f" [{MARKS[row.state]}]" if MARKS[row.state] else ""
        tokens = f", {row.tokens:,} token{'s' * (row.tokens > 1)}" if row.tokens else ""
        place = f"{row.path}:{row.line}" if row.line is not None else row.path
        lines.append(f"  {reveal_line(f'{row.name}{mark} ({row.provider}, {row.level}{tokens}) {place}')}")
        lines += [f"    {reveal_line(text)}" for text in (row.why, *row.notes) if text]
    return [*lines, *(["", *map(reveal_line, warnings)] if warnings else [])]


def toggle(name: str, paths: Paths, supplies: Supplies, *, on: bool) -> str:
    """Turn a provider or an item on or off in the user's settings. Returns what to say. Raises UsageError."""
    is_provider = any(provider.id == name for provider in PROVIDERS)
    key = "disabledProviders" if is_provider else "disabledExtensions"
    if on:
        if not remove_from_list(paths, key, name):
            raise UsageError(f'"{name}" is not in {key}, in {paths.settings}.')
        return f"{name} is on from the next session."
    rows = extension_rows(supplies, every=True)
    known = {f"{kind}:{row.name}" for row in rows for kind in (row.kind, row.kind.removesuffix("s"))}
    if not is_provider and name not in known:
        raise UsageError(
            f'There is no "{name}"; name a provider or KIND:NAME, as in tau extensions list --all.'
        )
    add_to_list(paths, key, [name])
    return f"{name} is off from the next session; undo with tau extensions enable {name}."


def _packaged(supplies: Supplies) -> Iterator[Item]:
    """The extensions in plugins that are packages, in settings and in installed Python packages."""
    registry = supplies.discovery
    yield from sources.plugin_modules(registry)
    found = sources.SourceList(registry.cwd, ())
    found.add_given(supplies.settings.extensions, "settings")
    found.add_packages(registry.paths)
    for one in found.sources:
        source = Source(one.origin, one.file, "user")
        yield registry.judge(Item(kind="extension-modules", name=one.name, source=source))
    for path, why in found.problems:
        source = Source("settings", path, "user")
        yield Item(kind="extension-modules", name=path.name, source=source, state="invalid", why=why)


def run_command(rest: str, supplies: Supplies, paths: Paths) -> str:
    """The command /extensions: list, or turn something on or off. Returns what to say. Raises TauError."""
    action, _, name = rest.partition(" ")
    supplies.discovery.refresh()
    if action in ("enable", "disable") and name.strip():
        return toggle(name.strip(), paths, supplies, on=action == "enable")
    if rest not in ("", "all"):
        raise UsageError("Usage: /extensions [all], or /extensions enable|disable KIND:NAME|PROVIDER.")
    rows = extension_rows(supplies, every=rest == "all")
    return "\n".join(extension_lines(rows, supplies.discovery.warnings))
