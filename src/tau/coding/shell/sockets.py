"""The sockets that well-known programs talk to."""

import os
from collections.abc import Mapping
from pathlib import Path

from tau.coding.shell.plain_commands import PlainCommand

DOCKER = "/var/run/docker.sock"
POSTGRESQL = "/var/run/postgresql/.s.PGSQL.5432"
_DOCKER_COMMANDS = frozenset(("ps", "images", "info", "pull", "run", "exec", "logs", "stop", "start", "rm"))
_NO_AGENT = 2  # how ssh-add says that it cannot talk to the agent
_NO_SERVER = 2  # how psql does


def find_socket(command: PlainCommand, code: int | None, environ: Mapping[str, str]) -> Path | None:
    """The socket that a failed command surely tried to connect to, if it exists."""
    named = ""
    words = command.words[1:]
    if command.name == "docker" and code and words and words[0] in _DOCKER_COMMANDS:
        named = environ.get("DOCKER_HOST", f"unix://{DOCKER}").removeprefix("unix://")
    elif command.name == "ssh-add" and code == _NO_AGENT and not words[1:]:
        named = environ.get("SSH_AUTH_SOCK", "") if words in ((), ("-l",), ("-L",)) else ""
    elif command.name == "psql" and code == _NO_SERVER and not {"PGHOST", "PGPORT"} & set(environ):
        named = POSTGRESQL if not any(word.startswith(("-h", "-p", "--")) for word in words) else ""
    path = Path(os.path.realpath(named)) if named.startswith("/") else None
    return path if path is not None and path.is_socket() else None
