"""Search without ripgrep, with the same results; a separate program, so it can be killed anytime.

Reads a JSON request from standard input and prints what ripgrep would; see `rg_command`.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from tau.coding.search.query import Query, SearchRequest, SearchScope
from tau.coding.search.regex_repair import class_end
from tau.coding.search.walk import tree

MAX_FILE_BYTES = 256 * 1024 * 1024
UNREADABLE = 2  # same as ripgrep's exit code
_Match = tuple[int, int]  # line number, and bytes before the first match in it
_Search = Callable[[str], Iterator[_Match]]
_NAMED = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_CODE = r"\\(?:x\{([0-9A-Fa-f]+)\}|x([0-9A-Fa-f]{2})|u\{([0-9A-Fa-f]+)\}|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8}))"
_GROUP = r"\((?:\?(?:P?<([A-Za-z_][A-Za-z0-9_]*)>|([imsx]*(?:-[imsx]+)?)([:)])))?"
_REPEAT = r"(?:[*+?]|\{\d+(?:,\d*)?\})\??"
_SAME = frozenset("dDwWsSbBAntrfav")


class NeedsRipgrep(ValueError):
    """Python cannot express this; the message says what."""


def to_python(pattern: str) -> str:
    """Translate for `re` with MULTILINE. Raises NeedsRipgrep, or `re.error` if invalid in both."""
    out: list[str] = []
    at = 0
    repeated = False  # a repeated count means something else in Python
    while at < len(pattern):
        count = re.compile(_REPEAT).match(pattern, at)
        if count is not None:
            if repeated:
                raise NeedsRipgrep("a repeated repetition")
            out.append(count[0])
            at = count.end()
            repeated = True
            continue
        repeated = False
        char = pattern[at]
        if char == "\\":
            text, at = _escape(pattern, at)
        elif char == "[":
            end = class_end(pattern, at)
            text, at = _class(pattern[at:end]), end
        elif char == "(":
            text, at = _group(pattern, at)
        else:
            text, at = char, at + 1
        out.append(text)
    return "".join(out)


def _escape(pattern: str, at: int) -> tuple[str, int]:
    code = re.compile(_CODE).match(pattern, at)
    if code is not None:
        value = int(next(group for group in code.groups() if group), 16)
        if value > 0x10FFFF:
            raise re.error("no such character", pattern, at)
        return re.escape(chr(value)), code.end()
    name = pattern[at + 1 : at + 2]
    if name == "z":
        return r"\Z", at + 2
    if name in ("p", "P"):
        raise NeedsRipgrep(r"the Unicode class \p")
    if name.isdigit():
        raise re.error("backreferences are not supported", pattern, at)
    if (name == "b" and pattern[at + 2 : at + 3] == "{") or name in ("<", ">"):
        raise NeedsRipgrep("a one-sided word boundary")
    if not name or (name.isalpha() and name not in _SAME):
        raise re.error("unrecognized escape sequence", pattern, at)
    return f"\\{name}", at + 2


def _class(text: str) -> str:
    """Translate a character class; Python has neither nested classes nor set operations."""
    if not text.endswith("]") or len(text) < 3:
        raise re.error("unclosed character class", text)
    inner = text[1:-1]
    out = ["["]
    at = 0
    while at < len(inner):
        named = re.compile(r"\[:(\^?)([a-z]+):\]").match(inner, at)
        if named is not None:
            if named[1] or named[2] not in _NAMED:
                raise NeedsRipgrep(f"the class {named[0]}")
            out.append(_NAMED[named[2]])
            at = named.end()
        elif inner[at] == "\\":
            escaped, at = _escape(inner, at)
            if escaped in (r"\b", r"\B", r"\A", r"\Z"):
                raise re.error(f"{escaped} has no meaning in a character class", text)
            out.append(escaped)
        elif inner[at] == "[" or inner[at : at + 2] in ("&&", "--", "~~"):
            raise NeedsRipgrep("nested character classes")
        else:
            out.append(f"\\{inner[at]}" if inner[at] in "|&~" else inner[at])
            at += 1
    return "".join(out) + "]"


def _group(pattern: str, at: int) -> tuple[str, int]:
    match = re.compile(_GROUP).match(pattern, at)
    assert match is not None
    name, flags, end = match.groups()
    if name:
        return f"(?P<{name}>", match.end()
    if end is None:
        if pattern.startswith("(?", at):
            raise re.error("look-around and other extensions are not supported", pattern, at)
        return "(", match.end()
    if end == ")" and (at or "-" in flags):
        raise NeedsRipgrep("flags in the middle of a pattern")
    return match[0], match.end()


def main() -> int:
    """Exit codes match ripgrep's: 0 has_match, 1 not has_match, 2 errors."""
    request = msgspec.convert(json.load(sys.stdin), SearchRequest)
    out = sys.stdout.buffer
    try:
        search = matching_lines(request.query)
    except (NeedsRipgrep, re.error) as error:
        out.write(f"error: {refusal(error)}\n".encode())
        return UNREADABLE
    walk = ScopeFiles(request.scope)
    has_match = False
    for path in walk:
        data = walk.read(path)
        if data is None:
            continue
        text = text_of(data, listing=request.max_count is None)
        name = os.fsencode(path)
        for count, (line, before) in enumerate(search(text), 1):
            has_match = True
            out.write(
                name + b"\0" if request.max_count is None else b"%b\0%d:%d:\n" % (name, line, before + 1)
            )
            if request.max_count is None or count == request.max_count:
                break
        out.flush()
    return UNREADABLE if walk.unreadable else int(not has_match)


def refusal(error: Exception) -> str:
    if isinstance(error, NeedsRipgrep):
        return f"{error} needs ripgrep, which is not installed"
    return str(error)


def matching_lines(query: Query) -> _Search:
    """Return a function that yields the matching lines, in order and without duplicates."""
    flags = re.MULTILINE | (re.IGNORECASE if query.ignore_case else 0)
    pattern = re.compile(to_python(query.pattern), flags)
    if query.multiline:
        return lambda text: _across_lines(pattern, text)
    # A pattern that matches a line also matches the whole text, unless anchored to its start or end.
    tied = r"\A" in pattern.pattern or r"\Z" in pattern.pattern
    return lambda text: _line_by_line(pattern, text, tied)


def _line_by_line(pattern: "re.Pattern[str]", text: str, tied: bool) -> Iterator[_Match]:
    text = text.replace("\r\n", "\n") if "\r\n" in text else text
    if not tied and not pattern.search(text):
        return
    lines = text.split("\n")
    if not lines[-1]:
        del lines[-1]
    for number, line in enumerate(lines, 1):
        match = pattern.search(line)
        if match is not None:
            yield number, _bytes_before(line, match.start())


def _bytes_before(line: str, position: int) -> int:
    return len(line[:position].encode("utf-8", "surrogateescape"))


def _across_lines(pattern: "re.Pattern[str]", text: str) -> Iterator[_Match]:
    done = number = 0  # the last line yielded, and line breaks before `at`
    at = 0
    for match in pattern.finditer(text):
        start, end = match.span()
        if start == len(text) and (not text or text.endswith("\n")):
            return
        number += text.count("\n", at, start)
        at = start
        last = number + text.count("\n", start, max(end - 1, start))
        before = _bytes_before(text[text.rfind("\n", 0, start) + 1 : start], start)
        for line in range(max(number, done) + 1, last + 2):
            yield line, before if line == number + 1 else 0
        done = max(done, last + 1)


def text_of(data: bytes, *, listing: bool) -> str:
    """Decode text as ripgrep does, which ends lines at a NUL byte as it lists files."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data.decode("utf-16", "replace")
    else:
        text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    return text.replace("\0", "\n") if listing else text


class ScopeFiles:
    """The files of a scope. `unreadable`: something was skipped."""

    def __init__(self, scope: SearchScope) -> None:
        self.scope = scope
        self.unreadable = False

    def __iter__(self) -> Iterator[str]:
        for root in self.scope.roots:
            if Path(root).is_dir():
                yield from self.below(root)
            else:
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
        try:
            with open(path, "rb") as file:  # noqa: PTH123 - speed matters for many files
                if os.fstat(file.fileno()).st_size <= MAX_FILE_BYTES:
                    return file.read()
        except OSError:
            pass
        self.unreadable = True
        return None


if __name__ == "__main__":
    sys.exit(main())
