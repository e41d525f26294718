"""The policy as a profile for sandbox-exec of macOS, where there are no mounts and no namespaces.

It is only text so far: no engine starts it.
"""

from collections.abc import Iterable
from pathlib import Path

from tau.backends.sandbox.mounts import GuardedFiles
from tau.backends.sandbox.policy import SandboxPolicy

_BASE = """\
(version 1)
(deny default)
(allow process-exec process-fork signal (target same-sandbox))
(allow sysctl-read mach-lookup ipc-posix-shm ipc-posix-sem pseudo-tty)
(allow file-read* file-ioctl)
(allow file-write-data (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty"))
"""
_LOCALHOST = """\
(allow network-bind network-inbound (local ip "localhost:*"))
(allow network-outbound (remote ip "localhost:*"))
"""


def seatbelt_profile(policy: SandboxPolicy, repositories: Iterable[GuardedFiles] = ()) -> str:
    """Return the profile; later rules win over earlier ones."""
    repositories = list(repositories)
    lines = [_BASE]
    writable = (*policy.roots, *policy.write, policy.temporary, *(own for _, own in policy.caches))
    lines += [f"(allow file-write* (subpath {_quote(path)}))\n" for path in writable]
    for files in repositories:
        lines += [f"(allow file-write* (subpath {_quote(path)}))\n" for path in files.folders]
    for files in repositories:
        lines += [f"(deny file-write* (subpath {_quote(path)}))\n" for path in files.guarded]
        # The folder itself cannot be moved away; what is in it can change.
        lines += [f"(deny file-write-unlink (literal {_quote(path)}))\n" for path in files.folders]
    lines += [f"(deny file-read* file-write* (subpath {_quote(path)}))\n" for path in policy.hidden]
    lines.append("(allow network*)\n" if policy.network == "on" else _LOCALHOST)
    lines += [f"(allow network-outbound (literal {_quote(path)}))\n" for path in policy.sockets]
    return "".join(lines)


def _quote(path: Path) -> str:
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
