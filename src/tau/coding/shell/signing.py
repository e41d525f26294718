"""Signing commits in the sandbox: the agent's socket, and the public keys that are needed to use it."""

import os
import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

Ask: TypeAlias = Callable[..., Awaitable[str]]

_SIGNS = re.compile(
    r"(?:^|[\s;&|(])git\s+(?:-C\s+\S+\s+)?(?P<verb>commit|merge|rebase|cherry-pick|revert|am|pull|tag)\b"
)
_WANTS = re.compile(r"\s(?:-[aeinopqsvz]*S\S*|--gpg-sign\S*)(?:\s|$)|\bgit\s+tag\s+(?:\S+\s+)*-[af]*[su]")
_YES = ("true", "yes", "on", "1")
# Of GnuPG's folder, what is public.
_PUBLIC = ("pubring.kbx", "pubring.gpg", "trustdb.gpg", "gpg.conf", "common.conf")


class SigningNeeds(Struct, frozen=True):
    """The agent's socket, and files to show that the sandbox hides."""

    agent: str
    socket: Path
    show: tuple[Path, ...]


async def find_signing(text: str, git: Ask, gpgconf: Ask, environ: Mapping[str, str]) -> SigningNeeds | None:
    """What a command needs to sign what it records; None if it signs nothing, or no agent is there.

    `git` and `gpgconf` return what these programs answer to some words, or nothing.
    """
    match = _SIGNS.search(text)
    if match is None or "--no-gpg-sign" in text:
        return None
    key = "tag.gpgSign" if match["verb"] == "tag" else "commit.gpgSign"
    if not _WANTS.search(text) and (await git("config", key)).lower() not in _YES:
        return None
    if await git("config", "gpg.format") == "ssh":
        socket = Path(environ.get("SSH_AUTH_SOCK") or "/")
        named = await git("config", "--type=path", "user.signingKey")
        keys = [Path(named), Path(f"{named}.pub")] if named.startswith("/") else []
        # The repository may name the key: a link `x.pub` may lead to a private one.
        show = tuple(path for path in map(_real, keys) if path.suffix == ".pub" and path.is_file())
        return SigningNeeds("ssh-agent", _real(socket), show) if socket.is_socket() else None
    await gpgconf("--launch", "gpg-agent")
    place, home = await gpgconf("--list-dirs", "agent-socket"), await gpgconf("--list-dirs", "homedir")
    socket = Path(place or "/")
    if not home or not socket.is_socket():
        return None
    show = tuple(path for name in _PUBLIC if (path := Path(home) / name).is_file())
    return SigningNeeds("gpg-agent", _real(socket), show)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
