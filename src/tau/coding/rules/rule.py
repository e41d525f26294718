"""A rule as its file states it, whichever tool's format that file has."""

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from tau.base.late import late
from tau.base.text import clean_line, shortened
from tau.coding.search.globs import BadGlob, matcher

file_cache = late("tau.config.discovery.file_cache")
front_matter = late("tau.config.discovery.front_matter")

Source = Literal["text", "thinking", "tool"]
InterruptOn = Literal["never", "prose-only", "tool-only", "always"]
Bucket = Literal["stream", "always", "rulebook", "unused"]

_SOURCES: dict[str, Source] = {"text": "text", "thinking": "thinking", "tool": "tool"}
MAX_CONDITIONS = 50
NAME_CHARS, SUMMARY_CHARS = 100, 1000
_ALWAYS = ("claude", "cline", "windsurf")  # where a file without fields is part of every prompt
_CURSOR_FILE = ".cursorrules"
# Compiled when first used: most rules do without.
_SCOPE = r"(?P<source>text|thinking|tool)(?::(?P<tool>[\w*?-]+))?(?:\((?P<globs>[^()]*)\))?"
_ITEM = r"(?:\([^)]*\)|\[[^\]]*\]|\{[^}]*\}|[^,])+"


class Scope(Struct, frozen=True):
    """One place that a rule watches: `text`, `thinking`, `tool`, `tool:edit` or `tool:edit(*.ts)`."""

    source: Source
    tool: str = "*"
    globs: tuple[str, ...] = ()

    def __str__(self) -> str:
        tool = "" if self.tool == "*" else f":{self.tool}"
        return f"{self.source}{tool}{'(' + ', '.join(self.globs) + ')' if self.globs else ''}"

    def covers(self, source: Source, tool: str) -> bool:
        return self.source == source and (source != "tool" or fnmatchcase(tool, self.tool))


class RuleFile(Struct, frozen=True, kw_only=True, dict=True):
    """`conditions` are regular expressions, `ast_conditions` code patterns; one match of any is enough.

    `globs` limit a rule to files, `agents` to kinds of agents: the main conversation is `main`. `problems`
    say which fields were ignored and why.
    """

    name: str
    content: str = ""  # if not in the file
    path: str = ""
    provider: str = ""
    trusted: bool = True
    description: str = ""
    conditions: tuple[str, ...] = ()
    ast_conditions: tuple[str, ...] = ()
    scope: tuple[Scope, ...] = ()
    globs: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    always: bool = False
    interrupt_on: InterruptOn | None = None
    problems: tuple[str, ...] = ()

    @cached_property
    def bucket(self) -> Bucket:
        """A stream rule, part of every prompt, listed in the prompt, or none of these."""
        if self.scope and (self.conditions or self.ast_conditions):
            return "stream"
        if self.always:
            return "always"
        return "rulebook" if self.description or self.globs else "unused"

    def is_for(self, agent: str | None) -> bool:
        """Whether it applies in the conversation of such an agent; None is any agent."""
        return agent is None or not self.agents or any(fnmatchcase(agent, glob) for glob in self.agents)

    @property
    def summary(self) -> str:
        """What it is about, in one line."""
        files = f"for {', '.join(self.globs)}" if self.globs else ""
        both = f"{self.description} ({files})" if self.description and files else self.description or files
        return shortened(clean_line(both), SUMMARY_CHARS)

    def body(self) -> str:
        """The text of the rule, as it is now. Raises ConfigError."""
        if self.content or not self.path:
            return self.content
        path = Path(self.path)
        return front_matter.parse_front_matter(file_cache.read_text(path), path).body

    def covers(self, source: Source, tool: str = "") -> bool:
        """Whether text of this kind can match. Only calls name the files that globs are about."""
        if self.globs and source != "tool":
            return False
        return any(scope.covers(source, tool) for scope in self.scope)

    def covers_paths(self, source: Source, tool: str, paths: Sequence[str]) -> bool:
        """Whether the globs of the rule and of the scope let these files through."""
        if self.globs and not any(matches_any(self.globs, path) for path in paths):
            return False
        return any(
            scope.covers(source, tool)
            and (not scope.globs or any(matches_any(scope.globs, path) for path in paths))
            for scope in self.scope
        )


DEFAULT_SCOPE = (Scope("text"), Scope("tool"))


def make_rule(
    name: str,
    content: str,
    fields: Mapping[str, Any],
    *,
    path: str = "",
    provider: str = "",
    trusted: bool = True,
) -> RuleFile:
    """Read the fields of a rule file; other agents have their own names for the same things."""
    problems: list[str] = []
    scope = _read_scope(_items(fields.get("scope")), problems)
    conditions = _items(fields.get("condition"), split=False)
    ast_conditions = _items(fields.get("astCondition"), split=False)
    trigger = fields.get("trigger")
    globs = [*_items(fields.get("globs")), *_items(fields.get("applyTo")), *_items(fields.get("paths"))]
    everywhere = {"*", "**", "**/*"}
    always = fields.get("alwaysApply") is True or trigger == "always_on" or bool(everywhere & {*globs})
    if not fields and (provider in _ALWAYS or name == _CURSOR_FILE):
        always = True
    globs = [glob for glob in globs if glob not in everywhere and _is_valid(glob, problems)]
    interrupt = fields.get("interruptMode")
    if interrupt not in (None, "never", "prose-only", "tool-only", "always"):
        problems.append(f'interruptMode "{interrupt}" is not never, prose-only, tool-only or always')
        interrupt = None
    if len(conditions) + len(ast_conditions) > MAX_CONDITIONS:
        problems.append(f"only the first {MAX_CONDITIONS} conditions are used")
    if (conditions or ast_conditions) and globs and all(part.source != "tool" for part in scope):
        problems.append("its globs can never match: only tool calls name files, and its scope has none")
    description = fields.get("description")
    return RuleFile(
        name=shortened(clean_line(str(fields.get("name") or name)), NAME_CHARS),
        content=content.strip(),
        path=path,
        provider=provider,
        trusted=trusted,
        description=description.strip() if isinstance(description, str) else "",
        conditions=tuple(conditions[:MAX_CONDITIONS]),
        ast_conditions=tuple(ast_conditions[:MAX_CONDITIONS]),
        scope=scope,
        globs=tuple(globs),
        agents=tuple(_items(fields.get("agents"))),
        always=always,
        interrupt_on=interrupt,
        problems=tuple(problems),
    )


def _items(value: Any, *, split: bool = True) -> list[str]:
    """A list, or text with commas between its items; commas inside brackets do not count."""
    if isinstance(value, str):
        parts: Iterable[Any] = re.findall(_ITEM, value) if split else [value]
    else:
        parts = value if isinstance(value, (list, tuple)) else ()
    return [text for part in parts if isinstance(part, str) and (text := part.strip() if split else part)]


def _read_scope(items: Sequence[str], problems: list[str]) -> tuple[Scope, ...]:
    scopes = []
    if not items:
        return DEFAULT_SCOPE
    for item in items:
        found = re.fullmatch(_SCOPE, item)
        if found is None or (found["source"] != "tool" and (found["tool"] or found["globs"])):
            problems.append(f'the scope "{item}" is not text, thinking, tool, tool:NAME or tool:NAME(GLOBS)')
            continue
        globs = tuple(glob for glob in _items(found["globs"]) if _is_valid(glob, problems))
        scopes.append(Scope(_SOURCES[found["source"]], found["tool"] or "*", globs))
    return tuple(scopes)


def _is_valid(glob: str, problems: list[str]) -> bool:
    try:
        matcher([glob])
    except BadGlob as error:
        problems.append(f"the glob {error}")
        return False
    return True


@lru_cache(maxsize=1024)
def matches_any(globs: tuple[str, ...], path: str) -> bool:
    """Whether a glob matches the whole path or its last parts: `*.ts` matches `src/a.ts`."""
    return bool(matcher([*globs, *(f"**/{glob.removeprefix('/')}" for glob in globs)])(path))
