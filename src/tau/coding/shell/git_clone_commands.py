"""`git clone` from a server: the transfer runs outside, into a folder that commands cannot reach.

What arrives is handed to the sandbox without a work tree; the checkout, which may run programs, is inside.
"""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from tau.coding.shell.git_transfer_commands import SAFE_SETTINGS, is_network_address
from tau.coding.shell.plain_commands import read_plain

# Each option is known to name no program, no file and no other repository.
_FLAGS = frozenset(
    (
        *("-q", "--quiet", "-v", "--verbose", "--progress", "--single-branch", "--no-single-branch"),
        *("--no-tags", "--tags", "--no-recurse-submodules"),
    )
)
_VALUES = {"--depth": r"[1-9][0-9]{0,8}", "-b": r"[A-Za-z0-9_][\w./-]*", "--branch": r"[A-Za-z0-9_][\w./-]*"}
_HOST = re.compile(r"(?:\w+://)?(?:[^@/]*@)?(\[[^\]]*\]|[^:/]+)")


class GitClone(Struct, frozen=True, kw_only=True):
    """`folder` is where the repository will be."""

    url: str
    options: tuple[str, ...]
    folder: Path

    @property
    def host(self) -> str:
        found = _HOST.match(self.url)
        return self.url if found is None else found[1]


def read_clone(text: str, cwd: Path) -> GitClone | None:
    """The clone that a command is, if it is one that may run outside."""
    pipelines = read_plain(text, cwd)
    if len(pipelines) != 1 or len(pipelines[0]) != 1 or pipelines[0][0].writes:
        return None
    command = pipelines[0][0]
    if command.words[:2] != ("git", "clone"):
        return None
    options, names = _split(command.words[2:])
    if options is None or not 1 <= len(names) <= 2 or not is_network_address(names[0]):
        return None
    folder = names[1] if len(names) == 2 else _default_folder(names[0])
    if not folder or folder.startswith("-"):
        return None
    return GitClone(url=names[0], options=tuple(options), folder=command.cwd / folder)


def clone_argv(clone: GitClone, program: str, target: Path) -> list[str]:
    """The command that runs outside: no hooks, no templates, no submodules, no files."""
    safe = ["--no-checkout", "--template=", "--no-recurse-submodules", "--upload-pack=git-upload-pack"]
    return [program, *SAFE_SETTINGS, "clone", *safe, *clone.options, "--", clone.url, str(target)]


def checkout_text(clone: GitClone, arrived: Path) -> str:
    """What is left of a clone, inside the sandbox."""
    folder, source = shlex.quote(str(clone.folder)), shlex.quote(str(arrived / ".git"))
    quiet = " -q" if {"-q", "--quiet"} & set(clone.options) else ""
    # An empty repository has nothing to check out.
    checkout = f"{{ ! git rev-parse -q --verify HEAD >/dev/null || git reset{quiet} --hard; }}"
    return f"mkdir -p {folder} && mv {source} {folder}/.git && (cd {folder} && {checkout})"


def _split(words: Sequence[str]) -> tuple[list[str] | None, list[str]]:
    """Options, None if one of them is not known, and the other words."""
    options: list[str] = []
    names: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if not word.startswith("-"):
            names.append(word)
        elif word in _FLAGS:
            options.append(word)
        elif name in _VALUES and (equals or rest):
            value = value if equals else rest.pop(0)
            if not re.fullmatch(_VALUES[name], value):
                return None, []
            options += [name, value]
        else:
            return None, []
    return options, names


def _default_folder(url: str) -> str:
    """The name that Git would choose."""
    path = re.sub(r"^\w+://[^/]*", "", url) if "://" in url else url.partition(":")[2]
    name = path.rstrip("/").removesuffix("/.git").rpartition("/")[2].removesuffix(".git")
    return name if re.fullmatch(r"[\w.-]+", name) and name not in (".", "..") else ""
