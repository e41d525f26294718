"""Reads shell text without running it, for what can be done better than it says.

Whatever is not understood for sure is left as it is.
"""

import re
import shlex
from collections.abc import Collection, Iterator
from typing import Literal

from msgspec import Struct

INTERNAL_SCHEMES = ("artifact", "conflict", "local", "tau")

_SEES = "it sees when a file is not what you think"

# Patterns are texts here, compiled at first use.
_CD = r"""\s*cd\s+(?:--\s+)?(?P<folder>'[^'\n]+'|"[^"\n$`\\]+"|[\w./~@%+:,=-]+)\s*&&\s*(?P<rest>\S.*)"""
_LONE_AMPERSAND = r"(?<![&|<>])&(?![&>])"
_URL = rf"(?<![\w.+-])(?:{'|'.join(INTERNAL_SCHEMES)})://[\w./%+@:~,=-]*[\w/]"
_COUNT = r"-n\s*(?P<n>\d+)|-(?P<short>\d+)|--lines[= ](?P<long>\d+)"
_MERGED = r"\s2>&1\s*$"
_QUOTED = r"""'[^']*'|"(?:\\.|[^"\\])*"|\\."""
# Words that begin more than a simple command, and those that would act on the shell itself.
_NOT_SIMPLE = frozenset(
    (
        *("if", "for", "while", "until", "case", "select", "function", "time", "coproc", "{", "[[", "!"),
        *(
            "cd",
            "pushd",
            "popd",
            "export",
            "declare",
            "typeset",
            "local",
            "readonly",
            "unset",
            "alias",
            "set",
        ),
        *(
            "shopt",
            "source",
            ".",
            "eval",
            "exec",
            "exit",
            "return",
            "trap",
            "read",
            "wait",
            "umask",
            "ulimit",
        ),
    )
)
# Programs that end by themselves and whose exit code is what matters. `head` would cut them off.
_RUNNERS = frozenset(
    (
        *("pytest", "tox", "nox", "mypy", "ruff", "flake8", "pylint", "pyright", "tsc", "eslint", "jest"),
        *("vitest", "rspec", "phpunit", "mvn", "ninja", "gcc", "g++", "clang", "clang++", "javac", "rustc"),
    )
)
_RUNNER_WORDS = {
    "make": r"(?!.*\b(run|serve|watch|dev|start)\b).*",
    "cargo": r"(build|test|check|clippy|doc)\b.*",
    "go": r"(build|test|vet)\b.*",
    "npm": r"(test|ci|install|run (build|test|lint|typecheck))\b.*",
    "pnpm": r"(test|install|build|lint|run (build|test|lint|typecheck))\b.*",
    "yarn": r"(test|install|build|lint|run (build|test|lint|typecheck))\b.*",
    "python": r"-m (pytest|unittest|mypy|compileall|build)\b.*",
    "python3": r"-m (pytest|unittest|mypy|compileall|build)\b.*",
    "cmake": r"--build\b.*",
    "dotnet": r"(build|test)\b.*",
}


class CdPrefix(Struct, frozen=True):
    """`cd FOLDER && REST`: the folder as a shell reads it, and the rest."""

    folder: str
    rest: str


class TrimmedCommand(Struct, frozen=True):
    """A command without the `| head` or `| tail` at its end, and what that would have kept."""

    command: str
    keep: Literal["head", "tail"]
    lines: int
    dropped: str


class ToolHint(Struct, frozen=True):
    """A command that matches is done better by a tool."""

    pattern: str
    tool: str
    reason: str


# Each holds for a command that is nothing but this: in a pipe or a list, the shell is the right place.
RULES = (
    ToolHint(
        r"(cat|head|tail|less|more)\s+(?!(?:.*\s)?(?:-f|-F|--follow)\b)[^<>]+",
        "read",
        "it shows files with what edit needs to change them",
    ),
    ToolHint(r"(grep|rg|ag|ack)\s+[^<>]+", "search", "it shows matches with what edit needs to change them"),
    ToolHint(
        r"(find|fd|locate)\s+(?!.*\s-(exec|execdir|ok|okdir|delete|fprint\w*)\b)[^<>]+",
        "find",
        "it leaves out what the project ignores",
    ),
    ToolHint(r"sed\s+(.*\s)?(-[a-zA-Z]*i\S*|--in-place\S*)(\s.*)?", "edit", _SEES),
    ToolHint(r"perl\s+(.*\s)?-[a-zA-Z]*i\S*(\s.*)?", "edit", _SEES),
    ToolHint(r"g?awk\s+(.*\s)?-i\s*inplace(\s.*)?", "edit", _SEES),
    ToolHint(
        r"((echo|printf)\s[^<>]*(?<!>)|cat\s*<<[^>]*?(?<!>)|cat\s*)>(?![>&])\s*(?!/dev/)\S.*",
        "write",
        "it takes the text as it is, without a shell's quoting",
    ),
)


def fold_cd(command: str) -> CdPrefix | None:
    """A leading `cd X &&`, where X is plain text and all that follows happens there."""
    match = re.fullmatch(_CD, command, re.DOTALL)
    if match is None or re.search(_LONE_AMPERSAND, match["rest"]):
        return None  # with a lone `&` the change of folder is in the background too
    word = match["folder"]
    folder = word[1:-1] if word[0] in "'\"" else word
    if folder == "-" or (folder != word and folder.startswith("~")):
        return None  # the folder before this one; a folder whose name begins with a tilde
    return CdPrefix(folder, match["rest"])


def without_limit(command: str, max_lines: int) -> TrimmedCommand | None:
    """A last `| tail -n N` or `| head -n N` that we can do ourselves, keeping the rest and the exit code.

    Both streams must go through it (`2>&1 |` or `|&`), or else what was not to be cut would be. `tail` reads
    its input to the end anyway. `head` ends the command before it early, which bounds an endless one: it is
    only taken from programs that end by themselves and should not be cut off.
    """
    stages = _stages(command)
    if stages is None or len(stages) < 2:
        return None
    *before, (last, merged) = stages
    words = last.split(maxsplit=1)
    lines = _line_count(words[1] if len(words) > 1 else "") if words else None
    if not words or words[0] not in ("head", "tail") or lines is None or not 1 <= lines <= max_lines:
        return None
    source = before[-1][0]
    if re.search(_MERGED, source):
        source, merged = re.sub(_MERGED, "", source), True
    if not merged or re.search(r"[<>]", re.sub(_QUOTED, "", source)):
        return None
    if words[0] == "head" and (len(before) > 1 or not _ends_by_itself(source)):
        return None
    kept = command[: command.rindex("|")].removesuffix("|").rstrip()
    kept = re.sub(_MERGED, "", kept).strip()
    keep: Literal["head", "tail"] = "head" if words[0] == "head" else "tail"
    return TrimmedCommand(kept, keep, lines, last.strip())


def better_tool(command: str, active: Collection[str]) -> str | None:
    """Why a command is refused: a tool that is there does the same, and does it better."""
    text = command.strip()
    simple = _stages(text)
    for rule in RULES:
        if rule.tool not in active or not re.fullmatch(rule.pattern, text, re.DOTALL):
            continue
        is_document = text.startswith("cat") and "<<" in text
        if is_document or (simple is not None and len(simple) == 1):
            return f"Use the tool {rule.tool} instead of this command: {rule.reason}."
    return None


def internal_urls(command: str) -> Iterator[re.Match[str]]:
    """Where addresses such as artifact://3 stand in a command."""
    return re.finditer(_URL, command)


def quoted_at(command: str, index: int, text: str) -> str:
    """`text` written so that a shell reads it as it is at this place of a command."""
    match _quote_at(command, index):
        case "'":
            return text.replace("'", "'\\''")
        case '"':
            return re.sub(r'(["$`\\])', r"\\\1", text)
        case _:
            return shlex.quote(text)


def _quote_at(command: str, index: int) -> str:
    """The quotation mark inside which a place stands, or nothing."""
    inside = ""
    position = 0
    while position < index:
        letter = command[position]
        if letter == "\\" and inside != "'":
            position += 1
        elif not inside and letter in "'\"":
            inside = letter
        elif letter == inside:
            inside = ""
        position += 1
    return inside


def _stages(command: str) -> list[tuple[str, bool]] | None:
    """The commands of a pipeline, each with whether the one before it sends it both of its streams.

    None for all that is more than one pipeline of simple commands.
    """
    found: list[tuple[str, bool]] = []
    text, merged, inside = "", False, ""
    for token in re.findall(r"\\.|\|&|\|\||&&|&>|>&|<<|\$\(|[<>]\(|.", command.strip(), re.DOTALL):
        if inside:
            inside = "" if token == inside else inside
        elif token in ("'", '"'):
            inside = token
        elif token in ("|", "|&"):
            found.append((text, merged))
            text, merged = "", token == "|&"
            continue
        elif token in ("||", "&&", "&", ";", "\n", "(", ")", "<<", "<(", ">(", "#"):
            return None
        if token in ("`", "$(") and inside != "'":
            return None
        text += token
    found.append((text, merged))
    if inside or any(not stage.split() or stage.split()[0] in _NOT_SIMPLE for stage, _ in found):
        return None
    return found


def _line_count(arguments: str) -> int | None:
    """How many lines `head` or `tail` is asked for; None if it is asked for something else."""
    arguments = arguments.strip()
    if not arguments:
        return 10
    match = re.fullmatch(_COUNT, arguments)
    return None if match is None else int(match["n"] or match["short"] or match["long"])


def _ends_by_itself(command: str) -> bool:
    words = command.split()
    while words and re.fullmatch(r"[A-Za-z_]\w*=\S*", words[0]):
        del words[0]
    if not words or any(word in ("--watch", "-w", "-f", "--looponfail") for word in words):
        return False
    pattern = _RUNNER_WORDS.get(words[0])
    return words[0] in _RUNNERS or (pattern is not None and bool(re.fullmatch(pattern, " ".join(words[1:]))))
