"""Gives up the file system, network and system calls by Landlock and seccomp, then becomes the holder."""

import _socket
import ctypes
import marshal
import os
import sys

from tau.backends.sandbox.guest import calls
from tau.backends.sandbox.guest.holder import hold, read_all, receive
from tau.backends.sandbox.guest.supervisor import SocketSupervisor, end_with

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
VERSION_FLAG = 1
PATH_BENEATH = 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
FIRST_RIGHTS = (1 << 13) - 1  # those of the first version
BIND_TCP, CONNECT_TCP = 1, 2
SCOPE_SOCKETS, SCOPE_SIGNALS = 1, 2
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
LEAST_VERSION = 3  # earlier ones cannot keep files from being truncated
NETWORK_VERSION = 4  # earlier ones cannot keep sockets from being connected
# Neither terminals nor shared memory of other programs.
DEVICES = (
    b"/dev/null",
    b"/dev/zero",
    b"/dev/full",
    b"/dev/random",
    b"/dev/urandom",
    b"/dev/tty",
    b"/dev/ptmx",
)


class _Ruleset(ctypes.Structure):
    _fields_ = [("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _Rule(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("rights", ctypes.c_uint64), ("folder", ctypes.c_int32)]


def main(plan_fd: int) -> None:
    plan = marshal.loads(read_all(plan_fd))
    if find_version() >= NETWORK_VERSION:
        become_supervised(plan)
    else:
        restrict(plan["rules"])
        give_up(plan["filter"])
    hold(plan)


def become_supervised(plan: "dict[str, Any]") -> None:
    """Return in a child, restricted; this process stays outside and makes some calls for it."""
    ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    child = os.fork()
    if child:
        theirs.close()
        os.closerange(3, ours.fileno())
        os.closerange(ours.fileno() + 1, 256)
        _, fds = receive(ours)
        if not fds:
            end_with(child)
        SocketSupervisor(fds[0], plan["handed_over"], plan["folders"], plan["sockets"]).serve(child)
    calls.prctl(calls.PR_SET_PDEATHSIG, 9)
    ours.close()
    restrict(plan["rules"], 0 if plan["has_network"] else BIND_TCP | CONNECT_TCP)
    listener = give_up(plan["filter"], plan["supervised"])
    if listener >= 0:
        rights = listener.to_bytes(4, sys.byteorder)
        theirs.sendmsg([b"L"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
        os.close(listener)  # a program that had it could answer its own calls
    theirs.close()


def give_up(program: bytes, supervised: bytes = b"") -> int:
    """Give up variables, capabilities and system calls; returns what hands over calls, or -1."""
    os.environ.clear()
    calls.drop_capabilities()
    if supervised:
        try:
            return calls.set_supervised_filter(supervised)
        except OSError:
            pass  # something that contains tau supervises us already
    calls.set_filter(program)
    return -1


def find_version() -> int:
    return calls.checked(
        calls.libc.syscall(CREATE_RULESET, None, 0, VERSION_FLAG), "this kernel has no Landlock"
    )


def restrict(rules: "list[tuple[bytes, str]]", network: int = 0) -> None:
    """Grant only what `rules` name, to this process and all it starts, and nothing of `network`."""
    version = find_version()
    if version < LEAST_VERSION:
        raise OSError(f"this kernel has Landlock {version}; {LEAST_VERSION} is needed")
    handled = FIRST_RIGHTS | REFER | TRUNCATE | (IOCTL_DEV if version >= 5 else 0)
    scoped = SCOPE_SOCKETS | SCOPE_SIGNALS if version >= 6 else 0
    ruleset = _Ruleset(handled, network, scoped)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    fd = calls.checked(calls.libc.syscall(CREATE_RULESET, ctypes.byref(ruleset), size, 0), "Landlock")
    granted = {"read": EXECUTE | READ_FILE | READ_DIR, "list": READ_DIR, "write": handled}
    for path, rights in rules:
        add_rule(fd, path, granted[rights])
    for path in DEVICES:
        add_rule(fd, path, handled)
    calls.prctl(calls.PR_SET_NO_NEW_PRIVS, 1)
    calls.checked(calls.libc.syscall(RESTRICT_SELF, fd, 0), "Landlock")
    os.close(fd)


def add_rule(ruleset: int, path: bytes, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(path):
            rights &= FILE_RIGHTS
        rule = _Rule(rights, fd)
        calls.checked(
            calls.libc.syscall(ADD_RULE, ruleset, PATH_BENEATH, ctypes.byref(rule), 0),
            f"Landlock rule for {os.fsdecode(path)}",
        )
    finally:
        os.close(fd)
