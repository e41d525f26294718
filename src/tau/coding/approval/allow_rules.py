"""What the user allows once and for all: patterns such as `run: git status *` or `write: ~/notes/**`.

A pattern for commands is compared with the words of simple commands, never with text: see `shell_syntax`.
Each word of a pattern stands for one word, `*` in it for any letters; a `*` at the very end of the pattern
also lets more words follow. What a `*` stands for never includes an option by which the program would run
another one or write a file of the caller's choice: such a word must stand in the pattern itself.
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
    """All patterns, and a sentence for each that cannot be used."""

    rules: tuple[AllowRule, ...] = ()
    problems: tuple[str, ...] = ()

    @classmethod
    def of(cls, patterns: Iterable[str]) -> "AllowRules":
        """From the patterns as the user wrote them."""
        rules: list[AllowRule] = []
        problems: list[str] = []
        for number, text in enumerate(patterns):
            if number >= MAX_PATTERNS:
                problems.append(f"tools.allow has more than {MAX_PATTERNS} patterns; the rest is not used.")
                break
            try:
                rules.append(parse_rule(text))
            except ValueError as error:
                problems.append(f'The pattern "{text[:200]}" of tools.allow is not used: {error}.')
        return cls(tuple(rules), tuple(problems))

    def adding(self, patterns: Iterable[str]) -> "AllowRules":
        """With some more."""
        more = AllowRules.of(patterns)
        return AllowRules((*self.rules, *more.rules), (*self.problems, *more.problems))

    def command(self, text: str, folders: Sequence[Path]) -> bool:
        """Whether every simple command of this shell text is allowed.

        A `cd` at its beginning is, if it stays inside one of these folders.
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
        """Whether this file, given by its real path, may be written."""
        return any(
            rule.kind == "write" and re.fullmatch(rule.path, str(target), re.DOTALL) for rule in self.rules
        )

    def connection(self, host: str) -> bool:
        return any(rule.kind == "connect" and fnmatchcase(host.lower(), rule.host) for rule in self.rules)


NOTHING = AllowRules()


def parse_rule(text: str) -> AllowRule:
    """One pattern; raises ValueError with what is wrong with it."""
    if len(text) > MAX_PATTERN_CHARS or not text.isprintable():
        raise ValueError("it is too long, or holds characters that nobody can see")
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
    raise ValueError(f'it begins with "{kind}", not with run, write or connect')


def _run_rule(text: str, rest: str) -> AllowRule:
    try:
        words = shlex.split(rest)
    except ValueError:
        raise ValueError("a quotation mark is not closed") from None
    if not words or "*" in words[0] or not words[0]:
        raise ValueError("the name of the program must be spelt out; tools.approvalMode can allow everything")
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
    return not any(options.is_telling(words, at) for at in loose)


def _matches(pattern: str, word: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), word, re.DOTALL) is not None


def _stays_inside(words: tuple[str, ...], text: str, folders: Sequence[Path]) -> bool:
    """`cd FOLDER &&` with a whole path in the workspace."""
    if len(words) != 2 or words[0] != "cd" or not words[1].startswith("/"):
        return False
    beginning = f"cd {shlex.quote(words[1])} && "
    folder = real(Path(words[1]))
    return text.startswith(beginning) and any(folder.is_relative_to(root) for root in folders)


def _path_pattern(text: str) -> str:
    """`*` stays within a folder, `**` does not. What stands before them is followed through links."""
    if not text.startswith(("/", "~/")):
        raise ValueError("a path begins with / or ~/")
    parts = str(typed_path(text)).split("/")
    if ".." in parts or "." in parts:
        raise ValueError("a path has no . or .. in it")
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
