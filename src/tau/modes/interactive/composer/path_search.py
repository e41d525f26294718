"""An in-memory path index that finds the best of very many paths within milliseconds."""

import re
from collections.abc import Iterable, Iterator

from tau.tui.widgets.fuzzy import score

CLASS_CHARS = 4
"""Paths of similar length share a bucket; shorter ones are searched first."""
BUCKET_CHARS = 64_000
"""A bucket is searched in one step; when it is full, the next one starts."""
MAX_PATH_CHARS = 400
MAX_QUERY_CHARS = 100
_LAST_SEGMENT, _SEGMENT, _INITIALS, _ANYWHERE, _SCATTERED = 150, 100, 100, 100, 150
"""How many candidates of each kind are ranked."""
_MOST_HITS = 4_000
"""How many hits are examined for the first two kinds."""
_BELOW = 8_000
"""Bonus for a path that starts with a query naming a folder."""
_ENOUGH = 40
"""With this many candidates, less likely ones are skipped."""


class PathBucket:
    """Paths of similar length as one text, a line each, and the same in lowercase."""

    __slots__ = ("_new", "_room", "lower", "text")

    def __init__(self) -> None:
        self.text = "\n"
        self.lower = "\n"
        self._new: list[str] = []
        self._room = BUCKET_CHARS

    def add(self, path: str) -> bool:
        """Add a path; False if the bucket is now full."""
        self._new.append(path)
        self._room -= len(path)
        return self._room > 0

    def settle(self) -> bool:
        """Prepare added paths for searching; False if there was nothing to do."""
        if not self._new:
            return False
        text = "\n".join(self._new) + "\n"
        self._new = []
        self.text += text
        lower = text.lower()
        if len(lower) != len(text):  # a few letters would become two
            lower = "".join(small if len(small := letter.lower()) == 1 else letter for letter in text)
        self.lower += lower
        return True


class FileIndex:
    """Files and folders (with a trailing slash), relative to one folder."""

    def __init__(self) -> None:
        self.count = 0
        self.settled = 0
        """How many are searchable."""
        self.cut = ""
        """Why the index is incomplete, if it is."""
        self.gone: set[str] = set()
        """Paths that no longer exist."""
        self._buckets: dict[int, list[PathBucket]] = {}
        self._folders: set[str] = set()
        self._folder = ""

    def add(self, paths: Iterable[str]) -> None:
        """Add files and their parent folders."""
        last = ""
        for path in paths:
            if not path or path == last or len(path) > MAX_PATH_CHARS or not path.isprintable():
                continue
            last = path
            folder = path.rpartition("/")[0]
            if folder and folder != self._folder:
                self._folder = folder
                self._add_folder(folder)
            self._put(path)
            self.count += 1

    def settle(self) -> Iterator[None]:
        """Prepare all added paths for searching, pausing after each step."""
        count = self.count
        for bucket in self.buckets():
            if bucket.settle():
                yield
        self.settled = count

    def buckets(self) -> list[PathBucket]:
        """Shorter paths first."""
        return [bucket for place in sorted(self._buckets) for bucket in self._buckets[place]]

    def _put(self, path: str) -> None:
        buckets = self._buckets.setdefault(len(path) // CLASS_CHARS, [])
        if not buckets:
            buckets.append(PathBucket())
        if not buckets[-1].add(path):
            buckets.append(PathBucket())

    def _add_folder(self, folder: str) -> None:
        while folder and folder not in self._folders:
            self._folders.add(folder)
            self._put(f"{folder}/")
            folder = folder.rpartition("/")[0]


class PathQuery:
    """One query. `steps` does the work in small pieces; `best` can be read at any time.

    A query with a capital letter is case-sensitive.
    """

    def __init__(self, index: FileIndex, query: str) -> None:
        self._index = index
        self._query = query[:MAX_QUERY_CHARS]
        self._case_sensitive = self._query != self._query.lower()
        self._buckets = index.buckets()
        self._points: dict[str, int] = {}
        self._hits = 0
        self.exact = False
        """Whether the query is exactly a path of the index."""

    def best(self, limit: int) -> list[str]:
        """The best paths so far, best first."""
        return sorted(self._points, key=lambda path: (-self._points[path], len(path), path))[:limit]

    def steps(self) -> Iterator[None]:
        """Search from the likeliest places to the least likely, ending early once enough is found."""
        if not self._query:
            yield from self._top_level()
            return
        for phase in (self._starts, self._anywhere, self._initials, self._scattered):
            yield from phase()
            if len(self._points) >= _ENOUGH:
                return

    def _top_level(self) -> Iterator[None]:
        for bucket in self._buckets:
            for line in re.finditer(r"^[^/\n]+/?$", bucket.text, re.MULTILINE):
                self._add(line[0], -len(line[0]) + (1000 if line[0].endswith("/") else 0))
                if len(self._points) >= _LAST_SEGMENT:
                    return
            yield

    def _starts(self) -> Iterator[None]:
        """Where a path segment starts with the query, preferably the last one."""
        last = others = 0
        for bucket in self._buckets:
            text = self._text_of(bucket)
            for mark in ("\n", "/"):
                bonus = _BELOW if mark == "\n" and "/" in self._query else 0
                for start, end, at in _hits(text, mark + self._query):
                    self._hits += 1
                    is_last = text.find("/", at + 1 + len(self._query), end - 1) < 0
                    if is_last and last < _LAST_SEGMENT:
                        last += self._rank(bucket, start, end, bonus)
                    elif not is_last and others < _SEGMENT:
                        others += self._rank(bucket, start, end)
                    if self._hits > _MOST_HITS or last >= _LAST_SEGMENT:
                        return
            yield

    def _initials(self) -> Iterator[None]:
        """Where the query's letters start words of the last segment: `tsl` in test_select_list."""
        if not 2 <= len(self._query) <= 6 or "/" in self._query:
            return
        first, *others = [re.escape(letter) for letter in self._query]
        # A literal first letter makes the search start quickly.
        pattern = rf"{first}(?<=[/_.\- \n]{first})" + "".join(rf"[^/\n]*?[_.\- ]{other}" for other in others)
        yield from self._by_pattern(rf"{pattern}[^/\n]*/?\n", _INITIALS)

    def _anywhere(self) -> Iterator[None]:
        left = _ANYWHERE
        for bucket in self._buckets:
            for start, end, _ in _hits(self._text_of(bucket), self._query):
                left -= self._rank(bucket, start, end)
                if left <= 0:
                    return
            yield

    def _scattered(self) -> Iterator[None]:
        """Where the letters occur in this order."""
        letters = [re.escape(letter) for letter in self._query]
        pattern = letters[0] + "".join(rf"[^\n{letter}]*+{letter}" for letter in letters[1:])
        yield from self._by_pattern(pattern, _SCATTERED)

    def _by_pattern(self, pattern: str, most: int) -> Iterator[None]:
        compiled = re.compile(pattern)
        for bucket in self._buckets:
            text, at = self._text_of(bucket), 0
            while (match := compiled.search(text, at)) is not None:
                start = text.rfind("\n", 0, match.start() + 1) + 1
                at = max(text.find("\n", start), start)  # one hit per line is enough
                most -= self._rank(bucket, start, at)
                if most <= 0:
                    return
            yield

    def _text_of(self, bucket: PathBucket) -> str:
        return bucket.text if self._case_sensitive else bucket.lower

    def _rank(self, bucket: PathBucket, start: int, end: int, bonus: int = 0) -> bool:
        path = bucket.text[start:end]
        if path in self._points:
            return False
        match = score(self._query, path)
        return match is not None and self._add(path, match[0] + bonus)

    def _add(self, path: str, points: int) -> bool:
        if path in self._index.gone:
            return False
        if path == self._query:
            self.exact = True
            return False
        self._points[path] = points
        return True


def _hits(text: str, needle: str) -> Iterator[tuple[int, int, int]]:
    """Start and end of each line containing the needle, once, and its position."""
    at = text.find(needle)
    while at >= 0:
        start = at + 1 if needle[0] == "\n" else text.rfind("\n", 0, at) + 1
        end = text.find("\n", at + 1)
        if end < 0:
            return
        yield start, end, at
        at = text.find(needle, end)
