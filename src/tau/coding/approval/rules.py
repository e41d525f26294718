"""The user's rules: patterns of tools, commands, paths and hosts to allow, ask about or deny.

`tools.allow` must match completely, by `allow_rules`. `tools.ask` and `tools.deny` match generously: more
words may follow, case does not matter, and what may match asks.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from tau.base.files import typed_path
from tau.base.late import late
from tau.coding.approval import allow_rules
from tau.coding.approval.allow_rules import MAX_PATTERN_CHARS, MAX_PATTERNS, AllowRules
from tau.coding.files.paths import real

if TYPE_CHECKING:
    from tau.coding.approval.command_report import CommandReport, SimpleCommand

shlex = late("shlex")

RuleAction = Literal["allow", "ask", "deny"]
ACTIONS: tuple[RuleAction, ...] = ("allow", "ask", "deny")
_Kind = Literal["tool", "read", "run", "write", "connect", "mcp"]
_KINDS: tuple[_Kind, ...] = ("tool", "read", "run", "write", "connect", "mcp")
_EXAMPLES = (
    '"run: git status *", "write: ~/notes/**", "read: ./.env", "connect: example.com", "mcp: github.get_*"'
    ' or "tool: ssh"'
)


class RuleMatch(Struct, frozen=True):
    """A rule that matches; if not `certain`, it only may."""

    rule: str
    certain: bool = True


class Rule(Struct, frozen=True):
    """One parsed pattern: a `glob` for a tool or host, regular expressions for a path, words of a command.

    `base` is the path before the first star, and `has_star` says whether there is one. A rule with a
    `copied` folder, of (copy, original), means the files of the copy by their names in the original.
    """

    kind: _Kind
    text: str
    glob: str = ""
    paths: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    base: str = ""
    has_star: bool = False
    copied: tuple[str, str] | None = None

    def in_copy(self, original: Path, copy: Path) -> "Rule":
        """The same rule for a copy of a folder."""
        base = Path(self.base)
        inner = base.relative_to(original) if base.is_relative_to(original) else Path()
        return replace(self, base=str(copy / inner), copied=(str(copy), str(original)))

    @property
    def match(self) -> RuleMatch:
        return RuleMatch(self.text)

    def path(self, target: Path) -> bool:
        """Whether it matches a real path."""
        found = str(target)
        if self.copied is not None:
            copy, original = self.copied
            if not target.is_relative_to(copy):
                return False
            found = original + found[len(copy) :]
        return any(re.fullmatch(pattern, found, re.DOTALL | re.IGNORECASE) for pattern in self.paths)


class RuleList(Struct, frozen=True):
    """The patterns of one list, and a sentence for each invalid one.

    `allowed` has the patterns of `tools.allow` for commands, writes and hosts.
    """

    action: RuleAction
    patterns: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    allowed: AllowRules = AllowRules()
    problems: tuple[str, ...] = ()

    @classmethod
    def of(cls, action: RuleAction, patterns: Iterable[str], root: Path | None = None) -> "RuleList":
        """Parse patterns; paths that start with `./` are below `root`."""
        kept: dict[str, None] = {}
        rules: list[Rule] = []
        allowed: list[str] = []
        problems: list[str] = []
        for text in dict.fromkeys(patterns):
            if len(kept) >= MAX_PATTERNS:
                problems.append(
                    f"tools.{action} has more than {MAX_PATTERNS} patterns; the rest are ignored."
                )
                break
            try:
                found = parse(action, text, root)
            except ValueError as error:
                problems.append(f'The pattern "{text[:200]}" in tools.{action} is ignored: {error}.')
                continue
            kept[text] = None
            if isinstance(found, Rule):
                rules.append(found)
            else:
                allowed.append(found)
        parsed = AllowRules.of(allowed)
        return cls(action, tuple(kept), tuple(rules), parsed, (*problems, *parsed.problems))

    def adding(self, patterns: Sequence[str], root: Path | None = None) -> "RuleList":
        return RuleList.of(self.action, (*self.patterns, *patterns), root)

    def in_copy(self, original: Path, copy: Path) -> "RuleList":
        """The rules for files, for a copy of a folder."""
        found = [rule.in_copy(original, copy) for rule in self.rules if rule.kind in ("read", "write")]
        return RuleList(self.action, self.patterns, tuple(found))

    def without(self, pattern: str, root: Path | None = None) -> "RuleList":
        return RuleList.of(self.action, [one for one in self.patterns if one != pattern], root)

    def tool(self, name: str) -> RuleMatch | None:
        return self._first(lambda rule: rule.kind == "tool" and self._is_name(name, rule.glob))

    def mcp(self, server: str, tool: str) -> RuleMatch | None:
        """`*` is any server, so a rule for one of them may match. Only asking and denying mix up dots."""
        name = f"{server}.{tool}"
        for rule in self.rules:
            if rule.kind == "mcp" and server == "*":
                return RuleMatch(rule.text, certain=rule.glob in ("*", "*.*"))
            is_sure = self.action != "allow" or _is_of_server(rule.glob, server, tool)
            if rule.kind == "mcp" and is_sure and self._is_name(name, rule.glob):
                return rule.match
        return None

    def _is_name(self, name: str, glob: str) -> bool:
        if self.action == "allow":
            return fnmatchcase(name, glob)
        return fnmatchcase(name.lower(), glob.lower())

    def read(self, target: Path) -> RuleMatch | None:
        return self._first(lambda rule: rule.kind == "read" and rule.path(target))

    def write(self, target: Path) -> RuleMatch | None:
        return self._first(lambda rule: rule.kind == "write" and rule.path(target))

    def connection(self, host: str) -> RuleMatch | None:
        """`*` is any host, so a rule for one of them may match."""
        name = host.lower()
        name = (name.partition(":")[0] if name.count(":") == 1 else name).rstrip(".")
        for rule in self.rules:
            if rule.kind == "connect" and (name == "*" or fnmatchcase(name, rule.glob)):
                return RuleMatch(rule.text, certain=name != "*" or rule.glob == "*")
        return None

    def command(self, report: "CommandReport") -> RuleMatch | None:
        """The first rule that matches one of the commands, or else one that may."""
        possible: RuleMatch | None = None
        for rule in self.rules:
            if rule.kind != "run":
                continue
            found = [_match(rule.words, command) for command in report.commands]
            if "yes" in found:
                return RuleMatch(rule.text)
            if possible is None and (report.problem or "maybe" in found):
                possible = RuleMatch(rule.text, certain=False)
        return possible

    @property
    def has_commands(self) -> bool:
        return any(rule.kind == "run" for rule in self.rules)

    def _first(self, matches: Callable[[Rule], bool]) -> RuleMatch | None:
        return next((RuleMatch(rule.text) for rule in self.rules if matches(rule)), None)


def _is_of_server(glob: str, server: str, tool: str) -> bool:
    """Whether the part before one of the dots is for the server: `s.*` is not for one called `s.t`."""
    parts = glob.split(".")
    splits = ((".".join(parts[:at]), ".".join(parts[at:])) for at in range(1, len(parts)))
    return len(parts) == 1 or any(fnmatchcase(server, one) and fnmatchcase(tool, two) for one, two in splits)


def parse(action: RuleAction, text: str, root: Path | None = None) -> Rule | str:
    """Parse one pattern; a `str` is one for `allow_rules`. Raises ValueError with the reason."""
    if len(text) > MAX_PATTERN_CHARS or not text.isprintable():
        raise ValueError("it is too long or contains invisible characters")
    kind, colon, rest = text.partition(":")
    kind, rest = kind.strip().lower(), rest.strip()
    if not colon or not rest:
        raise ValueError(f"write it like {_EXAMPLES}")
    if rest.startswith("./") and kind in ("read", "write") and root is not None:
        rest = f"{root}/{rest.removeprefix('./')}"
    match kind:
        case "tool" | "mcp":
            return Rule("mcp" if kind == "mcp" else "tool", text, glob=rest)
        case "read":
            before, star, _ = rest.partition("*")
            base = str(real(typed_path(before.rpartition("/")[0] or "/" if star else rest)))
            return Rule("read", text, paths=_paths(rest), base=base, has_star=bool(star))
        case "run" | "write" | "connect" if action == "allow":
            allow_rules.parse_rule(f"{kind}: {rest}")
            return f"{kind}: {rest}"
        case "run":
            return Rule("run", text, words=_words(rest))
        case "write":
            return Rule("write", text, paths=_paths(rest))
        case "connect":
            return Rule("connect", text, glob=rest.lower().rstrip("."))
    raise ValueError(f'it starts with "{kind}" instead of {", ".join(_KINDS[:-1])} or {_KINDS[-1]}')


def _paths(rest: str) -> tuple[str, ...]:
    """Regular expressions for a path pattern; `folder/**` means the folder too."""
    own = allow_rules.parse_rule(f"write: {rest}").path
    if rest.endswith("/**") and rest.count("/") > 1:
        return own, allow_rules.parse_rule(f"write: {rest.removesuffix('/**')}").path
    return (own,)


def _words(rest: str) -> tuple[str, ...]:
    """The words that a command must begin with."""
    try:
        words = shlex.split(rest)
    except ValueError:
        raise ValueError("a quote is not closed") from None
    while len(words) > 1 and words[-1] == "*":
        words.pop()
    return tuple(words)


def _match(wanted: tuple[str, ...], command: "SimpleCommand") -> Literal["yes", "maybe", "no"]:
    """`yes` if the command begins with the words, `maybe` if they occur in order or are not known yet."""
    name: str | None = command.name or None
    words = (name, *command.words)
    if name is not None and "/" in name and "/" not in wanted[0]:
        words = (name.rpartition("/")[2], *command.words)
    found = [_is_word(pattern, word) for pattern, word in zip(wanted, words, strict=False)]
    if len(words) >= len(wanted) and all(is_word is True for is_word in found):
        return "yes"
    if not words or _is_word(wanted[0], words[0]) is False:
        return "no"
    rest = iter(words[1:])
    in_order = all(any(_is_word(pattern, word) is not False for word in rest) for pattern in wanted[1:])
    return "maybe" if in_order else "no"


def _is_word(pattern: str, word: str | None) -> bool | None:
    """None: only known when the command runs."""
    if word is None:
        return None if pattern != "*" else True
    regex = ".*".join(map(re.escape, pattern.split("*")))
    return re.fullmatch(regex, word, re.DOTALL | re.IGNORECASE) is not None
