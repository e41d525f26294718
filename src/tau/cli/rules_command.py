"""`tau rules [list|show|test]`: which rules there are, what one says, and what it would match."""

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from tau.base.errors import UsageError
from tau.base.late import late
from tau.cli.json_output import write_json
from tau.cli.main import write_stdout
from tau.cli.parse import ParsedArgs
from tau.cli.subcommand_flags import parse_subcommand
from tau.cli.subcommand_help import usage_line
from tau.coding.rules.catalog import BUNDLED_PROVIDER, bundled_rules
from tau.coding.rules.rule import Bucket, RuleFile, Source, make_rule
from tau.coding.supplies import Supplies
from tau.config.discovery.file_cache import read_text
from tau.config.discovery.front_matter import parse_front_matter
from tau.config.layers import load_settings
from tau.config.paths import current_folder, user_paths
from tau.config.settings import Settings
from tau.config.trust import trust_status

patterns = late("tau.coding.rules.patterns")

ACTIONS = ("list", "show", "test")
SOURCES: dict[str, Source] = {"text": "text", "thinking": "thinking", "tool": "tool"}
BUCKETS: dict[Bucket, str] = {
    "stream": "watches the stream",
    "always": "in every prompt",
    "rulebook": "listed, read when needed",
    "unused": "not used: it has no condition, no description, no globs and no alwaysApply",
}


class _Row(Struct, frozen=True, rename="camel"):
    name: str
    bucket: Bucket
    path: str
    provider: str
    trusted: bool
    problems: list[str]


class _Rules:
    def __init__(self) -> None:
        paths, cwd = user_paths(os.environ), current_folder()
        self.settings: Settings = load_settings(paths, cwd).settings
        supplies = Supplies(cwd, paths, self.settings, trusted=trust_status(cwd, paths).trusted)
        own = supplies.rules.rules
        replaced = {rule.name for rule in own if rule.trusted and rule.bucket == "stream"}
        names = replaced | {*self.settings.ttsr.disabled_rules}
        with_tau = bundled_rules() if self.settings.rules.enabled and self.settings.ttsr.builtin_rules else []
        self.all = [*own, *(rule for rule in with_tau if rule.name not in names)]

    def find(self, name: str) -> RuleFile:
        """A rule by its name, or the file of one."""
        found = next((rule for rule in self.all if rule.name == name), None)
        if found is not None:
            return found
        path = Path(name)
        if not path.is_file():
            raise UsageError(f'There is no rule "{name}", and no file. tau rules lists them.')
        head = parse_front_matter(read_text(path), path)
        return make_rule(path.stem, head.body, head.fields, path=name)


def run(argv: Sequence[str]) -> int:
    """Run `tau rules`. Raises TauError."""
    parsed = parse_subcommand("rules", argv)
    action, *rest = parsed.words or ["list"]
    if action == "list" and not rest and parsed.values.keys() <= {"json"}:
        return _list(parsed.has("json"))
    if action == "show" and len(rest) == 1 and not parsed.values:
        return _show(rest[0])
    if action == "test" and len(rest) > 1 and not parsed.has("json"):
        return _test(rest[0], " ".join(rest[1:]), parsed)
    raise UsageError(usage_line("rules"))


def _list(as_json: bool) -> int:
    rules = _Rules().all
    compiled = patterns.RulePatterns([rule for rule in rules if rule.bucket == "stream"])
    rows = [
        _Row(
            rule.name,
            rule.bucket,
            rule.path,
            rule.provider,
            rule.trusted,
            [*rule.problems, *compiled.problems.get(rule.name, ())],
        )
        for rule in rules
    ]
    if as_json:
        return write_json(rows)
    lines = []
    for row in rows:
        place = "comes with tau" if row.provider == BUNDLED_PROVIDER else row.path
        lines.append(f"{row.name}: {BUCKETS[row.bucket]} ({place})")
        if not row.trusted and row.bucket == "stream":
            lines.append("  waits until you trust this repository; see tau trust")
        lines += [f"  {problem}" for problem in row.problems]
    return write_stdout("".join(f"{line}\n" for line in lines or ["There are no rules."]))


def _show(name: str) -> int:
    rule = _Rules().find(name)
    fields = {
        "description": rule.description,
        "used": BUCKETS[rule.bucket],
        "condition": "\n".join(rule.conditions),
        "code": "\n".join(rule.ast_conditions),
        "scope": ", ".join(map(str, rule.scope)) if rule.bucket == "stream" else "",
        "globs": ", ".join(rule.globs),
        "path": rule.path,
        "problem": "\n".join(rule.problems),
    }
    indent = "\n" + " " * 13
    lines = [f"{key + ':':<13}{value.replace(chr(10), indent)}" for key, value in fields.items() if value]
    return write_stdout("\n".join([*lines, "", rule.body(), ""]))


def _test(name: str, text: str, parsed: ParsedArgs) -> int:
    source = SOURCES[parsed.value("source") or "tool"]
    rules = _Rules()
    rule = rules.find(name)
    tool, path = parsed.value("tool") or "write", parsed.value("path") or ""
    compiled = patterns.RulePatterns([rule])
    lines = _why_not(rule, rules.settings, source, tool, path)
    lines += [f"Note: {problem}." for problem in compiled.problems.get(rule.name, ())]
    found = compiled.find(text)
    lines += [f"{condition} matches at character {start + 1}: {shown}" for condition, start, shown in found]
    has_code = bool(path and rule.ast_conditions and patterns.search_code([rule], path, text))
    if rule.ast_conditions:
        lines.append(f"The code patterns {'match' if has_code else 'do not match'}.")
    if not (found or has_code):
        lines.append("Nothing matches.")
    return write_stdout("".join(f"{line}\n" for line in lines)) or (0 if found or has_code else 1)


def _why_not(rule: RuleFile, settings: Settings, source: Source, tool: str, path: str) -> list[str]:
    """Why the rule would not trigger in a session whatever the text."""
    reasons = []
    if not settings.ttsr.enabled:
        reasons.append("Rules do not watch the stream: ttsr.enabled is off.")
    if rule.name in settings.ttsr.disabled_rules:
        reasons.append("It is in ttsr.disabledRules.")
    if not rule.trusted:
        reasons.append("It is inactive until you trust this repository; see tau trust.")
    if rule.bucket != "stream":
        reasons.append("It has no condition, so it watches nothing.")
    elif not any(scope.covers(source, tool) for scope in rule.scope):
        reasons.append(f"Its scope does not cover {source}{f' calls of {tool}' if source == 'tool' else ''}.")
    elif not rule.covers_paths(source, tool, [path] if path else []):
        reasons.append(f"Its globs do not cover {path}." if path else "Its globs need a file: add --path.")
    if settings.ttsr.repeat_mode == "once":
        reasons.append("It triggers once per session; ttsr.repeatMode changes that.")
    return [*reasons, *(f"Note: {problem}." for problem in rule.problems)]
