"""The user's permanent permissions: patterns such as `run: git status *` or `write: ~/notes/**`.

Command patterns match the words of simple commands, never raw text: see `shell_syntax`. Each word of a
pattern matches one word, `*` in it any characters; a final `*` also allows more words. A `*` covers only
arguments that `harmless_options` lists for the program: the pattern must spell out all others.
"""

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from tau.base.files import typed_path
from tau.base.late import late
from tau.coding.files.paths import real

commands = late("tau.coding.approval.shell_syntax")
options = late("tau.coding.approval.harmless_options")
shell_words = late("tau.coding.approval.shell_words")
shlex = late("shlex")

if TYPE_CHECKING:
    from tau.coding.approval.shell_words import ShellWord

_Kind = Literal["run", "write", "connect"]
MAX_PATTERNS = 500
MAX_PATTERN_CHARS = 1_000
# What is between the `*` of a word; a word without any has one part.
_PatternWord: TypeAlias = tuple[str, ...]


class AllowRule(Struct, frozen=True):
    """One pattern: `words` of a command, or `path` as a regular expression, or a `host`."""

    kind: _Kind
    text: str
    words: tuple[_PatternWord, ...] = ()
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
                problems += _find_problem(rules[-1])
            except ValueError as error:
                problems.append(f'The pattern "{text[:200]}" in tools.allow is ignored: {error}.')
        return cls(tuple(rules), tuple(problems))

    def adding(self, patterns: Iterable[str]) -> "AllowRules":
        more = AllowRules.of(patterns)
        return AllowRules((*self.rules, *more.rules), (*self.problems, *more.problems))

    def command(
        self,
        text: str,
        folders: Sequence[Path],
        *,
        env: Sequence[tuple[str, str]] = (),
        cwd: Path | None = None,
    ) -> bool:
        """Whether every simple command of this shell text is allowed.

        A leading `cd` is allowed if it stays inside one of these folders, and so is `cwd`, if the call names
        one. Variables that the call sets can make any program run another: see `can_be_remembered`.
        """
        rules = [rule for rule in self.rules if rule.kind == "run"]
        if not rules or not can_be_remembered(env):
            return False
        if cwd is not None and not _is_inside(cwd, folders):
            return False
        found = commands.plain_commands(text)
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


def can_be_remembered(env: Sequence[tuple[str, str]]) -> bool:
    """Whether patterns and answers for the session may cover a call that sets these variables.

    No list of harmless variables would be complete: PATH, BASH_ENV, GIT_EXTERNAL_DIFF and PAGER all run
    programs, so such a call asks every time.
    """
    return not env


def _run_rule(text: str, rest: str) -> AllowRule:
    words = _split_words(rest)
    if not words or len(words[0]) > 1 or not words[0][0]:
        raise ValueError("the program name must be spelled out; to allow everything, set tools.approvalMode")
    open_end = len(words[-1]) > 1 and not words[-1][-1]
    if words[-1] == ("", ""):
        words.pop()
    return AllowRule("run", text, words=tuple(words), open_end=open_end)


def _split_words(text: str) -> list[_PatternWord]:
    """The words of a pattern, split like a shell does. An unquoted `~` is the home folder, as in commands."""
    words: list[list[str]] = []
    is_inside = False
    at = 0
    for piece in re.finditer(r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|(\s+)|(.)""", text, re.DOTALL):
        if piece.start() != at or piece[5] in ("'", '"', "\\"):
            break
        at = piece.end()
        if piece[4] is not None:
            is_inside = False
            continue
        if not is_inside:
            words.append([""])
            is_inside = True
        if piece[5] is None:
            quoted = piece[1] if piece[1] is not None else piece[2]
            words[-1][-1] += piece[3] if quoted is None else re.sub(r'\\([$`"\\])', r"\1", quoted)
        elif piece[5] == "*":
            words[-1].append("")
        elif piece[5] == "~" and words[-1] == [""]:
            name = re.match(r"~[^/\s]*", text[piece.start() :])
            words[-1][-1] += str(typed_path("~")) if name and name[0] == "~" else "~"
        elif piece[5] in "?[{}$`;&|<>()":
            raise ValueError(f'a "{piece[5]}" must be quoted')
        else:
            words[-1][-1] += piece[5]
    if at != len(text):
        raise ValueError("a quote is not closed")
    return [tuple(word) for word in words]


def _find_problem(rule: AllowRule) -> list[str]:
    """A sentence if a `*` of the pattern covers nothing."""
    if rule.kind != "run" or not (rule.open_end or any(len(word) > 1 for word in rule.words)):
        return []
    check = options.ArgumentCheck(rule.words[0][0])
    known = [rule.words[0][0]]
    for word in rule.words[1:]:
        if len(word) > 1 or not check.is_open:
            break
        check.accepts(word[0], fixed=True)
        known.append(word[0])
    if check.is_open:
        return []
    return [
        f'The * of the pattern "{rule.text}" in tools.allow covers nothing: there is no list of harmless '
        f'arguments for "{" ".join(known)}". Add a pattern for each command instead.'
    ]


def _fits(rule: AllowRule, words: "tuple[ShellWord, ...]") -> bool:
    wanted = rule.words
    if len(words) < len(wanted) or (len(words) > len(wanted) and not rule.open_end):
        return False
    check = options.ArgumentCheck(wanted[0][0])
    for at, word in enumerate(words):
        value = shell_words.known_value(word)
        if at >= len(wanted):
            # What a glob matches is a word each; it never begins with a dash here.
            if not check.accepts(word.text if value is None else value, fixed=False, is_glob=value is None):
                return False
            continue
        if value is None or not _matches(wanted[at], value):
            return False
        if at > 0 and not check.accepts(value, fixed=len(wanted[at]) == 1):
            return False
    return True


def _matches(pattern: _PatternWord, word: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern)), word, re.DOTALL) is not None


def _stays_inside(words: "tuple[ShellWord, ...]", text: str, folders: Sequence[Path]) -> bool:
    """Whether this is `cd FOLDER &&` with an absolute path in the workspace."""
    if len(words) != 2 or words[0].text != "cd" or not words[1].text.startswith("/") or words[1].expansions:
        return False
    beginning = f"cd {shlex.quote(words[1].text)} && "
    return text.startswith(beginning) and _is_inside(Path(words[1].text), folders)


def _is_inside(folder: Path, folders: Sequence[Path]) -> bool:
    return any(real(folder).is_relative_to(root) for root in folders)


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
