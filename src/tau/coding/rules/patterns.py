"""Finds which rules match a text, while it streams and when it is complete.

A pattern comes from a repository, so none may take long: RE2 is linear. What RE2 lacks (lookaround and
backreferences) is left to a module with a time limit, and only for complete text.

While a text streams, only matches that more text cannot undo count: they have a character before and after
them. So the same rules match however the text is split; some only at its end.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from tau.base.late import late
from tau.coding.rules.rule import RuleFile, Source

if TYPE_CHECKING:
    from re2 import Pattern as Re2Pattern
    from re2 import Set as Re2Set
    from regex import Pattern

re2 = late("re2")
regex = late("regex")
trees = late("tau.backends.syntax.patterns")
languages = late("tau.backends.syntax.languages")

WINDOW_BYTES = 1024
MAX_PATTERN_CHARS = 2_000
TIMEOUT_S = 0.005
MAX_TIMEOUTS = 3


class Slow(Struct):
    """A pattern that RE2 cannot run. It is off after its third time-out."""

    rule: RuleFile
    condition: str
    pattern: "Pattern"
    timeouts: int = 0


class EarlySet(Struct, frozen=True):
    """The conditions that can match text of one kind while it streams; `rules` are in the set's order."""

    set: "Re2Set"
    rules: tuple[RuleFile, ...]


class RulePatterns:
    """All conditions of the rules, compiled. `problems` name those that cannot be."""

    def __init__(self, rules: Iterable[RuleFile]) -> None:
        self.problems: dict[str, list[str]] = {}
        self._exact: list[tuple[RuleFile, str, Re2Pattern]] = []
        self._slow: list[Slow] = []
        self._code = [rule for rule in rules if rule.ast_conditions]
        self._early: dict[tuple[Source, str], EarlySet | None] = {}
        self._options = re2.Options()
        self._options.log_errors = False  # it would write to the terminal
        for rule in rules:
            for condition in rule.conditions:
                self._add(rule, condition)

    def _add(self, rule: RuleFile, condition: str) -> None:
        try:
            if len(condition) > MAX_PATTERN_CHARS:
                raise ValueError(f"it has more than {MAX_PATTERN_CHARS:,} characters")
            if ")" in condition:
                re2.compile(condition, self._options)  # alone: `a)(b` would be valid between parentheses
            self._exact.append((rule, condition, re2.compile(f"(?m)(?:{condition})", self._options)))
        except re2.error:
            try:
                compiled = regex.compile(condition, regex.MULTILINE)
            except (regex.error, ValueError, OverflowError, RecursionError) as error:
                self._report(rule, condition, str(error))
            else:
                self._slow.append(Slow(rule, condition, compiled))
        except (ValueError, UnicodeEncodeError) as error:
            self._report(rule, condition, str(error))

    def _report(self, rule: RuleFile, condition: str, reason: str) -> None:
        shown = condition if len(condition) <= 60 else condition[:59] + "…"
        self.problems.setdefault(rule.name, []).append(f"the condition {shown} is not valid: {reason}")

    @property
    def rules(self) -> set[str]:
        """The names of rules with a condition that works."""
        compiled = (*(rule for rule, _, _ in self._exact), *(slow.rule for slow in self._slow), *self._code)
        return {rule.name for rule in compiled}

    def early(self, source: Source, tool: str) -> EarlySet | None:
        """What to look for while text of this kind streams."""
        key = (source, tool)
        if key not in self._early:
            covered = [(rule, text) for rule, text, _ in self._exact if rule.covers(source, tool)]
            self._early[key] = self._compile_set(covered)
        return self._early[key]

    def _compile_set(self, covered: Sequence[tuple[RuleFile, str]]) -> EarlySet | None:
        if not covered:
            return None
        patterns = re2.Set.SearchSet(self._options)
        for _, text in covered:
            patterns.Add(f"(?m)(?s:.)(?:{text})(?s:.)")
        patterns.Compile()
        return EarlySet(patterns, tuple(rule for rule, _ in covered))

    def find(self, text: str) -> list[tuple[str, int, str]]:
        """Each condition that matches: itself, where, and the text it matches."""
        found = []
        for _, condition, pattern in self._exact:
            if match := pattern.search(_encodable(text)):
                found.append((condition, match.start(), match[0]))
        for slow in self._slow:
            if match := slow.pattern.search(text, timeout=1):
                found.append((slow.condition, match.start(), match[0]))
        return found

    def search(self, texts: Sequence[str], rules: Sequence[RuleFile]) -> tuple[list[RuleFile], list[str]]:
        """The rules that match a complete text, and notices of patterns now off. May run in a thread."""
        wanted = {rule.name for rule in rules}
        found = [
            rule
            for rule, _, pattern in self._exact
            if rule.name in wanted and any(pattern.search(_encodable(text)) for text in texts)
        ]
        notices = []
        for slow in self._slow:
            if slow.rule.name not in wanted or slow.timeouts >= MAX_TIMEOUTS:
                continue
            try:
                if any(slow.pattern.search(text, timeout=TIMEOUT_S) for text in texts):
                    found.append(slow.rule)
            except TimeoutError:
                slow.timeouts += 1
                if slow.timeouts == MAX_TIMEOUTS:
                    notices.append(
                        f'A condition of the rule "{slow.rule.name}" is off: it took too long '
                        f"{MAX_TIMEOUTS} times. Without lookaround and backreferences it cannot."
                    )
        return list(dict.fromkeys(found)), notices


def search_code(rules: Sequence[RuleFile], path: str, source: str) -> list[RuleFile]:
    """The rules whose code patterns occur in a source; runs in a thread."""
    language = languages.detect_language(path, source)
    if language is None or not source.strip():
        return []
    patterns = [pattern for rule in rules for pattern in rule.ast_conditions]
    found = set(trees.find_matching(patterns, source, language))
    return [rule for rule in rules if found.intersection(rule.ast_conditions)]


class TextWindow:
    """The end of a text that streams, and all of it. `feed` returns rules that match for certain."""

    def __init__(self, early: EarlySet | None) -> None:
        self._early = early
        self._tail = b"\n"  # so that a first line has a character before it
        self.pieces: list[str] = []

    def search(self, texts: Sequence[str]) -> list[RuleFile]:
        """The rules that match one of several other texts, whatever may follow it."""
        if self._early is None:
            return []
        found: dict[str, RuleFile] = {}
        for text in texts:
            hits = self._early.set.Match(b"\n" + text.encode("utf-8", "replace"))
            found |= {rule.name: rule for rule in map(self._early.rules.__getitem__, hits or ())}
        return list(found.values())

    def feed(self, text: str) -> list[RuleFile]:
        self.pieces.append(text)
        if self._early is None:
            return []
        window = self._tail + text.encode("utf-8", "replace")
        self._tail = window[-WINDOW_BYTES:]
        hits = self._early.set.Match(window)
        return [self._early.rules[hit] for hit in hits] if hits else []

    @property
    def text(self) -> str:
        return "".join(self.pieces)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
