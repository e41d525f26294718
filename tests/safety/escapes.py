"""Ways out of a sandbox. Each is Python that prints ESCAPED, or changes something that is checked outside."""

from msgspec import Struct

# Landlock's open gaps: what it cannot keep, and why. The number is that of docs/security.md; 3 is closed by
# a filter of system calls.
GAPS = {
    1: "it does not cover permissions, times and attributes of files",
    2: "it has no namespace for processes: their names and command lines are visible",
    4: "it has no read-only part of a writable folder: Git files are restored after each command instead",
    5: "it has no network namespace: servers of commands are on the localhost of this machine",
}

PRELUDE = """
import ctypes, fcntl, os, signal, socket, struct, subprocess, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def escaped(): print("ESCAPED", flush=True)
def read(path):
    data = open(path, "rb").read(200)
    if data: print(data); escaped()
def call(*args):
    result = libc.syscall(*args)
    print(result, ctypes.get_errno())
    return result
def attempt(call, *args):
    try: call(*args)
    except OSError as error: print(error); return False
    return True
HOME, OUTSIDE, PROJECT = (os.environ[name] for name in ("HOME", "OUTSIDE", "PROJECT"))
HOST, PORT, AUTH = int(os.environ["HOST_PID"]), int(os.environ["HOST_PORT"]), os.environ["AUTH"]
FILE = OUTSIDE + "/file"
"""


class Escape(Struct, frozen=True):
    """`gap` is the number of the gap through which it works with Landlock, if any."""

    code: str
    gap: int = 0


FILES = {
    "read an ssh key": Escape("read(HOME + '/.ssh/id_ed25519')"),
    "read a cloud credential": Escape("read(HOME + '/.aws/credentials')"),
    "read tau's credentials": Escape("read(AUTH)"),
    "read a key through a link": Escape("os.symlink(HOME + '/.ssh', 'keys'); read('keys/id_ed25519')"),
    "read a key through /proc/self/root": Escape("read('/proc/self/root' + HOME + '/.ssh/id_ed25519')"),
    "append to .bashrc": Escape("open(HOME + '/.bashrc', 'a').write('evil'); escaped()"),
    "create a file outside": Escape("open(OUTSIDE + '/new', 'w'); escaped()"),
    "delete a file outside": Escape("os.remove(FILE); escaped()"),
    "rename a file outside": Escape("os.rename(FILE, OUTSIDE + '/b'); escaped()"),
    "move a file from outside to the workspace": Escape("os.rename(FILE, 'b'); escaped()"),
    "truncate a file outside": Escape("os.truncate(FILE, 0); escaped()"),
    "open a file outside for writing": Escape("os.open(FILE, os.O_RDWR); escaped()"),
    "write through a link": Escape("os.symlink(FILE, 'link'); open('link', 'w').write('x'); escaped()"),
    "write through a hard link": Escape("os.link(FILE, 'hard'); open('hard', 'w').write('x'); escaped()"),
    "write through /proc/self/cwd": Escape("open('/proc/self/cwd/../outside/x', 'w'); escaped()"),
    "write through /proc/1/root": Escape("open('/proc/1/root' + OUTSIDE + '/x', 'w'); escaped()"),
    "change permissions outside": Escape("os.chmod(FILE, 0o777); escaped()", gap=1),
    "change times outside": Escape("os.utime(FILE, (1, 1)); escaped()", gap=1),
    "change attributes outside": Escape("os.setxattr(FILE, 'user.x', b'1'); escaped()", gap=1),
    "make a device": Escape("os.mknod('disk', 0o60666, os.makedev(254, 0)); escaped()"),
    "read a disk": Escape(
        "for name in ('vda', 'sda', 'nvme0n1', 'mem', 'kmem', 'port'):\n"
        "    attempt(lambda: os.read(os.open('/dev/' + name, os.O_RDONLY), 1)) and escaped()"
    ),
    "change a kernel setting": Escape("os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY); escaped()"),
}
PROCESSES = {
    "read tau's environment": Escape("read(f'/proc/{HOST}/environ')"),
    "read tau's memory": Escape("os.open(f'/proc/{HOST}/mem', os.O_RDONLY); escaped()"),
    "enter tau's root": Escape("os.listdir(f'/proc/{HOST}/root/'); escaped()"),
    "list a command line of the host": Escape(
        "b'py' in open(f'/proc/{HOST}/cmdline', 'rb').read() and escaped()", gap=2
    ),
    "signal a process of the host": Escape("os.kill(HOST, 0); escaped()"),
    "trace a process of the host": Escape("call(101, 16, HOST, 0, 0) == 0 and escaped()"),
    "read the memory of a process of the host": Escape(
        "class V(ctypes.Structure): _fields_ = [('a', ctypes.c_void_p), ('n', ctypes.c_size_t)]\n"
        "buffer = ctypes.create_string_buffer(8)\n"
        "here = V(ctypes.addressof(buffer), 8); there = V(id(0), 8)\n"
        "call(310, HOST, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) > 0 and escaped()"
    ),
    "trace the first process": Escape("call(101, 16, 1, 0, 0) == 0 and escaped()"),
    "read the first process's descriptors": Escape(
        "for fd in range(64): attempt(os.readlink, f'/proc/1/fd/{fd}') and escaped()"
    ),
    "read the first process's memory": Escape("os.open('/proc/1/mem', os.O_RDWR); escaped()"),
}
SOCKETS = {
    "connect to a socket in the home folder": Escape(
        "socket.socket(socket.AF_UNIX).connect(HOME + '/agent.sock'); escaped()"
    ),
    "connect to a socket in /tmp": Escape(
        "socket.socket(socket.AF_UNIX).connect(os.environ['TMP_SOCKET']); escaped()"
    ),
    "send to a socket in the home folder": Escape(
        "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', HOME + '/log.sock'); escaped()"
    ),
    "connect to an abstract socket": Escape(
        "socket.socket(socket.AF_UNIX).connect('\\0' + os.environ['ABSTRACT']); escaped()"
    ),
    "connect to a port of the host": Escape("socket.create_connection(('127.0.0.1', PORT), 2); escaped()"),
    "leave by the network": Escape(
        "sock = socket.socket()\nsock.settimeout(1)\n"
        "try: sock.connect(('192.0.2.1', 80)); escaped()\n"
        "except TimeoutError: escaped()"
    ),
    "send a datagram": Escape(
        "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53)); escaped()"
    ),
    "open a packet socket": Escape("socket.socket(socket.AF_PACKET, socket.SOCK_RAW); escaped()"),
    "open a vsock": Escape("socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM); escaped()"),
    "open a raw socket": Escape("socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); escaped()"),
}
PRIVILEGES = {
    "become another user": Escape("os.setuid(12345 if os.getuid() == 0 else 0); escaped()"),
    "give a file away": Escape("open('own', 'w'); os.chown('own', 12345, 12345); escaped()"),
    "run a setuid program": Escape(
        "flags = dict(line.split(':', 1) for line in open('/proc/self/status'))\n"
        "flags['NoNewPrivs'].strip() == '0' and escaped()"
    ),
    "make a user namespace": Escape("call(272, 0x10000000) == 0 and escaped()"),
    "make a namespace by clone": Escape(
        "pid = call(56, 0x10000000 | 17, 0, 0, 0, 0)\nif pid == 0: escaped(); os._exit(0)"
    ),
    "make a namespace by clone3": Escape(
        "args = struct.pack('11Q', 0x10000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0)\n"
        "pid = call(435, args, len(args))\nif pid == 0: escaped(); os._exit(0)"
    ),
    "enter a namespace": Escape(
        "fd = os.open('/proc/self/ns/mnt', os.O_RDONLY); libc.setns(fd, 0) == 0 and escaped()"
    ),
    "mount": Escape("libc.mount(b'x', PROJECT.encode(), b'tmpfs', 0, None) == 0 and escaped()"),
    "unmount": Escape("libc.umount2(b'/proc', 2) == 0 and escaped()"),
    "mount by the new calls": Escape("call(430, b'tmpfs', 0) >= 0 and escaped()"),
    "change the root": Escape("os.chroot('.'); escaped()"),
    "use io_uring": Escape("call(425, 1, ctypes.create_string_buffer(120)) >= 0 and escaped()"),
    "use the keyring": Escape("call(250, 0, -3, 0, 0, 0) >= 0 and escaped()"),
    "add a key": Escape("call(248, b'user', b'x', b'y', 1, -3) >= 0 and escaped()"),
    "use bpf": Escape("call(321, 0, ctypes.create_string_buffer(64), 64) >= 0 and escaped()"),
    "use perf": Escape("call(298, ctypes.create_string_buffer(128), 0, -1, -1, 0) >= 0 and escaped()"),
    "open by handle": Escape(
        "call(304, -100, ctypes.create_string_buffer(128), 0)\nctypes.get_errno() != 1 and escaped()"
    ),
    "use userfaultfd": Escape("call(323, 0) >= 0 and escaped()"),
    "set the clock": Escape("time.clock_settime(time.CLOCK_REALTIME, time.time()); escaped()"),
    "use x32 calls": Escape("call(0x40000000 | 39) > 0 and escaped()"),
    "use 32-bit calls": Escape(
        "import mmap\n"
        "code = mmap.mmap(-1, 4096, prot=7)\n"
        "code.write(bytes.fromhex('53b814000000cd805bc3'))\n"  # getpid by int 0x80
        "address = ctypes.addressof(ctypes.c_char.from_buffer(code))\n"
        "ctypes.CFUNCTYPE(ctypes.c_int)(address)() > 0 and escaped()"
    ),
    "type into a terminal": Escape(
        "ours, theirs = os.openpty(); fcntl.ioctl(theirs, 0x5412, b'x'); escaped()"
    ),
}
GIT = {
    "change the repository's config": Escape("open('.git/config', 'a').write('[x]'); escaped()", gap=4),
    "plant a hook": Escape("open('.git/hooks/pre-commit', 'w'); escaped()", gap=4),
    "replace the config by a rename": Escape("os.rename('a.txt', '.git/config'); escaped()", gap=4),
    "move .git away": Escape("os.rename('.git', 'moved'); escaped()", gap=4),
    "plant a hook in a nested repository": Escape(
        "open('nested/.git/hooks/pre-commit', 'w'); escaped()", gap=4
    ),
    "point a worktree to another repository": Escape(
        "open('tree/.git', 'w').write('gitdir: /x'); escaped()", gap=4
    ),
    "change the config of a submodule": Escape("open('.git/modules/sub/config', 'a'); escaped()", gap=4),
}
ESCAPES = {**FILES, **PROCESSES, **SOCKETS, **PRIVILEGES, **GIT}
