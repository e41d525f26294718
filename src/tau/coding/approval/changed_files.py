"""Finds the files that programs and redirections change, as far as the words of a command tell."""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from tau.coding.approval.command_wrappers import Words, find_starts
from tau.coding.approval.outside_changes import Change
from tau.coding.approval.shell_syntax import Redirection
from tau.coding.approval.shell_words import ShellWord, known_value

_WRITES = (">", ">>", ">|", "&>", "&>>", "<>", ">&")


def find_redirections(redirections: Iterable[Redirection]) -> Iterator[Change]:
    for each in redirections:
        if each.operator not in _WRITES:
            continue
        if each.operator == ">&" and re.fullmatch(r"\d+-?|-", each.target.text):
            continue
        yield Change("append to" if ">>" in each.operator else "overwrite", each.target)


def find_changes(program: str, words: Words) -> list[Change]:
    """What a program would change; `words` begin with its name."""
    find = _PROGRAMS.get(program)
    return find(words[1:]) if find is not None else []


def _operands(words: Words, values: str = "") -> tuple[list[ShellWord], dict[str, ShellWord]]:
    """The words that are no options, and the values of options.

    An option's value that is a separate word counts as an operand too, unless its letter is in `values`.
    """
    operands: list[ShellWord] = []
    given: dict[str, ShellWord] = {}
    rest = iter(words)
    for word in rest:
        text = word.text
        if text == "--" and known_value(word) is not None:
            operands += rest
            break
        if not text.startswith("-") or text == "-":
            operands.append(word)
        elif text.startswith("--"):
            name, equals, value = text[2:].partition("=")
            given[name] = _part(word, value) if equals else ShellWord("", "")
        else:
            for at, letter in enumerate(text[1:], 2):
                if letter in values:
                    value = text[at:]
                    following = _part(word, value) if value else next(rest, None)
                    given[letter] = following if following is not None else ShellWord("", "")
                    break
                given[letter] = ShellWord("", "")
    return operands, given


def _part(word: ShellWord, value: str) -> ShellWord:
    """The end of a word as a word."""
    return ShellWord(value, word.source, word.expansions)


def _values_of(given: dict[str, ShellWord], letters: str, *names: str) -> list[ShellWord]:
    """The values of options, by letter, and by name or its abbreviation."""
    found = [given[letter] for letter in letters if letter in given]
    for name in names:
        found += [value for each, value in given.items() if len(each) > 1 and name.startswith(each)]
    return found


_Finder = Callable[[Words], list[Change]]


def _each_operand(action: str, values: str = "", skip: int = 0, *, of_inode: bool = False) -> _Finder:
    def find(words: Words) -> list[Change]:
        operands, given = _operands(words, values)
        has_no_first = skip and _values_of(given, "", "reference")
        return [Change(action, word, "", of_inode) for word in operands[0 if has_no_first else skip :]]

    return find


def _find_copies(action: str, *, values: str, moves: bool = False) -> _Finder:
    """Programs whose last operand is the destination."""

    def find(words: Words) -> list[Change]:
        operands, given = _operands(words, values)
        into = _values_of(given, "t", "target-directory")
        targets = [word for word in into if word.source]
        sources = operands
        if not into and len(operands) > 1:
            targets, sources = operands[-1:], operands[:-1]
        elif into and not targets:  # `--target-directory DIR`
            targets = operands
        changes = [Change(action, word) for word in targets]
        if moves:
            changes += [Change("move", word) for word in sources]
        # A word that is not known may be `--target-directory=FOLDER`.
        return changes + [Change(action, word) for word in sources if word.source and word.text[:1] in "$`{"]

    return find


def _find_links(words: Words) -> list[Change]:
    """A link out of the workspace lets the next command write there."""
    operands, given = _operands(words, "tS")
    return [Change("link to", word) for word in operands] + [
        Change("write to", word) for word in _values_of(given, "t", "target-directory") if word.source
    ]


def _find_install(words: Words) -> list[Change]:
    operands, given = _operands(words, "gmotS")
    if "d" in given or _values_of(given, "", "directory"):
        return [Change("write to", word) for word in operands]
    return _find_copies("overwrite", values="gmotS")(words)


def _find_dd(words: Words) -> list[Change]:
    changes = []
    for word in words:
        if word.text.startswith("of="):
            changes.append(Change("overwrite", word, "of="))
        elif known_value(word) is None and not word.text.startswith(("if=", "bs=", "count=", "skip=")):
            changes.append(Change("overwrite", word))
    return changes


def _find_rsync(words: Words) -> list[Change]:
    operands, given = _operands(words, "eBfTM")
    action = "delete or overwrite" if any(name.startswith("del") for name in given) else "overwrite"
    changes = [
        Change("overwrite", value)
        for value in _values_of(
            given, "T", "backup-dir", "log-file", "temp-dir", "write-batch", "partial-dir"
        )
        if value.source
    ]
    targets = operands[-1:] if len(operands) > 1 else []
    changes += [Change(action, word) for word in targets if not re.match(r"[^/]+:|rsync://", word.text)]
    if any(name.startswith("remove") for name in given):
        changes += [Change("delete", word) for word in operands[:-1]]
    return changes


def _find_find(words: Words) -> list[Change]:
    starts, actions = find_starts(words), words
    changes = []
    for at, word in enumerate(actions):
        if word.text == "-delete":
            changes += [Change("delete in", start) for start in starts]
        elif word.text in ("-fprint", "-fprint0", "-fprintf", "-fls") and at + 1 < len(actions):
            changes.append(Change("overwrite", actions[at + 1]))
    return changes


def _find_tar(words: Words) -> list[Change]:
    """Extraction into the current folder or that of `-C`; creation of the archive."""
    if words and not words[0].text.startswith("-"):
        words = (_part(words[0], f"-{words[0].text}"), *words[1:])  # `tar xf FILE`
    folders = [after for before, after in pairwise(words) if before.text in ("-C", "--directory", "--cd")]
    _, given = _operands(words, "CfTXbVFIgHKLN")
    folders += [value for value in _values_of(given, "", "directory", "cd") if value.source]
    if "C" in given:
        folders.append(given["C"])
    is_reader = "t" in given or "list" in given
    creates = any(each in given for each in ("c", "r", "u", "A", "create", "append", "update", "delete"))
    if creates:
        archive = _values_of(given, "f", "file")
        return [Change("overwrite", word) for word in archive if word.source and word.text != "-"]
    if is_reader:
        return []
    changes = [Change("extract into", word) for word in folders or [ShellWord(".", ".")]]
    if "P" in given or _values_of(given, "", "absolute-names"):
        changes.append(Change("extract into", ShellWord("/", "/")))
    return changes


def _find_sed(words: Words) -> list[Change]:
    operands, given = _operands(words, "efl")
    in_place = "i" in given or _values_of(given, "", "in-place")
    if not in_place:
        return []
    if not ("e" in given or "f" in given or _values_of(given, "", "expression", "file")):
        operands = operands[1:]
    return [Change("overwrite", word) for word in operands]


def _find_perl(words: Words) -> list[Change]:
    if not any(re.match(r"-[a-hj-zA-Z0-9]*i", word.text) for word in words):
        return []
    return [Change("overwrite", word) for word in _operands(words, "e")[0]]


_GIT_READERS = frozenset(
    (
        *("status", "log", "diff", "show", "blame", "grep", "ls-files", "ls-tree", "rev-parse", "describe"),
        *("shortlog", "cat-file", "merge-base", "rev-list", "name-rev", "for-each-ref", "show-ref", "help"),
        *("ls-remote", "count-objects", "check-ignore", "diff-tree", "whatchanged", "version", "var"),
    )
)


def _find_git(words: Words) -> list[Change]:
    """Where a command that changes files runs, and the folders and files that options name."""
    places: list[ShellWord] = []
    rest = list(words)
    while rest and rest[0].text.startswith("-"):
        word = rest.pop(0)
        name, equals, value = word.text.partition("=")
        if equals and name in ("--work-tree", "--git-dir"):
            places.append(_part(word, value))
        elif name in ("-C", "--work-tree", "--git-dir") and rest:
            places.append(rest.pop(0))
        elif name in ("-c", "--config-env", "--namespace", "--exec-path") and not equals and rest:
            rest.pop(0)
    command = rest[0].text if rest else ""
    operands, given = _operands(tuple(rest[1:]), "o" if command in ("format-patch", "archive") else "bB")
    changes = [
        Change("overwrite", value)
        for value in _values_of(given, "o", "output", "output-directory", "separate-git-dir")
        if value.source
    ]
    if command in ("clone", "init"):
        operands, _ = _operands(tuple(rest[1:]), "bocju")
        changes += [Change("write to", word) for word in (operands[1:] if command == "clone" else operands)]
    elif command == "worktree" and operands and operands[0].text != "list":
        changes += [Change("write to", word) for word in operands[1:2]]
    elif command in ("clean", "rm", "checkout", "restore"):
        paths = [word for word in operands if word.text[:1] in ("/", "~") or ".." in word.text.split("/")]
        changes += [Change("delete or overwrite", word) for word in paths]  # the others may be branches
    elif command == "bundle" and len(operands) > 1:
        changes.append(Change("overwrite", operands[1]))
    if command and (command not in _GIT_READERS or known_value(rest[0]) is None):
        here = ShellWord(".", f"git {command}")
        changes += [Change("change files in", word) for word in places or [here]]
    return changes


def _find_downloads(words: Words) -> list[Change]:
    changes = []
    for at, word in enumerate(words):
        found = re.match(
            r"--(?:output|output-dir|output-document|directory-prefix|output-file|dump-header)=", word.text
        )
        if found:
            changes.append(Change("overwrite", _part(word, word.text[found.end() :])))
        elif re.fullmatch(
            r"-[a-zA-Z]*[oOPDc]|--(?:output|output-dir|output-document|directory-prefix)", word.text
        ):
            if at + 1 < len(words):
                changes.append(Change("overwrite", words[at + 1]))
        elif re.match(r"-[a-zA-Z]*[oOPD].", word.text):
            changes.append(Change("overwrite", _part(word, re.sub(r"^-[a-zA-Z]*?[oOPD]", "", word.text))))
    return [change for change in changes if not change.word.text.startswith(("-", "http:", "https:"))]


def _option_values(action: str, letters: str, *names: str, last: bool = False) -> _Finder:
    def find(words: Words) -> list[Change]:
        operands, given = _operands(words, letters)
        values = [value for value in _values_of(given, letters, *names) if value.source]
        return [Change(action, value) for value in [*values, *(operands[-1:] if last else [])]]

    return find


def _second_operand(values: str) -> _Finder:
    def find(words: Words) -> list[Change]:
        return [Change("overwrite", word) for word in _operands(words, values)[0][1:2]]

    return find


def _find_unzip(words: Words) -> list[Change]:
    if any(re.match(r"-[a-zA-Z]*[lptvzZ]", word.text) for word in words):
        return []
    for at, word in enumerate(words):
        if word.text == "-d" and at + 1 < len(words):
            return [Change("extract into", words[at + 1])]
        if word.text.startswith("-d"):
            return [Change("extract into", _part(word, word.text[2:]))]
    return [Change("extract into", ShellWord(".", "."))]


def _find_compressed(words: Words) -> list[Change]:
    operands, given = _operands(words, "S")
    if any(each in given for each in ("c", "stdout", "to-stdout", "t", "test", "l", "list")):
        return []
    return [Change("overwrite", word) for word in operands]


_PROGRAMS: dict[str, _Finder] = {
    **dict.fromkeys(("rm", "rmdir", "unlink", "srm", "wipe"), _each_operand("delete")),
    "shred": _each_operand("overwrite", "ns"),
    "truncate": _each_operand("overwrite", "sr"),
    "tee": _each_operand("overwrite"),
    "sponge": _each_operand("overwrite"),
    "touch": _each_operand("write to", "drt", of_inode=True),
    "mkdir": _each_operand("write to", "m"),
    "mkfifo": _each_operand("write to", "m"),
    "mknod": _each_operand("write to", "m"),
    "fallocate": _each_operand("overwrite", "lo"),
    **dict.fromkeys(
        ("chmod", "chown", "chgrp"), _each_operand("change permissions of", skip=1, of_inode=True)
    ),
    "chattr": _each_operand("change permissions of", skip=1, of_inode=True),
    "setfacl": _each_operand("change permissions of", "mxMX", of_inode=True),
    "setfattr": _each_operand("change permissions of", "nvx", of_inode=True),
    **dict.fromkeys(("mkfs", "mkswap", "wipefs", "fdisk", "parted"), _each_operand("overwrite")),
    "mv": _find_copies("overwrite", values="tS", moves=True),
    "cp": _find_copies("overwrite", values="tS"),
    "scp": _find_copies("overwrite", values="cFiJloPSX"),
    "install": _find_install,
    "ln": _find_links,
    "link": _find_links,
    "dd": _find_dd,
    "flock": lambda words: [Change("write to", word) for word in _operands(words, "wE")[0][:1]],
    "rsync": _find_rsync,
    **dict.fromkeys(("find", "gfind"), _find_find),
    **dict.fromkeys(("tar", "gtar", "bsdtar"), _find_tar),
    **dict.fromkeys(("sed", "gsed"), _find_sed),
    "perl": _find_perl,
    "git": _find_git,
    **dict.fromkeys(("curl", "wget"), _find_downloads),
    **dict.fromkeys(
        ("sort", "iconv", "gpg", "cc", "gcc", "g++", "clang", "clang++", "ld"),
        _option_values("overwrite", "o", "output"),
    ),
    "csplit": _option_values("write to", "f", "prefix"),
    "mktemp": _option_values("write to", "p", "tmpdir"),
    "uniq": _second_operand("fsw"),
    "xxd": _second_operand("cglos"),
    **dict.fromkeys(("zip", "ed", "ex"), _each_operand("overwrite")),
    **dict.fromkeys(("trash", "trash-put"), _each_operand("delete")),
    "rename": _each_operand("move", skip=1),
    "split": _option_values("write to", "", last=True),
    "unzip": _find_unzip,
    **dict.fromkeys(("gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd"), _find_compressed),
    "patch": _option_values("overwrite", "dor", "directory", "output", "reject-file"),
}
