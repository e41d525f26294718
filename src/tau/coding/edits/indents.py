"""Find a single rule that maps the indentation of one text to that of another."""

from collections.abc import Callable, Sequence

Shift = Callable[[str], str | None]
"""Maps an old indentation to the new one; None where the rule does not apply."""
_UNITS = (4, 2, 8, 3)


def shift(old: Sequence[str], new: Sequence[str]) -> Shift | None:
    """Find the rule that maps the indentation of the old lines to that of the new ones, or None.

    Rules: add or remove a fixed prefix, spaces to tabs, tabs to spaces, scale the spaces.
    """
    pairs = {(indent(one), indent(other)) for one, other in zip(old, new, strict=True) if one.strip()}
    if not pairs:
        return lambda text: text
    for rule in (*_fixed(pairs), *_units(pairs), _scaled(pairs)):
        if rule is not None and all(rule(one) == other for one, other in pairs):
            return rule
    return None


def shifted(lines: Sequence[str], rule: Shift) -> list[str] | None:
    """Apply the rule to all lines, or return None if it does not cover one of them."""
    result: list[str] = []
    for line in lines:
        if not line.strip():
            result.append(line)
            continue
        before = indent(line)
        after = rule(before)
        if after is None:
            return None
        result.append(after + line[len(before) :])
    return result


def indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _fixed(pairs: set[tuple[str, str]]) -> list[Shift]:
    one, other = min(pairs)
    rules: list[Shift] = []
    if other.endswith(one):
        more = other.removesuffix(one)
        rules.append(lambda text: more + text)
    if one.endswith(other):
        less = one.removesuffix(other)
        rules.append(lambda text: text.removeprefix(less) if text.startswith(less) else None)
    return rules


def _units(pairs: set[tuple[str, str]]) -> list[Shift]:
    """Rules between tabs and spaces, plus the extra indentation of the outermost line."""
    one, other = min(pairs)
    rules: list[Shift] = []
    for unit in _UNITS:
        for rule in (_tabs(unit), _blanks(unit)):
            start = rule(one)
            if start is not None and other.endswith(start):
                rules.append(_after(other.removesuffix(start), rule))
    return rules


def _after(more: str, rule: Shift) -> Shift:
    def longer(text: str) -> str | None:
        rest = rule(text)
        return None if rest is None else more + rest

    return longer


def _tabs(unit: int) -> Shift:
    def rule(text: str) -> str | None:
        return None if "\t" in text else "\t" * (len(text) // unit) + " " * (len(text) % unit)

    return rule


def _blanks(unit: int) -> Shift:
    return lambda text: None if " " in text else " " * unit * len(text)


def _scaled(pairs: set[tuple[str, str]]) -> Shift | None:
    deep = next(((len(one), len(other)) for one, other in sorted(pairs, reverse=True) if one), None)
    if deep is None or not deep[1] or any("\t" in one + other for one, other in pairs):
        return None
    before, after = deep

    def rule(text: str) -> str | None:
        return None if "\t" in text or len(text) * after % before else " " * (len(text) * after // before)

    return rule
