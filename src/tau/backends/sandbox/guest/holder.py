"""The first process of a sandbox: starts programs for tau, reports their exits, and ends with tau.

tau sends requests over a socket of packets: one letter, a number, a marshalled value, and descriptors. An
exited child stays a zombie until tau releases it, so that its pid, which tau signals, is not reused. In a pid
namespace this is process 1: nothing inside can stop it, and when it exits the kernel kills the rest.
"""

import _ctypes
import _signal  # `signal` takes milliseconds to import
import _socket
import fcntl
import marshal
import os
import select
import sys
import time

from tau.backends.sandbox.guest.checks import run_checks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_PACKET_BYTES = 64 * 1024
MAX_FDS = 250
GRACE_S = 1.0
POLL_S = 0.005
TIOCSCTTY = 0x540E
PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 4, 36
# HUP, INT, QUIT, USR1, USR2, PIPE, ALRM, TERM, XFSZ: commands could send them; children start with defaults.
IGNORED_SIGNALS = (1, 2, 3, 10, 12, 13, 14, 15, 25)


class Holder:
    """`control` is the socket to tau."""

    def __init__(self, control: "_socket.socket") -> None:
        self.control = control
        self.running: dict[int, int] = {}  # pid -> number of its request
        self.exited: dict[int, int] = {}  # number -> pid of a zombie
        self.wakeup, self.waking = os.pipe()
        os.set_blocking(self.wakeup, False)
        os.set_blocking(self.waking, False)
        _signal.set_wakeup_fd(self.waking, warn_on_full_buffer=False)
        _signal.signal(_signal.SIGCHLD, lambda *_: None)
        for number in IGNORED_SIGNALS:
            _signal.signal(number, _signal.SIG_IGN)

    def serve(self) -> None:
        poll = select.poll()
        poll.register(self.control.fileno(), select.POLLIN)
        poll.register(self.wakeup, select.POLLIN)
        while True:
            for fd, _ in poll.poll():
                if fd == self.wakeup:
                    os.read(self.wakeup, 4096)
                    self.report_exits()
                elif not self.take_request():
                    return

    def take_request(self) -> bool:
        """Serve one request; False if tau is gone or wants us to end."""
        data, fds = receive(self.control)
        if not data or data[:1] == b"E":
            return False
        number = int.from_bytes(data[1:5], "little")
        try:
            if data[:1] == b"S":
                self.start(number, fds)
            elif data[:1] == b"W":
                self.release(number)
            else:
                self.answer(data[:1], number, marshal.loads(data[5:]))
        finally:
            for fd in fds:
                os.close(fd)
        return True

    def start(self, number: int, fds: "list[int]") -> None:
        """Fork; the child tells its pid, and then nothing more if it could start the program."""
        request, status, stdin, stdout, stderr, *others = fds
        pid = os.fork()
        if pid:
            self.running[pid] = number
            return
        channel = _socket.socket(fileno=status)
        try:
            wanted = marshal.loads(read_all(request))
            become(wanted, (stdin, stdout, stderr), others, channel)
        except OSError as error:
            where = "cwd" if error.filename == wanted["cwd"] else ""
            channel.send(marshal.dumps((error.errno, where)))
        except BaseException as error:
            channel.send(marshal.dumps((0, repr(error))))
        finally:
            os._exit(127)

    def report_exits(self) -> None:
        for pid in children():
            number = self.running.get(pid)
            if number is None:
                reap(pid)
            elif number not in self.exited and (status := exit_status(pid)) is not None:
                self.exited[number] = pid
                self.send(b"X", number, status)

    def release(self, number: int) -> None:
        pid = self.exited.pop(number, None)
        if pid is not None:
            self.running.pop(pid, None)
            reap(pid)

    def answer(self, kind: bytes, number: int, value: "Any") -> None:
        fds: list[int] = []
        try:
            if kind == b"T":
                fds += os.openpty()
            elif kind == b"L":
                fds.append(listener(*value))
            else:
                fds += spare_sockets(*value)
            self.send(b"A", number, "", fds)
        except OSError as error:
            self.send(b"A", number, error.strerror or repr(error))
        finally:
            for fd in fds:
                os.close(fd)

    def send(self, kind: bytes, number: int, value: "Any", fds: "list[int] | None" = None) -> None:
        packet = kind + number.to_bytes(4, "little") + marshal.dumps(value)
        rights = b"".join(fd.to_bytes(4, sys.byteorder) for fd in fds or ())
        extra = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)] if rights else []
        try:
            self.control.sendmsg([packet], extra)
        except OSError:
            pass  # tau is gone; the next read says so

    def end(self) -> None:
        """End all processes: TERM, and KILL after a moment."""
        signal_all(_signal.SIGTERM)
        signal_all(_signal.SIGCONT)
        deadline = time.monotonic() + GRACE_S
        while time.monotonic() < deadline:
            left = children()
            for pid in left:
                reap(pid)
            if not left:
                break
            time.sleep(POLL_S)
        if os.getpid() != 1:
            signal_all(_signal.SIGKILL)


def receive(control: "_socket.socket") -> "tuple[bytes, list[int]]":
    space = _socket.CMSG_SPACE(4 * MAX_FDS)
    try:
        data, extra, _, _ = control.recvmsg(MAX_PACKET_BYTES, space, _socket.MSG_CMSG_CLOEXEC)
    except OSError:
        return b"", []
    fds = []
    for level, kind, value in extra:
        if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
            whole = len(value) - len(value) % 4
            fds += [int.from_bytes(value[at : at + 4], sys.byteorder) for at in range(0, whole, 4)]
    return data, fds


def become(
    wanted: "dict[str, Any]", streams: "tuple[int, int, int]", others: "list[int]", channel: "_socket.socket"
) -> None:
    """Turn this fork into the program: own session, its descriptors, its folder."""
    os.setsid()
    for number in IGNORED_SIGNALS:
        _signal.signal(number, _signal.SIG_DFL)
    if wanted["null"]:
        streams = (os.open("/dev/null", os.O_RDONLY), *streams[1:])
    numbers = wanted["fds"]
    above = max([channel.fileno(), *streams, *others, *numbers, 2]) + 1
    moved = _socket.socket(fileno=fcntl.fcntl(channel.fileno(), fcntl.F_DUPFD_CLOEXEC, above))
    safe = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, above) for fd in (*streams, *others)]
    for fd, target in zip(safe, (0, 1, 2, *numbers), strict=True):
        os.dup2(fd, target)
    if wanted["terminal"]:
        fcntl.ioctl(0, TIOCSCTTY, 0)
    channel.detach()
    moved.send(b"P")  # the kernel attaches our pid as tau knows it
    try:
        os.chdir(wanted["cwd"])
        os.execvpe(wanted["argv"][0], wanted["argv"], wanted["env"])
    except OSError as error:
        where = "cwd" if error.filename == wanted["cwd"] else ""
        moved.send(marshal.dumps((error.errno, where)))
        os._exit(127)


def read_all(fd: int) -> bytes:
    parts = []
    at = 0
    while part := os.pread(fd, 1024 * 1024, at):
        parts.append(part)
        at += len(part)
    return b"".join(parts)


def children(of: int = 0) -> "list[int]":
    """Our child processes, zombies included."""
    own = of or os.getpid()
    try:
        with open(f"/proc/{own}/task/{own}/children", "rb") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:
        return []


def exit_status(pid: int) -> "int | None":
    """As in `Popen.returncode`, leaving the zombie; None if it runs."""
    try:
        info = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    if info is None:
        return None
    return info.si_status if info.si_code == os.CLD_EXITED else -info.si_status


def reap(pid: int) -> None:
    try:
        os.waitpid(pid, os.WNOHANG)
    except OSError:
        pass


def signal_all(number: int) -> None:
    """Signal every process of the sandbox: without a pid namespace, our descendants."""
    if os.getpid() == 1:
        targets = [-1]
    else:
        targets, open_ = [], children()
        while open_:
            targets.append(open_.pop())
            open_ += children(targets[-1])
    for pid in targets:
        try:
            os.kill(pid, number)
        except OSError:
            pass


def listener(family: int, host: str, port: int) -> int:
    made = _socket.socket(family, _socket.SOCK_STREAM)
    try:
        made.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(128)
    except BaseException:
        made.close()
        raise
    return made.detach()


def spare_sockets(family: int, count: int) -> "list[int]":
    return [_socket.socket(family, _socket.SOCK_STREAM).detach() for _ in range(count)]


def hold(plan: "dict[str, Any]") -> None:
    """Report what this sandbox was shown to contain, then serve until tau is gone."""
    results = run_checks(plan["checks"])  # first: a supervisor could not make calls for us afterwards
    prctl(PR_SET_DUMPABLE, 0)  # nothing inside can trace us or read our memory
    if os.getpid() != 1:
        prctl(PR_SET_CHILD_SUBREAPER, 1)
    control = _socket.socket(fileno=plan["control"])
    os.set_inheritable(plan["control"], False)
    os.closerange(3, plan["control"])
    os.closerange(plan["control"] + 1, plan["control"] + 64)
    holder = Holder(control)
    holder.send(b"R", 0, results)
    try:
        holder.serve()
    finally:
        holder.end()
    os._exit(0)  # there is nothing to clean up


def prctl(option: int, value: int) -> None:
    """Without `ctypes`, which would take a third of the start."""
    function = _ctypes.dlsym(_ctypes.dlopen(None, os.RTLD_NOW), "prctl")  # type: ignore[arg-type]
    if _ctypes.call_function(function, (option, value, 0, 0, 0)) < 0:
        raise OSError(f"prctl {option} failed")


def main(plan_fd: int) -> None:
    """Read the plan: a marshalled dictionary in a file without a name."""
    hold(marshal.loads(read_all(plan_fd)))
