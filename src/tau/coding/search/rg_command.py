"""Finds ripgrep, builds its command line and explains its errors."""

import os
import re
import sys
from functools import cache
from pathlib import Path

from tau.base.programs import search_path
from tau.base.text import sentence
from tau.coding.search.query import SearchRequest, SearchScope

# Ignore the user's configuration, so results are the same on every machine.
_ALWAYS = (
    *("--no-config", "--no-messages", "--color=never", "--null"),
    *("--hidden", "--no-ignore-global", "--glob=!.git"),
)
_NAME = "taunames"
_KIND = r"\*(?:\.\w+)+"


@cache
def locate() -> str | None:
    """Find the system's ripgrep, else one installed next to our interpreter, else None."""
    for folder in (*search_path(), str(Path(sys.executable).parent)):
        if os.access(path := f"{folder}/rg", os.X_OK) and Path(path).is_file():
            return path
    return None


def command(program: str, request: SearchRequest) -> list[str]:
    """Build the command. It prints NUL-terminated file names, or `path NUL line:column:` rows."""
    argv = [program, *_ALWAYS]
    if request.max_count is None:
        # Ripgrep gives up at the first NUL byte, and says nothing.
        argv += ["--files-with-matches", "--binary"]
    else:
        # Lines may be huge and are read elsewhere: print as little as possible.
        argv += ["--line-number", "--column", "--with-filename", "--no-heading", "--text", "--max-columns=1"]
        argv += [f"--max-count={request.max_count}"] if request.max_count else []
    argv += ignore_flags(request.scope)
    if request.scope.names:
        argv += [f"--type-add={_NAME}:{glob}" for glob in request.scope.names]
        argv.append(f"--type={_NAME}")
    if request.query.ignore_case:
        argv.append("--ignore-case")
    argv.append("--multiline" if request.query.multiline else "--crlf")
    return [*argv, f"--regexp={request.query.pattern}", "--", *request.scope.roots]


def ignore_flags(scope: SearchScope) -> list[str]:
    """Respect ignore files outside repositories; inside one, newer versions would then miss its boundary."""
    if not scope.gitignore:
        return ["--no-ignore"]
    return [] if scope.in_git else ["--no-require-git"]


def is_in_git(path: Path) -> bool:
    return any(os.path.lexists(folder / ".git") for folder in (path, *path.parents))


def is_kind(glob: str) -> bool:
    """Whether a name glob is like `*.py`, which ripgrep can handle; others may refer to folders."""
    return re.fullmatch(_KIND, glob) is not None


def complaint(text: str) -> str:
    """Summarize an error in one sentence; for a bad pattern, in ripgrep's own words."""
    text = text.strip().removeprefix("rg: ")
    about_pattern = "regex parse error" in text
    if not about_pattern and ("Found argument" in text or "unrecognized flag" in text):
        return "The installed ripgrep is too old for search: install version 12 or newer, or remove it."
    match = re.search(r"^error: (.+)$", text, re.MULTILINE)
    words = text.partition("\n")[0] if match is None else match[1]
    if words.startswith("the literal"):
        words = "a line break is written \\n"
    elif words == "unrecognized flag":
        words = "unrecognized flag after (?; atomic groups and other extensions are not supported"
    return sentence(f"Invalid regex: {words}")
