"""Reads shell text that means exactly what it says: words, quotes, pipes and lists, nothing else."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

MAX_CHARS = 2_000
_TOKEN = re.compile(
    r"""(?P<space>[ \t]+)
    |(?P<operator>&&|\|\||[;\n]|\|(?![&|]))
    |(?P<descriptor>[0-9]?>&[0-9])
    |(?P<redirect>(?:[0-9]|&)?>{1,2}(?![&(|>]))
    |(?P<word>(?:~(?=/|\s|$))?(?:[\w./:,@%+=^-]|'[^']*'|"[^"$`\\!]*")+|~(?=\s|$))""",
    re.VERBOSE,
)
# Programs that cannot fail when they only print, so that what follows `&&` is reached.
_SURE = frozenset(("echo", "true", ":", "pwd"))
# Words that act on the shell itself, or are no commands.
_UNREADABLE = frozenset(
    (
        *("if", "then", "else", "fi", "for", "do", "done", "while", "until", "case", "esac", "function"),
        *("exit", "return", "exec", "set", "shopt", "trap", "eval", "source", ".", "alias", "unalias"),
        *("time", "coproc", "select", "pushd", "popd", "break", "continue", "wait", "kill"),
    )
)


class PlainCommand(Struct, frozen=True, kw_only=True):
    """`writes` are the files that its output goes to, as written; `is_whole`: there is no other command.

    `is_reached`: whatever came before, this one ran.
    """

    words: tuple[str, ...]
    writes: tuple[str, ...] = ()
    cwd: Path
    is_whole: bool = False
    is_reached: bool = True

    @property
    def name(self) -> str:
        return self.words[0] if self.words else ""

    def path(self, text: str) -> Path:
        """The path that a word means, with the links of its folders resolved."""
        joined = self.cwd / text
        if joined.name in ("", "..") or text.endswith("/."):
            return Path(os.path.realpath(joined))
        return Path(os.path.realpath(joined.parent), joined.name)


def read_plain(text: str, cwd: Path) -> list[list[PlainCommand]]:
    """The pipelines of a text, in order; none if any part of it is beyond this reader."""
    if len(text) > MAX_CHARS:
        return []
    pipelines = _split(text.strip())
    if pipelines is None:
        return []
    is_whole = len(pipelines) == 1 and len(pipelines[0][1]) == 1
    result: list[list[PlainCommand]] = []
    reached = True
    for operator, stages in pipelines:
        if operator in ("&&", "||") and not (operator == "&&" and reached and _succeeds(result[-1])):
            reached = False
        elif operator in (";", "\n"):
            reached = True
        commands = [
            PlainCommand(
                words=tuple(words), writes=tuple(writes), cwd=cwd, is_whole=is_whole, is_reached=reached
            )
            for words, writes in stages
        ]
        if any(command.name in _UNREADABLE or "=" in command.name for command in commands):
            return []
        if commands[0].name == "cd":
            moved = _change_folder(commands)
            if moved is None:
                return []
            cwd = moved
        result.append(commands)
    if result and result[0][0].name == "cd" and len(result) > 1:
        # A `cd` that is known to work is no separate step.
        result = [[replace(each, is_reached=True) for each in result[1]], *result[2:]]
    return result


def _change_folder(commands: Sequence[PlainCommand]) -> Path | None:
    words, writes = commands[0].words, commands[0].writes
    if len(commands) > 1 or len(words) != 2 or writes or words[1].startswith("-"):
        return None
    folder = Path(os.path.realpath(commands[0].cwd / words[1]))
    return folder if folder.is_dir() else None


def _succeeds(commands: Sequence[PlainCommand]) -> bool:
    return len(commands) == 1 and (
        (commands[0].name in _SURE and not commands[0].writes) or commands[0].name == "cd"
    )


_Stage = tuple[list[str], list[str]]


def _split(text: str) -> list[tuple[str, list[_Stage]]] | None:
    """Pipelines with the operator before each; None if there is more to the text."""
    pipelines: list[tuple[str, list[_Stage]]] = [("", [([], [])])]
    at, is_target = 0, False
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            return None
        at = match.end()
        words, writes = pipelines[-1][1][-1]
        match match.lastgroup:
            case "word":
                (writes if is_target else words).append(_unquote(match[0]))
                is_target = False
                continue
            case "redirect":
                if is_target:
                    return None
                is_target = True
                continue
            case "operator" if is_target or not words:
                return None
            case "operator" if match[0] == "|":
                pipelines[-1][1].append(([], []))
            case "operator":
                pipelines.append((match[0], [([], [])]))
    if is_target or not all(words for _, stages in pipelines for words, _ in stages):
        return None
    return pipelines


def _unquote(word: str) -> str:
    parts = re.findall(r"""'([^']*)'|"([^"]*)"|([^'"]+)""", word)
    plain = "".join(single or double or bare for single, double, bare in parts)
    return str(Path.home()) + plain[1:] if re.match(r"~(/|$)", word) else plain
