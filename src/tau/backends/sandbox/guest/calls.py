"""System calls that Python lacks."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)

PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 1, 22, 24, 38, 47
_SECCOMP_MODE_FILTER = 2
_SET_FILTER, _NEW_LISTENER, _WAIT_KILLABLE = 1, 1 << 3, 1 << 5
_AMBIENT_CLEAR_ALL = 4
_CAPABILITY_VERSION_3 = 0x20080522
_LAST_CAPABILITY = 63


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("lines", ctypes.c_char_p)]


def checked(result: int, what: str = "") -> int:
    """Raise OSError if a call failed."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return result


def prctl(option: int, *values: int) -> int:
    arguments = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    return checked(libc.prctl(option, *arguments), f"prctl {option}")


def set_filter(program: bytes) -> None:
    """Apply a seccomp filter to this process and its children."""
    described = _Program(len(program) // 8, program)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    checked(libc.prctl(PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(described), 0, 0), "seccomp")


def set_supervised_filter(program: bytes) -> int:
    """The same; returns a descriptor that gets the calls which the filter hands over."""
    described = _Program(len(program) // 8, program)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    number = {"x86_64": 317, "aarch64": 277}[os.uname().machine]
    return checked(
        libc.syscall(number, _SET_FILTER, _NEW_LISTENER | _WAIT_KILLABLE, ctypes.byref(described)), "seccomp"
    )


def drop_capabilities() -> None:
    for capability in range(_LAST_CAPABILITY + 1):
        if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            break
    libc.prctl(PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    none = (ctypes.c_uint32 * 6)()
    checked(libc.capset(header, none), "capset")
