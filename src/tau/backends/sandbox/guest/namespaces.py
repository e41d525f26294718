"""Enters new namespaces and mounts without bubblewrap, then becomes the holder."""

import _socket
import ctypes
import fcntl
import marshal
import os

from tau.backends.sandbox.guest import calls
from tau.backends.sandbox.guest.holder import hold, read_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass

NEW_CGROUP, NEW_UTS, NEW_IPC, NEW_USER, NEW_PID, NEW_NET, NEW_NS = (
    *(0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000, 0x20000),
)
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
MOUNT_SETATTR = 442
ATTR_RDONLY, ATTR_NOSUID, ATTR_NODEV = 1, 2, 4
DEVICES = (b"null", b"zero", b"full", b"random", b"urandom", b"tty")
LINKS = ((b"fd", b"/proc/self/fd"), (b"ptmx", b"pts/ptmx"), (b"core", b"/proc/kcore"))
STREAMS = (b"stdin", b"stdout", b"stderr")
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1


class _Attributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns")]


def main(plan_fd: int) -> None:
    plan = marshal.loads(read_all(plan_fd))
    enter(own_network=not plan["network"])
    child = os.fork()
    if child:
        os.closerange(3, 256)
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    calls.prctl(calls.PR_SET_PDEATHSIG, 9)
    if not plan["network"]:
        raise_loopback()
    apply_mounts(plan["mounts"], plan["read_only"])
    os.environ.clear()
    calls.drop_capabilities()
    calls.set_filter(plan["filter"])
    hold(plan)


def enter(*, own_network: bool) -> None:
    user, group = os.geteuid(), os.getegid()
    flags = NEW_USER | NEW_NS | NEW_PID | NEW_IPC | NEW_UTS | NEW_CGROUP | (NEW_NET if own_network else 0)
    calls.checked(calls.libc.unshare(flags), "user namespaces are refused")
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def raise_loopback() -> None:
    probe = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    request = b"lo".ljust(16, b"\0") + IFF_UP.to_bytes(2, "little") + bytes(14)
    fcntl.ioctl(probe.fileno(), SIOCSIFFLAGS, request)
    probe.close()


def apply_mounts(mounts: "list[tuple[str, bytes, bytes]]", read_only: "list[bytes]") -> None:
    """Make everything read-only, then mount in order. Sources are opened first, before they are covered."""
    mount(None, b"/", None, MS_REC | MS_PRIVATE)
    sources = [os.open(source, os.O_PATH) for _, _, source in mounts]
    devices = [(name, os.open(b"/dev/" + name, os.O_PATH)) for name in DEVICES]
    null = dict(devices)[b"null"]
    set_attributes(b"/", add=ATTR_RDONLY | ATTR_NOSUID, recursive=True)
    for (kind, target, _), source in zip(mounts, sources, strict=True):
        if kind == "hide":
            mount(b"tmpfs", target, b"tmpfs", MS_NOSUID | MS_NODEV, b"mode=0755,size=1m")
            continue
        make_place(target, source)
        if kind == "mask":
            bind(null, target)
            set_attributes(target, add=ATTR_RDONLY)
        else:
            bind(source, target)
            if kind == "read":
                set_attributes(target, add=ATTR_RDONLY, recursive=True)
            else:
                make_writable(target)
    for kind, target, _ in mounts:
        if kind == "hide":
            set_attributes(target, add=ATTR_RDONLY)
    make_devices(devices)
    mount(b"proc", b"/proc", b"proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    for path in read_only:
        mount(path, path, None, MS_BIND)
        set_attributes(path, add=ATTR_RDONLY)
    for fd in (*sources, *(fd for _, fd in devices)):
        os.close(fd)
    os.chdir("/")


def make_place(target: bytes, source: int) -> None:
    """Create the place of a mount: it is missing only in a folder of ours, where nobody else sees it."""
    if os.path.lexists(target):
        return
    if os.path.isdir(f"/proc/self/fd/{source}"):
        os.makedirs(target, 0o755)
    else:
        os.makedirs(os.path.dirname(target), 0o755, exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o600))


def make_devices(devices: "list[tuple[bytes, int]]") -> None:
    mount(b"tmpfs", b"/dev", b"tmpfs", MS_NOSUID, b"mode=0755,size=1m")
    for name, source in devices:
        os.close(os.open(b"/dev/" + name, os.O_CREAT | os.O_WRONLY, 0o666))
        bind(source, b"/dev/" + name)
    for name in (b"pts", b"shm"):
        os.mkdir(b"/dev/" + name)
    mount(b"devpts", b"/dev/pts", b"devpts", MS_NOSUID | MS_NOEXEC, b"newinstance,ptmxmode=0666,mode=620")
    mount(b"tmpfs", b"/dev/shm", b"tmpfs", MS_NOSUID | MS_NODEV, b"mode=1777")
    for name, to in (*LINKS, *((one, b"/proc/self/fd/%d" % at) for at, one in enumerate(STREAMS))):
        os.symlink(to, b"/dev/" + name)
    set_attributes(b"/dev", add=ATTR_RDONLY)


def mount(
    source: "bytes | None", target: bytes, kind: "bytes | None", flags: int, data: "bytes | None" = None
) -> None:
    result = calls.libc.mount(source, target, kind, ctypes.c_ulong(flags), data)
    calls.checked(result, f"mount on {os.fsdecode(target)}")


def bind(source: int, target: bytes) -> None:
    mount(b"/proc/self/fd/%d" % source, target, None, MS_BIND | MS_REC)


def make_writable(target: bytes) -> None:
    """Mounts below that were read-only from the start cannot be made writable."""
    try:
        set_attributes(target, clear=ATTR_RDONLY, recursive=True)
    except OSError:
        set_attributes(target, clear=ATTR_RDONLY)


def set_attributes(target: bytes, *, add: int = 0, clear: int = 0, recursive: bool = False) -> None:
    attributes = _Attributes(add, clear, 0, 0)
    flags = AT_RECURSIVE if recursive else 0
    result = calls.libc.syscall(
        MOUNT_SETATTR, AT_FDCWD, target, flags, ctypes.byref(attributes), ctypes.sizeof(attributes)
    )
    calls.checked(result, f"mount attributes of {os.fsdecode(target)}")
