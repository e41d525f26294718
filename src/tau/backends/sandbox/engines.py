"""The programs that make sandboxes: how each is started, and what it promises."""

import marshal
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from tau.backends.sandbox import seccomp
from tau.backends.sandbox.mounts import Mount
from tau.backends.sandbox.policy import SandboxPolicy
from tau.base.files import anonymous_file
from tau.base.late import late
from tau.base.programs import find_program

if TYPE_CHECKING:
    from importlib.abc import InspectLoader

access = late("tau.backends.sandbox.access")
machinery = late("importlib.machinery")

# What a sandbox is tried for, from inside, each time it starts.
PROMISES: Mapping[str, str] = {
    "files": "only the workspace and temporary files are writable",
    "hidden": "credentials and sockets are hidden",
    "privileges": "no privileges, no capabilities, few system calls",
    "network": "no network but through tau",
    "processes": "other processes are invisible",
    "git": "hooks and config of repositories are read-only",
    "localhost": "servers on localhost work",
}
# Parts of /proc that change the machine: root's own files, so that root's commands could write them.
_PROC_SETTINGS = (
    *("sys", "sysrq-trigger", "irq", "bus", "acpi", "scsi", "fs", "driver", "mtrr", "tty", "asound"),
    "dynamic_debug",
)
# Runs the guest's modules without what `tau` itself imports. They come compiled with the plan: inside, Python
# could not save what it compiles, and would do it again at each start.
_GUEST = "tau.backends.sandbox.guest"
_BOOT = (
    "import marshal, os, sys\n"
    "plan, guest = int(sys.argv[1]), type(sys)(sys.argv[2])\n"
    "sys.modules[sys.argv[2]] = guest\n"
    "for name, code in marshal.loads(os.pread(plan, os.fstat(plan).st_size, 0))['modules']:\n"
    "    module = type(sys)(f'{sys.argv[2]}.{name}')\n"
    "    sys.modules[module.__name__] = module\n"
    "    setattr(guest, name, module)\n"
    "    exec(code, module.__dict__)\n"
    "module.main(plan)\n"
)


class SandboxLaunch(Struct, frozen=True, kw_only=True):
    """What to start. The program inherits `fds`; close them afterwards."""

    argv: Sequence[str]
    fds: Sequence[int]


class SandboxSpec(Struct, frozen=True, kw_only=True):
    """Everything an engine needs to know."""

    policy: SandboxPolicy
    mounts: Sequence[Mount]
    checks: Mapping[str, tuple[Any, ...]]
    control: int  # the descriptor of the socket to us


class Engine(Struct, frozen=True, kw_only=True):
    """`missing` says why it cannot work here, or nothing; `promises` are those it must keep."""

    name: str
    promises: frozenset[str]
    missing: Callable[[], str]
    launch: Callable[[SandboxSpec], SandboxLaunch]


def select_engines(name: str = "auto") -> list[Engine]:
    """The engines to try, in order."""
    return list(ENGINES) if name == "auto" else [engine for engine in ENGINES if engine.name == name]


def _holder_argv(plan: int) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", _BOOT, str(plan), _GUEST]


def _guest_plan(spec: SandboxSpec, modules: Sequence[str], **more: object) -> int:
    """What the last of these modules of the guest is to do; each imports only those before it."""
    code = [(name, _compiled(name)) for name in modules]
    plan = {"control": spec.control, "checks": dict(spec.checks), "modules": code, **more}
    return anonymous_file(marshal.dumps(plan))


def _compiled(name: str) -> CodeType:
    found = machinery.PathFinder.find_spec(f"{_GUEST}.{name}", [f"{os.path.dirname(__file__)}/guest"])  # noqa: PTH120
    code = None if found is None else cast("InspectLoader", found.loader).get_code(f"{_GUEST}.{name}")
    if code is None:
        raise OSError(f"{_GUEST}.{name} is missing")
    return code


def _missing_bubblewrap() -> str:
    if not sys.platform.startswith("linux"):
        return "it needs Linux"
    if not seccomp.is_supported():
        return f"there is no filter for {os.uname().machine}"
    return "" if find_program("bwrap") else "bwrap is not installed"


def _missing_python_engine() -> str:
    if not sys.platform.startswith("linux"):
        return "it needs Linux"
    return "" if seccomp.is_supported() else f"there is no filter for {os.uname().machine}"


def _launch_bubblewrap(spec: SandboxSpec) -> SandboxLaunch:
    """bwrap reads its options and the filter from descriptors, each once."""
    program = anonymous_file(seccomp.build_filter())
    words = ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    if spec.policy.network != "on":
        words.append("--unshare-net")
    words += ["--cap-drop", "ALL", "--die-with-parent", "--as-pid-1", "--clearenv", "--chdir", "/"]
    words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for path in _proc_settings():
        words += ["--ro-bind", path, path]
    for mount in spec.mounts:
        words += bubblewrap_words(mount)
    for mount in spec.mounts:
        if mount.kind == "hide":  # not earlier: places inside may be needed for other mounts
            words += ["--remount-ro", str(mount.target)]
    words += ["--seccomp", str(program)]
    options = anonymous_file(b"".join(os.fsencode(word) + b"\0" for word in words))
    plan = _guest_plan(spec, ("checks", "holder"))
    bwrap = find_program("bwrap") or "bwrap"
    argv = [bwrap, "--args", str(options), "--", *_holder_argv(plan)]
    return SandboxLaunch(argv=argv, fds=(program, options, plan))


def _proc_settings() -> list[str]:
    return [path for name in _PROC_SETTINGS if os.path.lexists(path := f"/proc/{name}")]


def bubblewrap_words(mount: Mount) -> Iterable[str]:
    """The options for one mount."""
    target, source = str(mount.target), str(mount.source)
    match mount.kind:
        case "hide":
            return "--tmpfs", target
        case "mask":
            return "--ro-bind", "/dev/null", target
        case "read":
            return "--ro-bind", source, target
        case _:
            return "--bind", source, target


def _launch_namespaces(spec: SandboxSpec) -> SandboxLaunch:
    mounts = [(mount.kind, os.fsencode(mount.target), os.fsencode(mount.source)) for mount in spec.mounts]
    plan = _guest_plan(
        spec,
        ("checks", "holder", "calls", "namespaces"),
        mounts=mounts,
        read_only=[os.fsencode(path) for path in _proc_settings()],
        network=spec.policy.network == "on",
        filter=seccomp.build_filter(),
    )
    return SandboxLaunch(argv=_holder_argv(plan), fds=(plan,))


def _launch_landlock(spec: SandboxSpec) -> SandboxLaunch:
    """Without namespaces, a supervisor makes connections within the sandbox, and opens its terminals.

    Where there can be none, no network means no internet sockets at all. What is left to connect to are
    sockets with a path, which Landlock does not keep: none, unless some are allowed.
    """
    policy = spec.policy
    rules = [(os.fsencode(rule.path), rule.rights) for rule in access.plan_access(policy, spec.mounts)]
    is_open = policy.network == "on"
    families = tuple(seccomp.FAMILIES) if is_open else ("unix", "netlink")
    plan = _guest_plan(
        spec,
        ("checks", "holder", "calls", "supervisor", "landlock"),
        rules=rules,
        filter=seccomp.build_filter(families=families, connects=is_open or bool(policy.sockets)),
        supervised=seccomp.build_filter(families=families, connects=is_open, supervised=True),
        has_network=is_open,
        handed_over=seccomp.handed_over(),
        folders=[path for path, rights in rules if rights == "write"],
        sockets=[os.fsencode(path) for path in policy.sockets],
    )
    return SandboxLaunch(argv=_holder_argv(plan), fds=(plan,))


_ALL = frozenset(PROMISES)
ENGINES: tuple[Engine, ...] = (
    Engine(name="bubblewrap", promises=_ALL, missing=_missing_bubblewrap, launch=_launch_bubblewrap),
    Engine(name="namespaces", promises=_ALL, missing=_missing_python_engine, launch=_launch_namespaces),
    Engine(
        name="landlock",
        promises=frozenset({"files", "hidden", "privileges", "network"}),
        missing=_missing_python_engine,
        launch=_launch_landlock,
    ),
)
