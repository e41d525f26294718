"""Raised by the gate when the screen is wrong."""


class Mismatch(AssertionError):
    """`rule` names what was broken; the reducer looks for a shorter run that breaks the same rule."""

    def __init__(self, rule: str, detail: str) -> None:
        super().__init__(f"{rule}: {detail}")
        self.rule = rule
        self.detail = detail


def differing(expected: list[str], found: list[str], around: int = 3) -> str:
    """Where two tapes diverge, with some rows around it."""
    at = 0
    while at < min(len(expected), len(found)) and expected[at] == found[at]:
        at += 1
    lines = [f"row {at} of {len(expected)} expected, {len(found)} found"]
    for name, rows in (("expected", expected), ("found", found)):
        lines += [
            f"  {name} {number}: {rows[number]!r}"
            for number in range(max(0, at - around), min(len(rows), at + around + 1))
        ]
    return "\n".join(lines)
