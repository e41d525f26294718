"""Separates Git settings that only describe a repository from those that can run programs."""

import re
from collections.abc import Iterator

# Settings that `git init`, `clone`, `remote add`, `branch -u` and the like write.
_HARMLESS = re.compile(
    r"core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks"
    r"|autocrlf|eol|quotepath|abbrev|worktree|sparsecheckout|sparsecheckoutcone|untrackedcache)"
    r"|user\.(name|email|signingkey|useconfigonly)|init\.defaultbranch|pull\.(rebase|ff)"
    r"|push\.(default|autosetupremote|followtags)|fetch\.prune|rerere\.enabled|gc\.auto|commit\.gpgsign"
    r"|tag\.gpgsign|color\.\w+|column\.\w+|index\.\w+|extensions\.\w+|lfs\.repositoryformatversion"
    r"|remote\..*\.(url|pushurl|fetch|tagopt|prune|mirror|promisor|partialclonefilter)"
    r"|branch\..*\.(remote|merge|rebase|description|pushremote)|submodule\..*\.(url|active|branch)"
)
_SECTION = re.compile(r'\s*\[\s*([\w.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\](.*)', re.DOTALL)
_KEY = re.compile(r"\s*([A-Za-z][\w-]*)\s*(?:=\s*(.*))?", re.DOTALL)
_TRANSPORT_HELPER = re.compile(r"\s*\w+::")  # ext::sh -c ... runs a command


def keep_harmless(text: str) -> str:
    """Return the settings without those that could run a program or read other files."""
    return "".join(f"{line}\n" for _, line, harmless in _judged_lines(text) if harmless)


def is_harmless(text: str) -> bool:
    return not list_harmful(text)


def list_harmful(text: str) -> list[str]:
    """The settings that could run a program, each with its section."""
    return [f"{prefix}{line.strip()}" for prefix, line, harmless in _judged_lines(text) if not harmless]


def _judged_lines(text: str) -> Iterator[tuple[str, str, bool]]:
    """Yield section headings and settings, each with its section, and whether each is harmless.

    Git continues a line that ends in a backslash only in some places. None of ours does: each line is judged
    alone, and such a setting is not harmless.
    """
    prefix = ""
    for line in text.replace("\r\n", "\n").split("\n"):
        rest = line
        if (section := _SECTION.fullmatch(line)) is not None:
            name, subsection, rest = section[1].lower(), section[2], section[3]
            prefix = f"{name}." if subsection is None else f"{name}.{subsection}."
            yield prefix, line[: len(line) - len(rest)], True
        if rest.strip() and rest.lstrip()[0] not in "#;":
            yield prefix, rest, _is_harmless(prefix, rest)


def _is_harmless(prefix: str, line: str) -> bool:
    key = _KEY.fullmatch(line)
    if key is None or not prefix or _HARMLESS.fullmatch(prefix + key[1].lower()) is None:
        return False
    return not line.endswith("\\") and _TRANSPORT_HELPER.match((key[2] or "").replace('"', "")) is None
