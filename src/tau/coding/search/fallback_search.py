"""Search without ripgrep, with the same results; a separate program, so it can be killed anytime.

Reads a JSON request from standard input and prints what ripgrep would; see `rg.command`.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from tau.coding.search.query import MAX_FILE_BYTES, Query, SearchRequest, SearchScope
from tau.coding.search.regex_dialect import NeedsRipgrep, to_python
from tau.coding.search.walk import tree

MAX_NAMED_FILE_BYTES = 256 * 1024 * 1024
UNREADABLE = 2  # same as ripgrep's exit code

_Search = Callable[[str], Iterator[int]]


def main() -> int:
    """Exit codes match ripgrep's: 0 found, 1 not found, 2 errors."""
    request = msgspec.convert(json.load(sys.stdin), SearchRequest)
    out = sys.stdout.buffer
    try:
        search = matching_lines(request.query)
    except (NeedsRipgrep, re.error) as error:
        out.write(f"error: {refusal(error)}\n".encode())
        return UNREADABLE
    walk = ScopeFiles(request.scope)
    found = False
    for path in walk:
        data = walk.read(path)
        text = None if data is None else text_of(data, binary=request.max_count is not None)
        if text is None:
            continue
        name = os.fsencode(path)
        for count, line in enumerate(search(text), 1):
            found = True
            out.write(name + b"\0" if request.max_count is None else b"%b\0%d:\n" % (name, line))
            if request.max_count is None or count == request.max_count:
                break
        out.flush()
    return UNREADABLE if walk.unreadable else int(not found)


def refusal(error: Exception) -> str:
    if isinstance(error, NeedsRipgrep):
        return f"{error} needs ripgrep, which is not installed"
    return str(error)


def matching_lines(query: Query) -> _Search:
    """Return a function that yields the matching line numbers, in order and without duplicates."""
    flags = re.MULTILINE | (re.IGNORECASE if query.ignore_case else 0)
    pattern = re.compile(to_python(query.pattern), flags)
    if query.multiline:
        return lambda text: _across_lines(pattern, text)
    # A pattern that matches a line also matches the whole text, unless anchored to its start or end.
    tied = r"\A" in pattern.pattern or r"\Z" in pattern.pattern
    return lambda text: _line_by_line(pattern, text, tied)


def _line_by_line(pattern: "re.Pattern[str]", text: str, tied: bool) -> Iterator[int]:
    text = text.replace("\r\n", "\n") if "\r\n" in text else text
    if not tied and not pattern.search(text):
        return
    lines = text.split("\n")
    if not lines[-1]:
        del lines[-1]
    for number, line in enumerate(lines, 1):
        if pattern.search(line):
            yield number


def _across_lines(pattern: "re.Pattern[str]", text: str) -> Iterator[int]:
    done = number = 0  # the last line yielded, and line breaks before `at`
    at = 0
    for match in pattern.finditer(text):
        start, end = match.span()
        if start == len(text) and (not text or text.endswith("\n")):
            return
        number += text.count("\n", at, start)
        at = start
        last = number + text.count("\n", start, max(end - 1, start))
        yield from range(max(number, done) + 1, last + 2)
        done = max(done, last + 1)


def text_of(data: bytes, *, binary: bool) -> str | None:
    """Decode text as ripgrep does; None for a binary file, unless `binary`."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data.decode("utf-16", "replace")
        return None if "\0" in text and not binary else text
    if not binary and b"\0" in data:
        return None
    return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")


class ScopeFiles:
    """The files of a scope. `unreadable`: something was skipped."""

    def __init__(self, scope: SearchScope) -> None:
        self.scope = scope
        self.named: set[str] = set()
        self.unreadable = False

    def __iter__(self) -> Iterator[str]:
        for root in self.scope.roots:
            if Path(root).is_dir():
                yield from self.below(root)
            else:
                self.named.add(root)
                yield root

    def below(self, root: str) -> Iterator[str]:
        for piece in tree(root, gitignore=self.scope.gitignore):
            self.unreadable |= bool(piece.unreadable)
            for entry in piece.entries:
                if entry.is_file(follow_symlinks=False) and self.wants(entry.name):
                    yield entry.path

    def wants(self, name: str) -> bool:
        return not self.scope.names or any(fnmatchcase(name, glob) for glob in self.scope.names)

    def read(self, path: str) -> bytes | None:
        limit = MAX_NAMED_FILE_BYTES if path in self.named else MAX_FILE_BYTES
        try:
            with open(path, "rb") as file:  # noqa: PTH123 - speed matters for many files
                return None if os.fstat(file.fileno()).st_size > limit else file.read()
        except OSError:
            self.unreadable = True
            return None


if __name__ == "__main__":
    sys.exit(main())
