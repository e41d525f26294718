"""Runs git on a work tree without the repository's configuration, which names programs for git to start.

Filters, file system monitors, hooks, diff drivers, transports and credential helpers come from `config`,
`hooks` and `info/attributes` of the git directory, and no set of options turns all of them off. So git gets
a private git directory that borrows the objects, the references and the index, and nothing else.
"""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from tau.base.files import make_private
from tau.base.git_dir import GitDir, git_dir, read_start, shared_indexes
from tau.base.programs import find_program
from tau.base.sizes import KIB

MAX_CONFIG_BYTES = 256 * KIB
_BORROWED = ("objects", "refs", "packed-refs", "reftable", "shallow")  # of the common directory
# Settings that say how to compare files, each with its harmless values. Nothing else of `config` is used.
_YES_NO = "true|false"
_KEPT = {
    ("core", "filemode"): _YES_NO,
    ("core", "symlinks"): _YES_NO,
    ("core", "ignorecase"): _YES_NO,
    ("core", "precomposeunicode"): _YES_NO,
    ("core", "trustctime"): _YES_NO,
    ("core", "checkstat"): "default|minimal",
    ("core", "autocrlf"): "true|false|input",
    ("core", "eol"): "lf|crlf|native",
    ("core", "sparsecheckout"): _YES_NO,
    ("core", "sparsecheckoutcone"): _YES_NO,
    ("extensions", "objectformat"): "sha1|sha256",
    ("extensions", "refstorage"): "files|reftable",
}
_HEAD = re.compile(r"ref: refs/[^\s\x00-\x1f\x7f]+|[0-9a-f]{40}|[0-9a-f]{64}")
_SECTION = re.compile(r"\s*\[([^\]]*)\]\s*(?:[#;].*)?")
_VALUE = re.compile(r"\s*(\w+)\s*=\s*(\w+)\s*(?:[#;].*)?")
_OPTIONS = ("--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
# Of the caller's environment; an empty value is like none.
_UNSET = ("GIT_CONFIG_PARAMETERS", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE")
_NO_CONFIG = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}


class GitView(Struct, frozen=True):
    """A work tree as git sees it through the private directory `folder`."""

    root: Path
    folder: Path
    real: GitDir
    program: str

    def command(self, *words: str) -> tuple[str, ...]:
        return (self.program, *_OPTIONS, *words)

    def env(self, *, index: Path | None = None, user_config: bool = False) -> Mapping[str, str]:
        """The environment of `command`; `index` is another one than the work tree's.

        Without `user_config` where git reads files: the repository says which of the user's filters apply.
        """
        return {
            **dict.fromkeys(_UNSET, ""),
            **({} if user_config else _NO_CONFIG),
            "GIT_CONFIG_COUNT": "0",
            "GIT_DIR": str(self.folder),
            "GIT_COMMON_DIR": str(self.folder),
            "GIT_WORK_TREE": str(self.root),
            "GIT_OBJECT_DIRECTORY": str(self.folder / "objects"),
            "GIT_INDEX_FILE": str(index or self.real.own / "index"),
            "GIT_ALLOW_PROTOCOL": "none",  # nothing is fetched, not even a missing object
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "/bin/false",
            "LC_ALL": "C",
        }


def open_git_view(root: Path, folder: Path) -> GitView:
    """Make or refresh the private directory `folder`. Raises OSError, FileNotFoundError without git."""
    root = Path(os.path.realpath(root))
    program = find_program("git", avoid=root)
    if program is None:
        raise FileNotFoundError("git is not installed")
    real = git_dir(root)
    own, common = (Path(os.path.realpath(place)) for place in (real.own, real.common))
    make_private(folder)
    make_private(folder / "info")
    _borrow(folder, ((name, common / name) for name in _BORROWED))
    _borrow(folder, ((path.name, path) for path in shared_indexes(own)))
    _borrow(folder / "info", (("sparse-checkout", own / "info" / "sparse-checkout"),))
    head = read_start(own / "HEAD").strip()
    (folder / "HEAD").write_text(f"{head if _HEAD.fullmatch(head) else '0' * 40}\n", encoding="utf-8")
    config = safe_config(read_start(common / "config", MAX_CONFIG_BYTES))
    (folder / "config").write_text(config, encoding="utf-8")
    return GitView(root, folder, GitDir(own, common), program)


def _borrow(folder: Path, links: Iterable[tuple[str, Path]]) -> None:
    for name, target in links:
        link = folder / name
        if link.is_symlink():
            if os.readlink(link) == str(target):  # noqa: PTH115 - a Path would change the text
                continue
            link.unlink()
        if target.exists():
            link.symlink_to(target)


def safe_config(text: str) -> str:
    """The settings that only say how files are stored and compared."""
    section = ""
    kept: dict[tuple[str, str], str] = {}
    for line in text.splitlines():
        if match := _SECTION.fullmatch(line):
            section = match[1].strip().lower()
        elif match := _VALUE.fullmatch(line):
            key, value = (section, match[1].lower()), match[2].lower()
            if key in _KEPT and re.fullmatch(_KEPT[key], value):
                kept[key] = value
    version = 1 if any(section == "extensions" for section, _ in kept) else 0
    rows = [f"[core]\nrepositoryformatversion = {version}\nbare = false"]
    rows += [f"[{section}]\n{name} = {value}" for (section, name), value in kept.items()]
    return "\n".join([*rows, ""])
