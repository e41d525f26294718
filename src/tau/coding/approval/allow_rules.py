"""The user's permanent permissions: patterns such as `run: git status *` or `write: ~/notes/**`.

Command patterns match the words of simple commands, never raw text: see `shell_syntax`. Each word of a
pattern matches one word, `*` in it any characters; a final `*` also allows more words. A `*` never matches
an option that makes the program run another one or write a file of the caller's choice: the pattern must
spell out such a word.
"""

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from msgspec import Struct

from tau.base.files import typed_path
from tau.base.late import late
from tau.coding.files.paths import real

commands = late("tau.coding.approval.shell_syntax")
options = late("tau.coding.approval.unsafe_options")
shlex = late("shlex")

_Kind = Literal["run", "write", "connect"]
MAX_PATTERNS = 500
MAX_PATTERN_CHARS = 1_000


class AllowRule(Struct, frozen=True):
    """One pattern: `words` of a command, or `path` as a regular expression, or a `host`."""

    kind: _Kind
    text: str
    words: tuple[str, ...] = ()
    open_end: bool = False
    path: str = ""
    host: str = ""


class AllowRules(Struct, frozen=True):
    """All patterns, and a sentence for each invalid one."""

    rules: tuple[AllowRule, ...] = ()
    problems: tuple[str, ...] = ()

    @classmethod
    def of(cls, patterns: Iterable[str]) -> "AllowRules":
        """Parse the user's patterns."""
        rules: list[AllowRule] = []
        problems: list[str] = []
        for number, text in enumerate(patterns):
            if number >= MAX_PATTERNS:
                problems.append(f"tools.allow has more than {MAX_PATTERNS} patterns; the rest are ignored.")
                break
            try:
                rules.append(parse_rule(text))
            except ValueError as error:
                problems.append(f'The pattern "{text[:200]}" in tools.allow is ignored: {error}.')
        return cls(tuple(rules), tuple(problems))

    def adding(self, patterns: Iterable[str]) -> "AllowRules":
        more = AllowRules.of(patterns)
        return AllowRules((*self.rules, *more.rules), (*self.problems, *more.problems))

    def command(self, text: str, folders: Sequence[Path]) -> bool:
        """Whether every simple command of this shell text is allowed.

        A leading `cd` is allowed if it stays inside one of these folders.
        """
        rules = [rule for rule in self.rules if rule.kind == "run"]
        if not rules:
            return False
        found = commands.simple_commands(text)
        if found is None:
            return False
        if len(found) > 1 and _stays_inside(found[0], text, folders):
            found = found[1:]
        return all(any(_fits(rule, words) for rule in rules) for words in found)

    def write(self, target: Path) -> bool:
        """Whether this file (a real path) may be written."""
        return any(
            rule.kind == "write" and re.fullmatch(rule.path, str(target), re.DOTALL) for rule in self.rules
        )

    def connection(self, host: str) -> bool:
        return any(rule.kind == "connect" and fnmatchcase(host.lower(), rule.host) for rule in self.rules)


NOTHING = AllowRules()


def parse_rule(text: str) -> AllowRule:
    """Parse one pattern; raises ValueError with the reason."""
    if len(text) > MAX_PATTERN_CHARS or not text.isprintable():
        raise ValueError("it is too long or contains invisible characters")
    kind, colon, rest = text.partition(":")
    kind, rest = kind.strip().lower(), rest.strip()
    if not colon or not rest:
        raise ValueError('write it like "run: git status *", "write: ~/notes/**" or "connect: example.com"')
    match kind:
        case "run":
            return _run_rule(text, rest)
        case "write":
            return AllowRule("write", text, path=_path_pattern(rest))
        case "connect":
            return AllowRule("connect", text, host=rest.lower())
    raise ValueError(f'it starts with "{kind}" instead of run, write or connect')


def _run_rule(text: str, rest: str) -> AllowRule:
    try:
        words = shlex.split(rest)
    except ValueError:
        raise ValueError("a quote is not closed") from None
    if not words or "*" in words[0] or not words[0]:
        raise ValueError("the program name must be spelled out; to allow everything, set tools.approvalMode")
    open_end = rest.endswith("*")
    if words[-1] == "*":
        words.pop()
    return AllowRule("run", text, words=tuple(words), open_end=open_end)


def _fits(rule: AllowRule, words: tuple[str, ...]) -> bool:
    wanted = rule.words
    if len(words) < len(wanted) or (len(words) > len(wanted) and not rule.open_end):
        return False
    loose = list(range(len(wanted), len(words)))
    for at, pattern in enumerate(wanted):
        if pattern == words[at]:
            continue
        if "*" not in pattern or not _matches(pattern, words[at]):
            return False
        loose.append(at)
    return not any(options.is_unsafe(words, at) for at in loose)


def _matches(pattern: str, word: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), word, re.DOTALL) is not None


def _stays_inside(words: tuple[str, ...], text: str, folders: Sequence[Path]) -> bool:
    """Whether this is `cd FOLDER &&` with an absolute path in the workspace."""
    if len(words) != 2 or words[0] != "cd" or not words[1].startswith("/"):
        return False
    beginning = f"cd {shlex.quote(words[1])} && "
    folder = real(Path(words[1]))
    return text.startswith(beginning) and any(folder.is_relative_to(root) for root in folders)


def _path_pattern(text: str) -> str:
    """`*` stays within a folder, `**` does not. Symbolic links before the first one are resolved."""
    if not text.startswith(("/", "~/")):
        raise ValueError("a path starts with / or ~/")
    parts = str(typed_path(text)).split("/")
    if ".." in parts or "." in parts:
        raise ValueError("a path must not contain . or ..")
    fixed = next((at for at, part in enumerate(parts) if "*" in part), len(parts))
    base = str(real(Path("/".join(parts[:fixed]) or "/")))
    pattern = re.escape(base.rstrip("/"))
    rest = parts[fixed:]
    for at, part in enumerate(rest):
        if part == "**":
            pattern += "/.+" if at == len(rest) - 1 else "(?:/[^/]+)*"
        else:
            pattern += "/" + "[^/]*".join(map(re.escape, part.split("*")))
    return pattern
