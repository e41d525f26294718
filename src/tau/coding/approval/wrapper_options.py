"""The options of programs and builtins that run other commands.

An option that is not listed here is not understood: it may change which of the words is the program.
"""

from msgspec import Struct


class WrapperOptions(Struct, frozen=True):
    """Options before the wrapped command, as letters and as long names.

    `values` take the rest of the word or the next word, `optional` only the rest. `operands` come before the
    command. `text`: options whose value is a command for a shell. `folder`: those that change the folder.
    With one of `inert`, nothing runs.
    """

    flags: str = ""
    values: str = ""
    optional: str = ""
    long_flags: tuple[str, ...] = ()
    long_values: tuple[str, ...] = ()
    operands: int = 0
    assignments: bool = False
    text: tuple[str, ...] = ()
    folder: tuple[str, ...] = ()
    inert: tuple[str, ...] = ()


WRAPPERS = {
    "env": WrapperOptions(
        flags="i0v",
        values="uC",
        long_flags=("ignore-environment", "null", "debug"),
        long_values=("unset", "chdir"),
        assignments=True,
        folder=("C", "chdir"),
    ),
    "sudo": WrapperOptions(
        flags="AbBEHnPSks",
        values="CDghpTu",
        long_flags=("askpass", "background", "preserve-env", "set-home", "non-interactive", "stdin", "shell"),
        long_values=("chdir", "group", "host", "prompt", "user", "close-from", "command-timeout"),
        assignments=True,
        folder=("D", "chdir"),
    ),
    "doas": WrapperOptions(flags="nL", values="aCu"),
    "time": WrapperOptions(
        flags="pvqa", long_flags=("portability", "verbose", "quiet"), long_values=("format",), values="f"
    ),
    "exec": WrapperOptions(flags="cl", values="a"),
    "command": WrapperOptions(flags="p", inert=("v", "V")),
    "builtin": WrapperOptions(),
    "nice": WrapperOptions(flags="0123456789", values="n", long_values=("adjustment",)),
    "ionice": WrapperOptions(flags="t", values="cn", long_values=("class", "classdata")),
    "taskset": WrapperOptions(flags="ac", operands=1),
    "nohup": WrapperOptions(),
    "setsid": WrapperOptions(flags="cfw", long_flags=("ctty", "fork", "wait")),
    "stdbuf": WrapperOptions(values="ioe", long_values=("input", "output", "error")),
    "timeout": WrapperOptions(
        flags="fpv",
        values="ks",
        long_flags=("foreground", "preserve-status", "verbose"),
        long_values=("kill-after", "signal"),
        operands=1,
    ),
    "strace": WrapperOptions(flags="fFvqtrTCcdiyxwkzZ", values="aebEIOPsSUX"),
    "ltrace": WrapperOptions(flags="fcCirStT", values="aenpsu"),
    "busybox": WrapperOptions(),
    "toybox": WrapperOptions(),
    "catchsegv": WrapperOptions(),
    "fakeroot": WrapperOptions(),
    "unbuffer": WrapperOptions(),
    "ssh-agent": WrapperOptions(flags="csDdk", values="aEOPt"),
    "caffeinate": WrapperOptions(flags="dimsu", values="tw"),
    "su": WrapperOptions(
        flags="lmpfP", values="gGwT", long_flags=("login", "preserve-environment"), text=("c", "command")
    ),
    "script": WrapperOptions(
        flags="aefqr", long_flags=("append", "quiet", "return", "flush", "force"), text=("c", "command")
    ),
    "mapfile": WrapperOptions(flags="t", values="dnOsuc", text=("C",)),
    "readarray": WrapperOptions(flags="t", values="dnOsuc", text=("C",)),
    "flock": WrapperOptions(
        flags="esxunoFv",
        values="wE",
        long_flags=("exclusive", "shared", "nonblock", "nb", "close", "no-fork", "verbose", "unlock"),
        long_values=("timeout", "wait", "conflict-exit-code"),
        operands=1,
        text=("c", "command"),
    ),
    "watch": WrapperOptions(
        flags="bcdegptx",
        values="n",
        long_flags=("beep", "color", "differences", "errexit", "chgexit", "no-title", "precise", "exec"),
        long_values=("interval",),
    ),
    "xargs": WrapperOptions(
        flags="0rtpxo",
        values="aEILnPsd",
        optional="eil",
        long_flags=("null", "no-run-if-empty", "verbose", "interactive", "exit", "open-tty"),
        long_values=("arg-file", "delimiter", "max-args", "max-procs", "max-lines", "max-chars"),
    ),
    "ssh": WrapperOptions(flags="46AaCfGgKkMNnqsTtVvXxYy", values="BbcDeFIiJLlmOopQRSWw", operands=1),
    "uv run": WrapperOptions(
        flags="qnv",
        values="p",
        long_flags=(
            *(
                "quiet",
                "no-sync",
                "frozen",
                "locked",
                "offline",
                "no-project",
                "isolated",
                "verbose",
                "exact",
            ),
            *(
                "all-extras",
                "no-dev",
                "dev",
                "active",
                "no-cache",
                "all-groups",
                "all-packages",
                "native-tls",
            ),
        ),
        long_values=("with", "python", "extra", "group", "package", "env-file", "with-requirements"),
    ),
    **dict.fromkeys(("poetry run", "pipenv run", "pdm run", "rye run", "bundle exec"), WrapperOptions()),
    **dict.fromkeys(("pnpm exec", "yarn exec"), WrapperOptions()),
}
# Programs that start something under rules too many to list.
OPAQUE = frozenset(
    (
        *(
            "parallel",
            "chroot",
            "unshare",
            "nsenter",
            "bwrap",
            "firejail",
            "systemd-run",
            "runuser",
            "pkexec",
        ),
        *("dbus-run-session", "dbus-launch", "xvfb-run", "valgrind", "proxychains", "torsocks", "entr"),
        *("eatmydata", "chronic", "cgexec", "runcon", "setarch", "linux32", "linux64", "prlimit"),
        *("sg", "newgrp", "expect", "at", "batch", "start-stop-daemon", "sudoedit", "run-parts", "gdb"),
        # Builtins that define, load or repeat commands.
        *("fc", "enable", "hash", "bind", "complete", "compgen", "coproc", "alias", "emulate", "zmodload"),
        *("autoload", "sched", "zle", "bindkey", "functions", "aliases", "nocorrect", "noglob", "repeat"),
        *("foreach", "-", "always", "end", "vared", "zcompile", "zargs"),
    )
)
# Without arguments, these only list.
LISTERS = frozenset(("alias", "enable", "hash", "bind", "complete", "functions", "aliases", "fc"))
