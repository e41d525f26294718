"""Find the lines of a file most similar to given ones, if unambiguous; bounded in time."""

from collections.abc import Sequence

from msgspec import Struct

from tau.base.late import late
from tau.coding.edits.lines import LOOKALIKE, folded

difflib = late("difflib")

GAP = 0.05
MAX_LINE_CHARS = 500
MAX_COMPARISONS = 4_000


class SimilarText(Struct, frozen=True):
    at: int
    similarity: float


def similar_windows(lines: Sequence[str], wanted: Sequence[str], threshold: float) -> SimilarText | None:
    """Return the best window of equal length, if above the threshold and clearly better than the next."""
    keys = [folded(line, LOOKALIKE).strip() for line in wanted]
    total = sum(map(len, keys))
    if not total or len(lines) < len(keys):
        return None
    there = [folded(line, LOOKALIKE).strip() for line in lines]
    compared = _Compared(keys)
    allowed = (1 - max(threshold - GAP, 0)) * total
    found: list[SimilarText] = []
    for at in range(len(there) - len(keys) + 1):
        lost = _lost(there, at, compared, allowed)
        if compared.effort > MAX_COMPARISONS:
            return None
        if lost <= allowed:
            found.append(SimilarText(at, 1 - lost / total))
    found.sort(key=lambda one: -one.similarity)
    if not found or found[0].similarity < threshold:
        return None
    if len(found) > 1 and found[0].similarity - found[1].similarity < GAP:
        return None
    return found[0]


def _lost(there: Sequence[str], at: int, compared: "_Compared", allowed: float) -> float:
    """Count the wanted characters that this window lacks, stopping once over `allowed`."""
    lost = 0.0
    for index, key in enumerate(compared.keys):
        line = there[at + index]
        if line != key:
            lost += compared.lost(index, line, allowed - lost)
            if lost > allowed:
                break
    return lost


class _Compared:
    """The wanted lines, prepared once for many comparisons."""

    def __init__(self, keys: list[str]) -> None:
        self.keys = keys
        self.effort = 0.0
        self._matchers: dict[int, difflib.SequenceMatcher[str]] = {}

    def lost(self, index: int, line: str, allowed: float) -> float:
        """Return the cost of a differing line, trying cheap bounds first."""
        key = self.keys[index]
        weight = max(len(key), 1)
        if not key or not line:
            return float(weight + len(line))
        most = 2 * min(len(key), len(line)) / (len(key) + len(line))
        if (1 - most) * weight > allowed or max(len(key), len(line)) > MAX_LINE_CHARS:
            return float(weight)
        self.effort += 1
        matcher = self._matchers.get(index)
        if matcher is None:
            matcher = self._matchers[index] = difflib.SequenceMatcher(None, "", key, False)
        matcher.set_seq1(line)
        if (1 - matcher.quick_ratio()) * weight > allowed:
            self.effort -= 0.9
            return float(weight)
        return (1 - matcher.ratio()) * weight
