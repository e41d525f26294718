"""Checks a private key before use: it exists, is a file, and is not readable by others."""

import os
import stat

from tau.backends.ssh.hosts import SshHost
from tau.base.errors import ToolError


def check_key(host: SshHost) -> None:
    """Raise ToolError if ssh would refuse the key or silently ignore it."""
    if host.key is None:
        return
    try:
        mode = host.key.stat().st_mode
    except FileNotFoundError:
        raise ToolError(f'The key of "{host.name}" does not exist: {host.key}.') from None
    except OSError as error:
        text = f'The key of "{host.name}" cannot be read: {host.key}: {error.strerror}.'
        raise ToolError(text) from error
    if not stat.S_ISREG(mode):
        raise ToolError(f'The key of "{host.name}" is not a file: {host.key}.')
    if os.name == "posix" and mode & 0o077:
        raise ToolError(
            f'The key of "{host.name}" is accessible to others ({stat.S_IMODE(mode):03o}); it must be 600 or '
            f"stricter: chmod 600 {host.key}."
        )
