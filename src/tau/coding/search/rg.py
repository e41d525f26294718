"""Ripgrep: where it is, how it is asked, and what its complaints mean."""

import os
import re
import sys
from functools import cache
from pathlib import Path

from tau.base.text import sentence
from tau.coding.search.query import MAX_FILE_BYTES, SearchRequest, SearchScope

# No settings of the user's own: the same call gives the same answer on every machine.
_ALWAYS = (
    *("--no-config", "--no-messages", "--color=never", "--null"),
    *("--hidden", "--no-ignore-global", "--glob=!.git"),
)
_NAME = "taunames"
_KIND = r"\*(?:\.\w+)+"


@cache
def locate() -> str | None:
    """The system's ripgrep, else one that was installed beside our interpreter, else None."""
    for folder in (*os.get_exec_path(), str(Path(sys.executable).parent)):
        if os.access(path := f"{folder}/rg", os.X_OK) and Path(path).is_file():
            return path
    return None


def command(program: str, request: SearchRequest) -> list[str]:
    """Prints matching files, each with a NUL behind it; or `path NUL line:` rows, of which more is no use."""
    argv = [program, *_ALWAYS]
    if request.max_count is None:
        argv += ["--files-with-matches", f"--max-filesize={MAX_FILE_BYTES}"]
    else:
        # The text of a line may be endless and is read elsewhere: one column is as short as it gets.
        argv += ["--line-number", "--with-filename", "--no-heading", "--text", "--max-columns=1"]
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
    """Outside of repositories ignore files count too. In one, new versions would then miss where it ends."""
    if not scope.gitignore:
        return ["--no-ignore"]
    return [] if scope.in_git else ["--no-require-git"]


def is_in_git(path: Path) -> bool:
    return any(os.path.lexists(folder / ".git") for folder in (path, *path.parents))


def is_kind(glob: str) -> bool:
    """Whether a glob for names is like `*.py`: those ripgrep can take, others might be meant for folders."""
    return re.fullmatch(_KIND, glob) is not None


def complaint(text: str) -> str:
    """What is wrong, in a sentence: with the pattern, mostly, and then in ripgrep's own words."""
    text = text.strip().removeprefix("rg: ")
    if "Found argument" in text or "unrecognized flag" in text:
        return "The installed ripgrep is too old for search: install version 12 or newer, or remove it."
    found = re.search(r"^error: (.+)$", text, re.MULTILINE)
    words = text.partition("\n")[0] if found is None else found[1]
    if words.startswith("the literal"):
        words = "a line break is written \\n"
    return sentence(f"Invalid regex: {words}")
