"""Separates Git settings that only describe a repository from those that can run programs."""

import re
from collections.abc import Iterator

# Settings that `git init`, `clone`, `remote add`, `branch -u` and the like write.
# No expression: compiling one takes longer than all else that is done with it.
_HARMLESS: dict[str, frozenset[str]] = {
    "core": frozenset(
        (
            *("repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase"),
            *("precomposeunicode", "symlinks", "autocrlf", "eol", "quotepath", "abbrev", "worktree"),
            *("sparsecheckout", "sparsecheckoutcone", "untrackedcache"),
        )
    ),
    "user": frozenset(("name", "email", "signingkey", "useconfigonly")),
    "init": frozenset(("defaultbranch",)),
    "pull": frozenset(("rebase", "ff")),
    "push": frozenset(("default", "autosetupremote", "followtags")),
    "fetch": frozenset(("prune",)),
    "rerere": frozenset(("enabled",)),
    "gc": frozenset(("auto",)),
    "commit": frozenset(("gpgsign",)),
    "tag": frozenset(("gpgsign",)),
    "lfs": frozenset(("repositoryformatversion",)),
}
_HARMLESS_SECTIONS = frozenset(("color", "column", "index", "extensions"))
_HARMLESS_IN_SUBSECTIONS: dict[str, frozenset[str]] = {
    "remote": frozenset(
        ("url", "pushurl", "fetch", "tagopt", "prune", "mirror", "promisor", "partialclonefilter")
    ),
    "branch": frozenset(("remote", "merge", "rebase", "description", "pushremote")),
    "submodule": frozenset(("url", "active", "branch")),
}
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
    if key is None or not prefix or not _is_harmless_setting(prefix, key[1].lower()):
        return False
    return not line.endswith("\\") and _TRANSPORT_HELPER.match((key[2] or "").replace('"', "")) is None


def _is_harmless_setting(prefix: str, key: str) -> bool:
    section, _, subsection = prefix.removesuffix(".").partition(".")
    if subsection or prefix.count(".") > 1:
        return key in _HARMLESS_IN_SUBSECTIONS.get(section, ())
    is_word = key.replace("_", "a").isalnum()
    return (section in _HARMLESS_SECTIONS and is_word) or key in _HARMLESS.get(section, ())
