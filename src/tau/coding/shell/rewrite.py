"""Rewrites shell text where tau can do better, without running it.

Anything not fully understood stays unchanged.
"""

import re
import shlex
from collections.abc import Collection, Iterator
from typing import Literal

from msgspec import Struct

INTERNAL_SCHEMES = ("artifact", "conflict", "local", "tau")

_EDIT_REASON = "it notices unexpected file contents"

# Patterns are strings, compiled on first use.
_CD = r"""\s*cd\s+(?:--\s+)?(?P<folder>'[^'\n]+'|"[^"\n$`\\]+"|[\w./~@%+:,=-]+)\s*&&\s*(?P<rest>\S.*)"""
_LONE_AMPERSAND = r"(?<![&|<>])&(?![&>])"
_URL = rf"(?<![\w.+-])(?:{'|'.join(INTERNAL_SCHEMES)})://[\w./%+@:~,=-]*[\w/]"
_COUNT = r"-n\s*(?P<n>\d+)|-(?P<short>\d+)|--lines[= ](?P<long>\d+)"
_MERGED = r"\s2>&1\s*$"
_QUOTED = r"""'[^']*'|"(?:\\.|[^"\\])*"|\\."""
# Words that start a compound command, and those that act on the shell itself.
_NOT_SIMPLE = frozenset(
    (
        *("if", "for", "while", "until", "case", "select", "function", "time", "coproc", "{", "[[", "!"),
        *("cd", "pushd", "popd", "export", "declare", "typeset", "local", "readonly", "unset", "alias"),
        *("set", "shopt", "source", ".", "eval", "exec", "exit", "return", "trap", "read", "wait", "umask"),
        "ulimit",
    )
)
# Programs that terminate and whose exit code matters. `head` would cut them off.
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
    """Commands that a tool does better."""

    pattern: str
    tool: str
    reason: str


# Applies to a whole command only: pipes and lists belong in the shell.
RULES = (
    ToolHint(
        r"(cat|head|tail|less|more)\s+(?!(?:.*\s)?(?:-f|-F|--follow)\b)[^<>]+",
        "read",
        "it shows the tags that edit needs",
    ),
    ToolHint(r"(grep|rg|ag|ack)\s+[^<>]+", "search", "its matches have the tags that edit needs"),
    ToolHint(
        r"(find|fd|locate)\s+(?!.*\s-(exec|execdir|ok|okdir|delete|fprint\w*)\b)[^<>]+",
        "find",
        "it skips ignored files",
    ),
    ToolHint(r"sed\s+(.*\s)?(-[a-zA-Z]*i\S*|--in-place\S*)(\s.*)?", "edit", _EDIT_REASON),
    ToolHint(r"perl\s+(.*\s)?-[a-zA-Z]*i\S*(\s.*)?", "edit", _EDIT_REASON),
    ToolHint(r"g?awk\s+(.*\s)?-i\s*inplace(\s.*)?", "edit", _EDIT_REASON),
    ToolHint(
        r"((echo|printf)\s[^<>]*(?<!>)|cat\s*<<[^>]*?(?<!>)|cat\s*)>(?![>&])\s*(?!/dev/)\S.*",
        "write",
        "it needs no shell quoting",
    ),
)


def fold_cd(command: str) -> CdPrefix | None:
    """A leading `cd X &&` with a plain X that applies to the whole rest."""
    match = re.fullmatch(_CD, command, re.DOTALL) if "cd" in command and "&&" in command else None
    if match is None or re.search(_LONE_AMPERSAND, match["rest"]):
        return None  # a lone `&` would put the `cd` in the background too
    word = match["folder"]
    folder = word[1:-1] if word[0] in "'\"" else word
    if folder == "-" or (folder != word and folder.startswith("~")):
        return None  # `cd -` is the previous folder; a quoted tilde is a literal name
    return CdPrefix(folder, match["rest"])


def without_limit(command: str, max_lines: int) -> TrimmedCommand | None:
    """Strip a final `| tail -n N` or `| head -n N` and apply it ourselves, with the full output saved.

    Both streams must go through it (`2>&1 |` or `|&`), or we would cut the other one too. `tail` reads all
    input anyway. `head` ends its producer early, which bounds an endless one: it is only stripped from
    programs that terminate.
    """
    stages = _stages(command) if "|" in command else None
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
    if words[0] == "head" and (len(before) > 1 or not _terminates(source)):
        return None
    rest = re.sub(_MERGED, "", command[: command.rindex("|")].removesuffix("|").rstrip()).strip()
    return TrimmedCommand(rest, "head" if words[0] == "head" else "tail", lines, last.strip())


def better_tool(command: str, active: Collection[str]) -> str | None:
    """Why a command is refused: an available tool does the same, better."""
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
    """Internal URLs such as artifact://3 in a command."""
    return re.finditer(_URL, command) if "://" in command else iter(())


def quoted_at(command: str, index: int, text: str) -> str:
    """`text` quoted so that a shell reads it literally at this position of a command."""
    match _quote_at(command, index):
        case "'":
            return text.replace("'", "'\\''")
        case '"':
            return re.sub(r'(["$`\\])', r"\\\1", text)
        case _:
            return shlex.quote(text)


def _quote_at(command: str, index: int) -> str:
    """The quote character that encloses a position, or nothing."""
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
    """The commands of a pipeline, each with whether it receives both streams of the previous one.

    None for anything but one pipeline of simple commands.
    """
    stages: list[tuple[str, bool]] = []
    text, merged, inside = "", False, ""
    for token in re.findall(r"\\.|\|&|\|\||&&|&>|>&|<<|\$\(|[<>]\(|.", command.strip(), re.DOTALL):
        if inside:
            inside = "" if token == inside else inside
        elif token in ("'", '"'):
            inside = token
        elif token in ("|", "|&"):
            stages.append((text, merged))
            text, merged = "", token == "|&"
            continue
        elif token in ("||", "&&", "&", ";", "\n", "(", ")", "<<", "<(", ">(", "#"):
            return None
        if token in ("`", "$(") and inside != "'":
            return None
        text += token
    stages.append((text, merged))
    if inside or any(not stage.split() or stage.split()[0] in _NOT_SIMPLE for stage, _ in stages):
        return None
    return stages


def _line_count(arguments: str) -> int | None:
    """The line count given to `head` or `tail`; None for other options."""
    arguments = arguments.strip()
    if not arguments:
        return 10
    match = re.fullmatch(_COUNT, arguments)
    return None if match is None else int(match["n"] or match["short"] or match["long"])


def _terminates(command: str) -> bool:
    """Whether this is a known program that ends without being stopped."""
    words = command.split()
    while words and re.fullmatch(r"[A-Za-z_]\w*=\S*", words[0]):
        del words[0]
    if not words or any(word in ("--watch", "-w", "-f", "--looponfail") for word in words):
        return False
    pattern = _RUNNER_WORDS.get(words[0])
    return words[0] in _RUNNERS or (pattern is not None and bool(re.fullmatch(pattern, " ".join(words[1:]))))
