"""Translate globs to regular expressions over `/`-separated paths: `*`, `?`, `[...]`, `{a,b}` and `**`.

Used for globs in tool calls and ignore files, with ripgrep's semantics.
"""

import re
from collections.abc import Callable, Sequence

from tau.base.errors import ToolError

GLOB_CHARS = "*?[{"


class BadGlob(ValueError):
    """The text is not a valid glob; the message says why."""


def is_glob(text: str) -> bool:
    return any(char in text for char in GLOB_CHARS)


def matcher(globs: Sequence[str]) -> Callable[[str], object]:
    """Return a predicate: does a relative path fully match any glob? Raises BadGlob."""
    if all(glob in ("**/*", "**") for glob in globs):
        return lambda path: True
    return re.compile("|".join(f"(?:{to_regex(glob)})" for glob in globs), re.DOTALL).fullmatch


def tool_matcher(globs: Sequence[str]) -> Callable[[str], object]:
    """Like `matcher`, for globs in tool calls. Raises ToolError."""
    try:
        return matcher(globs)
    except BadGlob as error:
        raise ToolError(f"Invalid glob: {error}.") from None


def to_regex(glob: str) -> str:
    """Translate for `re.fullmatch` with DOTALL. `**` is special only as a whole path component."""
    return _Translation(glob).run()


class _Translation:
    def __init__(self, glob: str) -> None:
        self.glob = glob
        self.at = 0
        self.out: list[str] = []
        self.depth = 0

    def run(self) -> str:
        while self.at < len(self.glob):
            self.step(self.glob[self.at])
        if self.depth:
            raise BadGlob(f"{self.glob} has an unclosed {{")
        return "".join(self.out)

    def step(self, char: str) -> None:
        self.at += 1
        match char:
            case "*":
                self.star()
            case "?":
                self.out.append("[^/]")
            case "[":
                self.character_class()
            case "{":
                self.depth += 1
                self.out.append("(?:")
            case "}":
                if not self.depth:
                    raise BadGlob(f"{self.glob} has an unmatched }}")
                self.depth -= 1
                self.out.append(")")
            case "," if self.depth:
                self.out.append("|")
            case "\\":
                if self.at == len(self.glob):
                    raise BadGlob(f"{self.glob} ends with a backslash that escapes nothing")
                self.out.append(re.escape(self.glob[self.at]))
                self.at += 1
            case _:
                self.out.append(re.escape(char))

    def star(self) -> None:
        start = self.at - 1
        while self.glob[self.at : self.at + 1] == "*":
            self.at += 1
        opens = start == 0 or self.glob[start - 1] == "/" or (self.depth and self.glob[start - 1] in "{,")
        after = self.glob[self.at : self.at + 1]
        if self.at - start != 2 or not opens or after not in ("", "/"):
            self.out.append("[^/]*")
        elif after == "/":
            self.at += 1
            self.out.append("(?:.*/)?")
        else:
            self.out.append(".*")

    def character_class(self) -> None:
        negated = self.glob[self.at : self.at + 1] in ("!", "^")
        self.at += negated
        # A leading bracket is a member.
        end = self.glob.find("]", self.at + 1)
        if end < 0:
            raise BadGlob(f"{self.glob} has an unclosed [")
        members = re.sub(r"([\\\[\]^&~|])", r"\\\1", self.glob[self.at : end])
        if re.search(r"--", members):
            members = members.replace("--", "-\\-")
        self.at = end + 1
        try:
            re.compile(f"[{members}]")
        except re.error:
            raise BadGlob(f"{self.glob} has a range that runs backwards") from None
        self.out.append(f"[^/{members}]" if negated else f"(?!/)[{members}]")
