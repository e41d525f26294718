"""Gives the programs of a Landlock sandbox their own localhost and terminals, by making calls for them.

Landlock has no network namespace, and its rules for ports know no addresses. So the kernel refuses each
connection of these programs, and hands the call to this process, which is outside. It reads the address
once, connects or binds the very same socket itself if the address is theirs, and returns the result. Theirs
are loopback ports that one of them listens on, and socket files in folders that they can write to. What a
program changes meanwhile has no effect: only the address that was read is used.

Nor has Landlock terminals of the sandbox's own in /dev/pts. For a program that made a pseudoterminal, this
process opens its other side.
"""

import _signal  # `signal` takes milliseconds to import
import _thread
import ctypes
import fcntl
import os
import select
import stat
import sys

from tau.backends.sandbox.guest import calls
from tau.backends.sandbox.guest.holder import IGNORED_SIGNALS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

RECEIVE, SEND, IS_VALID, ADD_DESCRIPTOR = 0xC0502100, 0xC0182101, 0x40082102, 0x40182103
AND_SEND = 2
CONTINUE = 1  # the kernel makes the call, within what Landlock allows
REQUEST_BYTES, MAX_ADDRESS_BYTES = 80, 128
PIDFD_GETFD = 438
TIOCGPTPEER = 0x5441
AF_UNIX, AF_INET, AF_INET6 = 1, 2, 10
SOL_SOCKET, SO_DOMAIN, IPPROTO_IPV6, IPV6_V6ONLY = 1, 39, 41, 26
EAGAIN, EACCES, EINVAL, EADDRINUSE, EADDRNOTAVAIL, ECONNREFUSED = 11, 13, 22, 98, 99, 111
FIRST_PORT = 1024  # below, ports need a privilege, which tau may have and its commands may not
MAX_KNOWN = 10_000
LOOPBACK_4 = bytes((127, 0, 0, 1))
LOOPBACK_6 = bytes(15) + b"\1"
MAPPED_4 = bytes(10) + b"\xff\xff" + LOOPBACK_4  # an IPv4 address of an IPv6 socket
LOOPBACK = {AF_INET: (LOOPBACK_4,), AF_INET6: (LOOPBACK_6, MAPPED_4)}


class SocketSupervisor:
    """`listener` is the descriptor of the filter, `numbers` the names of the calls that it hands over.

    `folders` are writable by the programs; `sockets` are others that they may connect to.
    """

    def __init__(
        self, listener: int, numbers: "dict[int, str]", folders: "list[bytes]", sockets: "list[bytes]"
    ) -> None:
        self._listener = listener
        self._numbers = numbers
        self._folders = folders
        self._sockets = sockets
        self._own: set[int] = set()  # inodes of the sockets that programs have bound

    def serve(self, child: int) -> "NoReturn":
        """Until the sandbox ends; then exit as the child did."""
        for number in IGNORED_SIGNALS:
            _signal.signal(number, _signal.SIG_IGN)
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        exited = os.pidfd_open(child)
        poll.register(exited, select.POLLIN)
        while True:
            ready = dict(poll.poll())
            if exited in ready:
                end_with(child)
            if ready.get(self._listener, 0) & select.POLLIN:
                self._take_request()
            elif self._listener in ready:  # the last program has ended
                poll.unregister(self._listener)

    def _take_request(self) -> None:
        request = bytearray(REQUEST_BYTES)
        try:
            fcntl.ioctl(self._listener, RECEIVE, request)
        except OSError:
            return  # the program was killed
        try:
            _thread.start_new_thread(self._answer, (bytes(request),))
        except RuntimeError:
            self._send(bytes(request[:8]), EAGAIN, 0)

    def _answer(self, request: bytes) -> None:
        error = flags = 0
        try:
            answer = self._act(request)
            if answer is None:
                return
            flags = answer
        except OSError as failed:
            error = failed.errno or EACCES
        except BaseException:
            error = EACCES
        self._send(request[:8], error, flags)

    def _act(self, request: bytes) -> "int | None":
        """Make the call; returns the flags of the answer, or None if it was sent. Raises OSError."""
        pid = int.from_bytes(request[8:12], sys.byteorder)
        name = self._numbers[int.from_bytes(request[16:20], sys.byteorder)]
        number, place, length = (
            int.from_bytes(request[at : at + 8], sys.byteorder) for at in range(32, 56, 8)
        )
        fd = take_descriptor(pid, number)
        try:
            has_address = name in ("bind", "connect")
            address = read_memory(pid, place, length) if has_address else b""
            # Otherwise, the program has ended, and its number may be another's.
            fcntl.ioctl(self._listener, IS_VALID, request[:8])
            if name == "ioctl":
                self._open_terminal(fd, request[:8], length)
                return None
            family = socket_option(fd, SOL_SOCKET, SO_DOMAIN)
            match name:
                case "listen":
                    self._listen(fd, family, place)
                case "bind" if family in LOOPBACK:
                    self._bind(fd, family, address)
                case "bind":
                    return CONTINUE
                case "connect" if family == AF_UNIX:
                    self._connect_file(fd, pid, address)
                case _:
                    self._connect(fd, family, address)
        finally:
            os.close(fd)
        return 0

    def _open_terminal(self, fd: int, number: bytes, flags: int) -> None:
        """Give the program the other side of its pseudoterminal."""
        wanted = flags & (os.O_ACCMODE | os.O_NONBLOCK)
        opened = calls.checked(calls.libc.ioctl(fd, TIOCGPTPEER, wanted | os.O_NOCTTY | os.O_CLOEXEC))
        try:
            values = (AND_SEND, opened, 0, flags & os.O_CLOEXEC)
            fields = b"".join(value.to_bytes(4, sys.byteorder) for value in values)
            fcntl.ioctl(self._listener, ADD_DESCRIPTOR, number + fields)
        finally:
            os.close(opened)

    def _send(self, number: bytes, error: int, flags: int) -> None:
        answer = number + bytes(8) + (-error).to_bytes(4, sys.byteorder, signed=True)
        try:
            fcntl.ioctl(self._listener, SEND, answer + flags.to_bytes(4, sys.byteorder))
        except OSError:
            pass  # the program was killed

    def _bind(self, fd: int, family: int, address: bytes) -> None:
        """To loopback, also if every address was meant."""
        host, port = split_address(family, address)
        if not any(host):
            is_mixed = family == AF_INET6 and not socket_option(fd, IPPROTO_IPV6, IPV6_V6ONLY)
            host = MAPPED_4 if is_mixed else LOOPBACK[family][0]
        if host not in LOOPBACK[family]:
            refuse(EADDRNOTAVAIL)
        if 0 < port < FIRST_PORT:
            refuse(EACCES)
        if port and not listeners(port) <= self._own:
            refuse(EADDRINUSE)  # even if the socket of another program is willing to share
        call("bind", fd, join_address(family, host, port))
        self._know(fd)

    def _listen(self, fd: int, family: int, backlog: int) -> None:
        if family in LOOPBACK and socket_address(fd, family) == (bytes(len(LOOPBACK[family][0])), 0):
            self._bind(fd, family, join_address(family, bytes(len(LOOPBACK[family][0])), 0))
        if family in LOOPBACK and socket_address(fd, family)[0] not in LOOPBACK[family]:
            refuse(EACCES)
        calls.checked(calls.libc.listen(fd, ctypes.c_int(backlog & 0xFFFFFFFF)))
        if family in LOOPBACK and socket_address(fd, family)[0] not in LOOPBACK[family]:
            calls.libc.shutdown(fd, 2)
            refuse(EACCES)

    def _connect(self, fd: int, family: int, address: bytes) -> None:
        if family not in LOOPBACK:
            refuse(EACCES)
        host, port = split_address(family, address)
        if not any(host):
            host = LOOPBACK[family][0]
        if host not in LOOPBACK[family]:
            refuse(EACCES)
        found = listeners(port)
        if not found or not found <= self._own:
            refuse(ECONNREFUSED)
        call("connect", fd, join_address(family, host, port))

    def _connect_file(self, fd: int, pid: int, address: bytes) -> None:
        """To the very file that was looked at, whatever its name leads to by now."""
        path = address[2:].partition(b"\0")[0]
        if int.from_bytes(address[:2], sys.byteorder) != AF_UNIX or not path:
            refuse(EACCES)
        folder = os.open(f"/proc/{pid}/cwd", os.O_PATH | os.O_CLOEXEC)
        try:
            target = os.open(path, os.O_PATH | os.O_CLOEXEC, dir_fd=folder)
        finally:
            os.close(folder)
        try:
            real = os.readlink(b"/proc/self/fd/%d" % target)
            if not stat.S_ISSOCK(os.fstat(target).st_mode):
                refuse(ECONNREFUSED)
            is_theirs = any(real.startswith(one + b"/") for one in self._folders)
            if not is_theirs and real not in self._sockets:
                refuse(EACCES)
            family = AF_UNIX.to_bytes(2, sys.byteorder)
            call("connect", fd, family + b"/proc/self/fd/%d\0" % target)
        finally:
            os.close(target)

    def _know(self, fd: int) -> None:
        if len(self._own) >= MAX_KNOWN:
            self._own &= listeners(None)
        self._own.add(os.fstat(fd).st_ino)


def refuse(number: int) -> "NoReturn":
    raise OSError(number, os.strerror(number))


def call(name: str, fd: int, address: bytes) -> None:
    calls.checked(getattr(calls.libc, name)(fd, address, len(address)), name)


def take_descriptor(pid: int, number: int) -> int:
    """A copy of a descriptor of another process; `pid` may be that of a thread."""
    with open(f"/proc/{pid}/status", "rb") as file:
        group = next(int(line[5:]) for line in file if line.startswith(b"Tgid:"))
    process = os.pidfd_open(group)
    try:
        return calls.checked(calls.libc.syscall(PIDFD_GETFD, process, ctypes.c_int(number & 0xFFFFFFFF), 0))
    finally:
        os.close(process)


def read_memory(pid: int, place: int, length: int) -> bytes:
    if length > MAX_ADDRESS_BYTES:
        refuse(EINVAL)
    memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(memory, length, place)
    finally:
        os.close(memory)


def socket_option(fd: int, level: int, option: int) -> int:
    value, size = ctypes.c_int(), ctypes.c_uint32(4)
    calls.checked(calls.libc.getsockopt(fd, level, option, ctypes.byref(value), ctypes.byref(size)))
    return value.value


def socket_address(fd: int, family: int) -> "tuple[bytes, int]":
    buffer, size = ctypes.create_string_buffer(MAX_ADDRESS_BYTES), ctypes.c_uint32(MAX_ADDRESS_BYTES)
    calls.checked(calls.libc.getsockname(fd, buffer, ctypes.byref(size)))
    return split_address(family, buffer.raw)


def split_address(family: int, address: bytes) -> "tuple[bytes, int]":
    """The host and port of an internet address."""
    start, end = (4, 8) if family == AF_INET else (8, 24)
    if len(address) < end or int.from_bytes(address[:2], sys.byteorder) != family:
        refuse(EINVAL)
    return address[start:end], int.from_bytes(address[2:4], "big")


def join_address(family: int, host: bytes, port: int) -> bytes:
    start = family.to_bytes(2, sys.byteorder) + port.to_bytes(2, "big")
    return start + host + bytes(8) if family == AF_INET else start + bytes(4) + host + bytes(4)


def listeners(port: "int | None") -> "set[int]":
    """The inodes of the sockets that listen on a port, or on any."""
    wanted = b"" if port is None else b":%04X" % port
    found = set()
    for name in ("tcp", "tcp6"):
        try:
            with open(f"/proc/self/net/{name}", "rb") as file:
                rows = [line.split() for line in file]
        except OSError:
            continue
        found |= {int(row[9]) for row in rows[1:] if row[3] == b"0A" and row[1].endswith(wanted)}
    return found


def end_with(child: int) -> "NoReturn":
    _, status = os.waitpid(child, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
