"""Git transfers that run outside the sandbox: they need the network and the user's keys, and run no hooks.

A transfer qualifies only if it is one plain command with the repository's own remote, no option that names a
program, and a repository whose settings name none either.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from tau.base.programs import safe_path
from tau.coding.shell.plain_commands import read_plain

Verb: TypeAlias = Literal["fetch", "pull", "push"]

_VERBS: Mapping[str, Verb] = {"fetch": "fetch", "pull": "pull", "push": "push"}
# Each option is known to name no program, no file and no other repository.
_OPTIONS: Mapping[str, frozenset[str]] = {
    "fetch": frozenset(
        (
            *("--prune", "-p", "--tags", "-t", "--no-tags", "-n", "--quiet", "-q", "--verbose", "-v"),
            *("--force", "-f", "--dry-run", "--unshallow", "--progress", "--atomic", "--prune-tags", "-P"),
        )
    ),
    "pull": frozenset(
        (
            *("--rebase", "-r", "--no-rebase", "--ff-only", "--ff", "--no-ff", "--autostash", "--quiet"),
            *("-q", "--verbose", "-v", "--prune", "-p", "--tags", "--no-edit", "--no-commit", "--squash"),
        )
    ),
    "push": frozenset(
        (
            *("--all", "--tags", "--follow-tags", "--force", "-f", "--force-with-lease", "--dry-run", "-n"),
            *("--set-upstream", "-u", "--delete", "-d", "--quiet", "-q", "--verbose", "-v", "--atomic"),
            *("--no-verify", "--porcelain", "--progress"),
        )
    ),
}
# Of a pull, those that its merge needs.
_FETCH_OF_PULL = frozenset(("--prune", "-p", "--tags", "--quiet", "-q", "--verbose", "-v"))
_NAME = r"[A-Za-z0-9_][A-Za-z0-9_./-]*"
_REFSPEC = rf"\+?(?:{_NAME}|HEAD)?(?::{_NAME})?"
# Settings of a repository that cannot make Git start a program or connect elsewhere.
_HARMLESS = re.compile(
    r"core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks"
    r"|autocrlf|eol|safecrlf|abbrev|quotepath)"
    r"|remote\..+\.(url|fetch|tagopt|prune|prunetags|skipfetchall)"
    r"|branch\..+\.(remote|merge|rebase|pushremote|description|vscode-merge-base|gk-.*)"
    r"|(user|author|committer)\.(name|email|signingkey)|(pull|rebase|merge|rerere|status|log|diff\.renames)\..*"
    r"|push\.(default|followtags|autosetupremote)|fetch\.(prune|prunetags)|init\..*|advice\..*|color\..*"
    r"|commit\.(gpgsign|verbose)|tag\.(gpgsign|sort)|gpg\.format|submodule\..+\.(url|active)|submodule\.active"
    r"|lfs\.repositoryformatversion"
)
_PROTOCOLS = "https:ssh:git:http"
# The host is what every program takes for it: `https://evil.example?@good.example/x` has two readings.
_URL = re.compile(
    r"(https?|ssh|git)://(?:[^\s/?#@\\\[\]]+@)?[A-Za-z0-9][A-Za-z0-9._-]*(?::[0-9]+)?(?:/[^\s]*)?|[A-Za-z0-9_.-]+@[A-Za-z0-9][A-Za-z0-9.-]*:[^\s:-][^\s]*"
)
# What Git would otherwise start or do beside the transfer.
SAFE_SETTINGS = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.ext.allow=never"),
    *("-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "fetch.recurseSubmodules=no"),
    *("-c", "push.recurseSubmodules=no", "-c", "submodule.recurse=false", "-c", "push.gpgSign=false"),
    *("-c", "core.alternateRefsCommand=", "-c", "fetch.writeCommitGraph=false"),
)


class GitTransfer(Struct, frozen=True, kw_only=True):
    """`remote` is a name; empty for the branch's own. `refs` are branches or refspecs."""

    verb: Verb
    options: tuple[str, ...]
    remote: str
    refs: tuple[str, ...]
    folder: Path


def read_transfer(text: str, cwd: Path) -> GitTransfer | None:
    """The transfer that a command is, if it is one that may run outside."""
    pipelines = read_plain(text, cwd)
    if len(pipelines) != 1 or len(pipelines[0]) != 1 or pipelines[0][0].writes:
        return None
    name, *words = pipelines[0][0].words
    folder = pipelines[0][0].cwd
    if name != "git":
        return None
    while words[:1] == ["-C"] and len(words) > 1:
        folder = folder / words[1]
        words = words[2:]
    if not words or words[0] not in _OPTIONS:
        return None
    verb, rest = words[0], words[1:]
    options = [word for word in rest if word.startswith("-")]
    remote, *refs = [word for word in rest if not word.startswith("-")] or [""]
    if not set(options) <= _OPTIONS[verb] or (remote and not re.fullmatch(_NAME, remote)):
        return None
    if not all(re.fullmatch(_REFSPEC, ref) and ref for ref in refs):
        return None
    return GitTransfer(
        verb=_VERBS[verb], options=tuple(options), remote=remote, refs=tuple(refs), folder=folder
    )


def transfer_argv(transfer: GitTransfer, remote: str, program: str = "git") -> list[str]:
    """The command that runs outside; of a pull, only the fetch."""
    options: Sequence[str] = transfer.options
    if transfer.verb == "pull":
        options = [option for option in options if option in _FETCH_OF_PULL]
    safe = ["--no-recurse-submodules"]
    if transfer.verb == "push":
        safe = ["--no-recurse-submodules", "--no-verify", "--receive-pack=git-receive-pack"]
    else:
        safe.append("--upload-pack=git-upload-pack")
    verb = "fetch" if transfer.verb == "pull" else transfer.verb
    return [program, *SAFE_SETTINGS, verb, *safe, *options, "--", remote, *transfer.refs]


def transfer_env() -> dict[str, str]:
    """No protocol that runs a program, no variable that names one, no question on the terminal."""
    return {
        "PATH": safe_path(),  # on which Git looks for ssh
        "GIT_ALLOW_PROTOCOL": _PROTOCOLS,
        "GIT_PROTOCOL_FROM_USER": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_PARAMETERS": "",
        "GIT_CONFIG_COUNT": "0",
        "GIT_EDITOR": "true",
    }


def merge_text(transfer: GitTransfer, upstream: str) -> str:
    """What is left of a pull: merging what was fetched, inside the sandbox."""
    options = [option for option in transfer.options if option not in ("--prune", "-p", "--tags")]
    return shlex.join(["git", "pull", *options, ".", upstream])


def shown_url(url: str) -> str:
    """The address without a password."""
    return re.sub(r"(?<=//)([^/@:]*):[^/@]*@", r"\1@", url)


def find_problem(settings: str, url: str) -> str:
    """Why a repository's transfers stay inside, or nothing.

    `settings` are the names of the settings in its config, separated by NUL.
    """
    for name in settings.split("\0"):
        if name and not _HARMLESS.fullmatch(name.lower()):
            return f"the repository sets {name}"
    if "\n" in url:
        return "its remote has more than one address"
    return "" if is_network_address(url) else "its remote is not on the network"


def is_network_address(url: str) -> bool:
    return _URL.fullmatch(url) is not None and not url.startswith("-")
