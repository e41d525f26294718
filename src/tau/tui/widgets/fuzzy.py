"""Fuzzy matching: scores one text, and ranks very many texts.

A query is split at blanks; each word must match. A contiguous match scores higher than scattered letters, and
the start of the text, of its last path segment, of a segment, of a word or of a camelCase hump scores higher
than the middle. A word with a capital letter is case-sensitive.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from heapq import nsmallest
from typing import NamedTuple

MAX_QUERY_CHARS = 128
MAX_WORDS = 8
MAX_TEXT_CHARS = 1024
"""Text beyond this is not searched."""
_MAX_PLACES = 8
"""How many occurrences of a word are compared."""

_WHOLE = 10_000
_PIECE = 4_000
_SCATTERED = 2_000
_TEXT_START = 2_600
_SEGMENT_START = 2_000
_WORD_START = 1_600
_HUMP = 1_400
_LAST_SEGMENT = 600
_WORD_END = 200
_ALL_STARTS = 3_000
_LENGTH_COST = 1
_POSITION_COST = 1


class FuzzyMatch(NamedTuple):
    """A match: the text's index, its score, and the matched characters."""

    place: int
    score: int
    positions: tuple[int, ...]


def score(query: str, text: str) -> tuple[int, tuple[int, ...]] | None:
    """Return the score (higher is better) and the matched positions, or None."""
    words = query_words(query)
    return _score(words, text, _lowercase(text)) if words else (0, ())


def rank(query: str, texts: Sequence[str], limit: int = 50) -> list[FuzzyMatch]:
    """Rank texts, best first; ties keep their order. For several queries, use a `Ranker`."""
    return Ranker(texts).best(query, limit)


def query_words(query: str) -> list[str]:
    """Split a query into words, cut to the maximum length."""
    return query[:MAX_QUERY_CHARS].split()[:MAX_WORDS]


class Ranker:
    """Ranks many texts for queries typed letter by letter: each query narrows the previous one."""

    def __init__(self, texts: Sequence[str], max_scored: int = 1_000) -> None:
        self.texts = texts
        self._max_scored = max_scored
        self._lower = [_lowercase(text) for text in texts]
        self._lengths = list(map(len, self._lower))
        self._pools: list[tuple[str, Sequence[int]]] = [("", range(len(texts)))]

    def best(self, query: str, limit: int = 50) -> list[FuzzyMatch]:
        """Return the best `limit` texts with their scores and positions.

        At most `max_scored` texts are scored. If there are more, prefer contiguous matches, first at the
        start of a segment, and shorter texts.
        """
        words = query_words(query)
        if not words:
            return [FuzzyMatch(index, 0, ()) for index in range(min(limit, len(self.texts)))]
        groups = self._groups(query, words, self._max_scored)
        return self._compare(words, self._shortest(groups, self._max_scored))[:limit]

    def order(self, query: str) -> list[int]:
        """Return all matching texts, best first: the first `max_scored` by score, the rest roughly sorted."""
        words = query_words(query)
        if not words:
            return list(range(len(self.texts)))
        groups = self._groups(query, words, None)
        head = self._shortest(groups, self._max_scored)
        chosen = set(head)
        tail = [index for group in groups for index in group if index not in chosen]
        return [match.place for match in self._compare(words, head)] + tail

    def _compare(self, words: list[str], indices: Iterable[int]) -> list[FuzzyMatch]:
        matches = []
        for index in indices:
            scored = _score(words, self.texts[index], self._lower[index])
            if scored is not None:
                matches.append(FuzzyMatch(index, *scored))
        matches.sort(key=lambda match: (-match.score, match.place))
        return matches

    def _shortest(self, groups: list[list[int]], count: int) -> list[int]:
        chosen: list[int] = []
        for group in groups:
            room = count - len(chosen)
            if len(group) > room:
                group = nsmallest(room, group, key=self._lengths.__getitem__)
            chosen += group
        return chosen

    def _groups(self, query: str, words: list[str], enough: int | None) -> list[list[int]]:
        """Return matches in groups, likeliest first; the last group is skipped if there are `enough`."""
        pool = self._pool(query)
        in_piece = list(pool)
        for word in words:
            hay = self._hay(word)
            in_piece = [index for index in in_piece if word in hay[index]]
        groups = self._by_start(words[0], in_piece) if len(in_piece) > self._max_scored else [in_piece]
        if all(len(word) == 1 for word in words):  # a single letter is always contiguous
            self._keep(query, in_piece)
        elif enough is None or len(in_piece) < enough:
            known = set(in_piece)
            rest = self._scattered(words, [index for index in pool if index not in known])
            self._keep(query, in_piece + rest)
            groups.append(rest)
        return groups

    def _by_start(self, word: str, indices: list[int]) -> list[list[int]]:
        hay, segment = self._hay(word), "/" + word
        starts = [i for i in indices if segment in hay[i] or hay[i].startswith(word)]
        known = set(starts)
        return [starts, [index for index in indices if index not in known]]

    def _scattered(self, words: list[str], matching: list[int]) -> list[int]:
        for word in words:
            hay = self._hay(word)
            for letter in set(word):
                matching = [index for index in matching if letter in hay[index]]
            matches = _in_order(word)
            matching = [index for index in matching if matches(hay[index])]
        return matching

    def _pool(self, query: str) -> Sequence[int]:
        """Return the texts left by the longest earlier query that this one extends."""
        while not query.startswith(self._pools[-1][0]):
            self._pools.pop()
        return self._pools[-1][1]

    def _keep(self, query: str, matching: Sequence[int]) -> None:
        if query != self._pools[-1][0] and len(self._pools) <= MAX_QUERY_CHARS:
            self._pools.append((query, matching))

    def _hay(self, word: str) -> Sequence[str]:
        return self._lower if word == word.lower() else self.texts


def _lowercase(text: str) -> str:
    """Lowercase, keeping every letter's position (a few would become two)."""
    lower = text.lower()
    if len(lower) != len(text):
        lower = "".join(small if len(small := letter.lower()) == 1 else letter for letter in text)
    return lower


def _in_order(word: str) -> Callable[[str], object]:
    """Return a linear-time matcher for the word's letters in order."""
    pattern = "".join(f"[^{escaped}]*+{escaped}" for escaped in map(re.escape, word))
    return re.compile(pattern).match


def _score(words: list[str], text: str, lower: str) -> tuple[int, tuple[int, ...]] | None:
    text, lower = text[:MAX_TEXT_CHARS], lower[:MAX_TEXT_CHARS]
    base = text.rfind("/", 0, -1) + 1
    points = -_LENGTH_COST * len(text)
    if len(words) == 1:
        scored = _score_word(words[0], text, lower, base)
        return None if scored is None else (points + scored[0], tuple(scored[1]))
    positions: set[int] = set()
    for word in words:
        scored = _score_word(word, text, lower, base)
        if scored is None:
            return None
        points += scored[0]
        positions.update(scored[1])
    return points, tuple(sorted(positions))


def _score_word(word: str, text: str, lower: str, base: int) -> tuple[int, Sequence[int]] | None:
    hay = lower if word == word.lower() else text
    at = hay.find(word)
    if at < 0:
        return _score_scattered(word, text, hay, base)
    size = len(word)
    if size == len(hay):
        return _WHOLE, range(size)
    best, place = -1, at
    # In a path the last occurrence is the likeliest; those between are checked up to a limit.
    for start in _places(hay, word, at):
        points = _start_points(text, start, base) + (_LAST_SEGMENT if start >= base else 0)
        end = start + size
        if end == len(text) or not text[end].isalnum():
            points += _WORD_END
        points -= _POSITION_COST * min(start, 100)
        if points > best:
            best, place = points, start
    if size == 1:
        return _PIECE + best, (place,)
    piece = _PIECE + best
    if best < _SEGMENT_START:  # letters may be word initials: `tsl` in test_select_list
        other = _score_scattered(word, text, hay, base)
        if other is not None and other[0] > piece:
            return other
    return piece, range(place, place + size)


def _places(hay: str, word: str, first: int) -> list[int]:
    places = [first]
    last = hay.rfind(word)
    if last != first:
        at = hay.find(word, first + 1)
        while at >= 0 and at != last and len(places) < _MAX_PLACES:
            places.append(at)
            at = hay.find(word, at + 1)
        places.append(last)
    return places


def _start_points(text: str, at: int, base: int) -> int:
    """Return the bonus for a match that begins here."""
    if at == 0 or at == base:
        return _TEXT_START
    before, here = text[at - 1], text[at]
    if before == "/":
        return _SEGMENT_START
    if not before.isalnum():
        return _WORD_START if here.isalnum() else 0
    if (here.isupper() and not before.isupper()) or (here.isdigit() != before.isdigit()):
        return _HUMP
    return 0


def _score_scattered(word: str, text: str, hay: str, base: int) -> tuple[int, Sequence[int]] | None:
    """Score scattered letters: at word starts, or as close together as possible, whichever is better."""
    latest = _latest(word, hay)
    if latest is None:
        return None
    by_starts = _letters_points(_at_starts(word, text, hay, base, latest), text, base)
    close = _letters_points(_close_together(word, hay), text, base)
    return by_starts if by_starts[0] >= close[0] else close


def _latest(word: str, hay: str) -> list[int] | None:
    """Return each letter's last position that leaves room for the rest, or None if there is no match."""
    places = [0] * len(word)
    end = len(hay)
    for number in range(len(word) - 1, -1, -1):
        end = hay.rfind(word[number], 0, end)
        if end < 0:
            return None
        places[number] = end
    return places


def _at_starts(word: str, text: str, hay: str, base: int, latest: list[int]) -> list[int]:
    positions: list[int] = []
    # Stay in the last segment if all letters are there.
    at = base if base and _latest(word, hay[base:]) is not None else 0
    for number, letter in enumerate(word):
        if positions and hay.startswith(letter, at):
            place = at
        else:
            first = place = hay.find(letter, at)
            tries = 0
            while tries < _MAX_PLACES and not _start_points(text, place, base):
                place = hay.find(letter, place + 1)
                tries += 1
                if place < 0 or place > latest[number]:
                    place = first
                    break
            else:
                place = place if _start_points(text, place, base) else first
        positions.append(place)
        at = place + 1
    return positions


def _close_together(word: str, hay: str) -> list[int]:
    end = 0
    for letter in word:
        end = hay.find(letter, end) + 1
    positions = []
    for letter in reversed(word):
        end = hay.rfind(letter, 0, end)
        positions.append(end)
    return positions[::-1]


def _letters_points(positions: list[int], text: str, base: int) -> tuple[int, list[int]]:
    good = gaps = 0
    before = -2
    in_good_run = False
    for at in positions:
        if at == before + 1:
            good += 2 if in_good_run else 1
        else:
            gaps += 1
            in_good_run = _start_points(text, at, base) > 0
            good += 2 if in_good_run else 0
        before = at
    points = _SCATTERED + _ALL_STARTS * good // (2 * len(positions))
    points += _LAST_SEGMENT if positions[0] >= base else 0
    spread = positions[-1] - positions[0] + 1 - len(positions)
    points -= 60 * (gaps - 1) + 4 * min(spread, 100) + _POSITION_COST * min(positions[0], 100)
    return points, positions
