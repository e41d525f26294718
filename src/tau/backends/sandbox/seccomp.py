"""The system calls that sandboxed programs cannot make, assembled as a seccomp filter."""

import errno
import os
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import json

_LOAD, _AND, _JUMP_EQUAL, _JUMP_SET, _JUMP_ABOVE, _RETURN = 0x20, 0x54, 0x15, 0x45, 0x35, 0x06
_ALLOW = 0x7FFF0000
_FAIL = 0x00050000  # plus the error number
_KILL = 0x80000000
_HAND_OVER = 0x7FC00000  # to a supervisor
_NUMBER, _ARCHITECTURE, _ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data
_X32_BIT = 0x40000000
# CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET.
_NEW_NAMESPACES = 0x80 | 0x20000 | 0x2000000 | 0x4000000 | 0x8000000 | 0x10000000 | 0x20000000 | 0x40000000
_TYPING_CALLS = (0x5412, 0x541C)  # TIOCSTI and TIOCLINUX type into a terminal
_OPEN_TERMINAL = 0x5441  # TIOCGPTPEER
FAMILIES = {"unix": 1, "inet": 2, "inet6": 10, "netlink": 16}

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_NUMBERS = json.decode(Path(__file__).with_name("seccomp.json").read_bytes(), type=dict[str, dict[str, int]])
_HANDED_OVER = ("connect", "bind", "listen")
_SENDING = {"sendto": 3, "sendmsg": 2, "sendmmsg": 3}  # and which argument has the flags
_JUDGED = {"socket", "clone", "clone3", "ioctl", *_HANDED_OVER, *_SENDING}  # by arguments, or by the policy
_SOCKET_TYPES, _STREAMS, _DATAGRAMS = 0xF, 1, 2
_TCP = 6
_FASTOPEN = 0x20000000  # connects and sends at once


def is_supported(machine: str | None = None) -> bool:
    return (machine or os.uname().machine) in _ARCHITECTURES


def denied_calls(machine: str | None = None) -> dict[str, int]:
    """The calls that always fail, with their numbers."""
    numbers = _NUMBERS[machine or os.uname().machine]
    return {name: number for name, number in numbers.items() if name not in _JUDGED}


def handed_over() -> dict[int, str]:
    """The calls that a supervisor makes, by number."""
    numbers = _NUMBERS[os.uname().machine]
    return {numbers[name]: name for name in (*_HANDED_OVER, "ioctl")}


def build_filter(
    machine: str | None = None,
    *,
    families: Iterable[str] = ("unix", "inet", "inet6", "netlink"),
    connects: bool = True,
    supervised: bool = False,
) -> bytes:
    """Return the filter as an array of `struct sock_filter`.

    `families` are the kinds of sockets that can be made. Unless `connects`, none of them can be connected,
    and there are none with a path that need no connection; pairs of sockets work. If `supervised`, a
    supervisor decides on connections instead, the only internet sockets are those of TCP, and the supervisor
    opens the other side of a pseudoterminal.

    clone3 takes its flags from memory, which a filter cannot read, so it does not exist here, and programs
    fall back to clone. A program for another architecture, whose numbers mean other calls, is killed.
    """
    machine = machine or os.uname().machine
    numbers = _NUMBERS[machine]
    program = _Program()
    program.load(_ARCHITECTURE)
    program.unless_equal(_ARCHITECTURES[machine], _KILL)
    program.load(_NUMBER)
    if machine == "x86_64":
        program.if_at_least(_X32_BIT, _FAIL | errno.ENOSYS)
    for number in sorted(denied_calls(machine).values()):
        program.if_equal(number, _FAIL | errno.EPERM)
    program.if_equal(numbers["clone3"], _FAIL | errno.ENOSYS)
    program.judge(numbers["clone"], 0, [_jump(_JUMP_SET, _NEW_NAMESPACES, _FAIL | errno.EPERM)])
    requests = [_jump(_JUMP_EQUAL, request, _FAIL | errno.EPERM) for request in _TYPING_CALLS]
    if supervised:
        requests.append(_jump(_JUMP_EQUAL, _OPEN_TERMINAL, _HAND_OVER))
    program.judge(numbers["ioctl"], 1, requests)
    if not connects:
        for name in _HANDED_OVER if supervised else ("connect",):
            result = _HAND_OVER if supervised else _FAIL | errno.EACCES
            program.if_equal(numbers[name], result)
        program.refuse_datagrams(numbers["socket"], FAMILIES["unix"], _FAIL | errno.EACCES)
    if supervised and not connects:
        for name, argument in _SENDING.items():
            program.judge(numbers[name], argument, [_jump(_JUMP_SET, _FASTOPEN, _FAIL | errno.EOPNOTSUPP)])
        for family in ("inet", "inet6"):
            program.allow_tcp(numbers["socket"], FAMILIES[family])
    program.judge(
        numbers["socket"],
        0,
        [_jump(_JUMP_EQUAL, FAMILIES[family], _ALLOW) for family in families],
        otherwise=_FAIL | errno.EAFNOSUPPORT,
    )
    program.give(_ALLOW)
    return program.encode()


def _jump(code: int, value: int, result: int) -> tuple[int, int, int]:
    return code, value, result


class _Program:
    def __init__(self) -> None:
        self._lines: list[tuple[int, int, int, int]] = []  # code, jump if true, jump if false, value

    def load(self, offset: int) -> None:
        self._lines.append((_LOAD, 0, 0, offset))

    def give(self, result: int) -> None:
        self._lines.append((_RETURN, 0, 0, result))

    def unless_equal(self, value: int, result: int) -> None:
        self._lines.append((_JUMP_EQUAL, 1, 0, value))
        self.give(result)

    def if_equal(self, value: int, result: int) -> None:
        self._lines.append((_JUMP_EQUAL, 0, 1, value))
        self.give(result)

    def if_at_least(self, value: int, result: int) -> None:
        self._lines.append((_JUMP_ABOVE, 0, 1, value))
        self.give(result)

    def judge(
        self, number: int, argument: int, tests: Sequence[tuple[int, int, int]], otherwise: int = _ALLOW
    ) -> None:
        """Decide one call by the lower half of an argument; the upper half of these has no meaning."""
        self._lines.append((_JUMP_EQUAL, 0, 2 + 2 * len(tests), number))
        self.load(_ARGUMENT + 8 * argument)
        for code, value, result in tests:
            self._lines.append((code, 0, 1, value))
            self.give(result)
        self.give(otherwise)

    def refuse_datagrams(self, number: int, family: int, result: int) -> None:
        """Refuse sockets of this family that send to an address; the number of the call stays loaded."""
        self._lines.append((_JUMP_EQUAL, 0, 7, number))
        self.load(_ARGUMENT)
        self._lines.append((_JUMP_EQUAL, 0, 4, family))
        self.load(_ARGUMENT + 8)
        self._lines.append((_AND, 0, 0, _SOCKET_TYPES))
        self.if_equal(_DATAGRAMS, result)
        self.load(_NUMBER)

    def allow_tcp(self, number: int, family: int) -> None:
        """Allow stream sockets of this family with their usual protocol; the call's number stays loaded."""
        self._lines.append((_JUMP_EQUAL, 0, 11, number))
        self.load(_ARGUMENT)
        self._lines.append((_JUMP_EQUAL, 0, 8, family))
        self.load(_ARGUMENT + 8)
        self._lines.append((_AND, 0, 0, _SOCKET_TYPES))
        self._lines.append((_JUMP_EQUAL, 0, 5, _STREAMS))
        self.load(_ARGUMENT + 16)
        self.if_equal(0, _ALLOW)
        self.if_equal(_TCP, _ALLOW)
        self.load(_NUMBER)

    def encode(self) -> bytes:
        return b"".join(struct.pack("=HBBI", *line) for line in self._lines)
