"""Tries, from inside, what a sandbox promises to prevent."""

import _socket
import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MAX_TRIED = 20  # files of a hidden folder
UNUSED_ADDRESS = "192.0.2.1"  # reserved for documentation
O_TMPFILE = 0o20000000 | os.O_DIRECTORY


def run_checks(wanted: "dict[str, Any]") -> "dict[str, str]":
    """Return what failed, by promise; an empty text is a kept promise."""
    results = {}
    for promise, arguments in wanted.items():
        try:
            results[promise] = CHECKS[promise](*arguments)
        except Exception as error:
            results[promise] = repr(error)
    return results


def check_files(read_only: "list[str]", writable: "list[str]") -> str:
    for folder in read_only:
        if can_create(folder):
            return f"{folder} is writable"
    for folder in writable:
        if not can_create(folder):
            return f"{folder} is not writable"
    return ""


def can_create(folder: str) -> bool:
    """Whether a file can be made there; it never gets a name."""
    try:
        os.close(os.open(folder, O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    except OSError as error:
        # Some file systems have no files without a name.
        return error.errno == 95 and os.access(folder, os.W_OK)
    return True


def check_hidden(paths: "list[str]", shown: "list[str]") -> str:
    for path in paths:
        for file in files_in(path):
            if file in shown:
                continue
            try:
                fd = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
            except OSError:
                continue
            readable = bool(os.read(fd, 1))
            os.close(fd)
            if readable:
                return f"{file} is readable"
    return ""


def files_in(path: str) -> "list[str]":
    """A file itself, or some files of a folder: Landlock hides their content, not their names."""
    if not os.path.isdir(path):
        return [path]
    try:
        return [entry.path for entry in os.scandir(path) if entry.is_file()][:MAX_TRIED]
    except OSError:
        return []


def check_read_only(paths: "list[str]") -> str:
    for path in paths:
        try:
            if os.path.isdir(path):
                if not can_create(path):
                    continue
            else:
                os.close(os.open(path, os.O_WRONLY))
        except OSError:
            continue
        return f"{path} is writable"
    return ""


def check_privileges() -> str:
    status = {}
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        for line in file:
            name, _, value = line.partition(":")
            status[name] = value.strip()
    if status.get("NoNewPrivs") != "1":
        return "programs can gain privileges"
    if int(status.get("CapEff", "1"), 16) or int(status.get("CapPrm", "1"), 16):
        return "it has capabilities"
    return "" if status.get("Seccomp") == "2" else "system calls are not filtered"


def check_processes() -> str:
    return "" if os.getpid() == 1 else "it shares the list of processes"


def check_network(has_own: bool) -> str:
    """Only loopback may exist; without an own network, it must be all that can be reached."""
    try:
        probe = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    except OSError:
        return "" if not has_own else "there are no internet sockets"
    if not has_own:
        return check_supervised(probe)
    with_names = [name for _, name in _socket.if_nameindex()]
    probe.close()
    others = [name for name in with_names if name != "lo" and is_up(name)]
    return f"{', '.join(others)} is reachable" if others else ""


def check_supervised(probe: "_socket.socket") -> str:
    """An address that nobody has, and one's own, which others could reach.

    Where the supervisor may not look at us, every call fails, which is safe too.
    """
    probe.setblocking(False)
    try:
        probe.connect((UNUSED_ADDRESS, 80))
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM):
            return "the internet is reachable"
    try:
        probe.bind(("0.0.0.0", 0))
    except OSError:
        return ""
    host = probe.getsockname()[0]
    probe.close()
    return "" if host == "127.0.0.1" else "servers are open to other machines"


def is_up(name: str) -> bool:
    try:
        with open(f"/sys/class/net/{name}/operstate", "rb") as file:
            return file.read().strip() != b"down"
    except OSError:
        # /sys shows the interfaces of the namespace that mounted it.
        return name not in ("tunl0", "sit0", "ip6tnl0", "gre0", "gretap0", "erspan0", "ip6_vti0", "ip_vti0")


def check_loopback() -> str:
    """A server on localhost answers."""
    server = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    client = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    try:
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        client.connect(server.getsockname())
    finally:
        client.close()
        server.close()
    return ""


CHECKS: "dict[str, Callable[..., str]]" = {
    "files": check_files,
    "hidden": check_hidden,
    "git": check_read_only,
    "privileges": check_privileges,
    "processes": check_processes,
    "network": check_network,
    "localhost": check_loopback,
}
