"""Runs a shell line under strace and compares what bash really did with the report on it."""

import os
import re
import shutil
import subprocess
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import Struct

from tau.coding.approval.command_report import CommandReport, report_command
from tests.support.limits import HANG_S

CALLS = (
    "execve,open,openat,openat2,creat,truncate,unlink,unlinkat,rmdir,rename,renameat,renameat2,link,linkat,"
    "symlink,symlinkat,mkdir,mkdirat,chmod,fchmodat,chown,lchown,fchownat,utimensat,mknod,mknodat"
)
# Real programs that only touch what their words name; sudo is env by another name.
PROGRAMS = (
    *(
        "env",
        "xargs",
        "find",
        "timeout",
        "nice",
        "nohup",
        "setsid",
        "stdbuf",
        "bash",
        "sh",
        "cat",
        "rm",
        "mv",
    ),
    *(
        "cp",
        "touch",
        "tee",
        "truncate",
        "ln",
        "dd",
        "chmod",
        "mkdir",
        "rmdir",
        "sed",
        "tar",
        "git",
        "install",
    ),
    *(
        "ls",
        "true",
        "false",
        "head",
        "sort",
        "split",
        "shred",
        "flock",
        "awk",
        "tr",
        "printf",
        "echo",
        "gzip",
    ),
    *("sleep", "wc", "grep", "unlink", "link", "mkfifo", "test", "readlink", "basename", "dirname"),
)
_CALL = re.compile(r"(?:\[pid +\d+\] |\d+ +)?(\w+)\((.*)\) += (-?\d+)")
_PATH = re.compile(r"(?:AT_FDCWD<((?:[^>\\]|\\.)*)>|\d+<((?:[^>\\]|\\.)*)>)?(?:, )?\"((?:[^\"\\]|\\.)*)\"")
_DEVICES = re.compile(r"/dev/(?:null|zero|full|tty|stdout|stderr|fd/\d+|pts/\d+)|/proc/.*")


class Reality(Struct, frozen=True):
    """Names of the programs that ran, and real paths that were changed."""

    programs: frozenset[str]
    changed: frozenset[Path]


class Place(Struct, frozen=True):
    """A workspace, a folder outside of it, and the stand-in programs."""

    work: Path
    out: Path
    bin: Path

    def fill(self, line: str) -> str:
        return line.replace("OUT", str(self.out)).replace("WORK", str(self.work))


def make_place(folder: Path) -> Place:
    place = Place(folder / "work", folder / "out", folder / "bin")
    place.bin.mkdir()
    for name in PROGRAMS:
        found = shutil.which(name)
        if found is not None:
            (place.bin / name).symlink_to(found)
    (place.bin / "sudo").symlink_to(str(shutil.which("env")))
    reset(place)
    return place


def reset(place: Place) -> None:
    for folder in (place.work, place.out):
        for above, names, _ in os.walk(folder.parent):
            for path in (Path(above, name) for name in names):
                if path.is_relative_to(folder) and not path.is_symlink():
                    path.chmod(0o700)  # a line may have taken the user's own rights
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "sub" / "deep").mkdir(parents=True)
        for name in ("a", "b", "c", "sub/a", "sub/b"):
            (folder / name).write_text("text\n")
    (place.work / "link").symlink_to(place.out)
    (place.work / "leak").symlink_to(place.out / "a")
    (place.work / "script").write_text(f"touch {place.out}/from-script\n")


def run_traced(line: str, place: Place, shell: str = "bash") -> Reality:
    log = place.bin / "trace.log"
    program = str(shutil.which(shell))
    subprocess.run(
        [
            *(
                str(shutil.which("strace")),
                "-f",
                "-y",
                "-qq",
                "-s",
                "4096",
                "-e",
                f"trace={CALLS}",
                "-e",
                "signal=none",
            ),
            *("-o", str(log), program, "-c", line),
        ],
        cwd=place.work,
        env={"PATH": str(place.bin), "HOME": str(place.out), "LC_ALL": "C.UTF-8", "TMPDIR": str(place.work)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=HANG_S,
    )
    programs: set[str] = set()
    changed: set[Path] = set()
    for number, text in enumerate(log.read_text(errors="replace").splitlines()):
        found = _CALL.match(text.replace("<unfinished ...>", ") = 0"))
        if found is None or int(found[3]) < 0:
            continue
        name, arguments = found[1], found[2]
        if name == "execve":
            if number:
                programs.add(Path(arguments[1:].partition('"')[0]).name)
            continue
        if name.startswith("open") and not re.search(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC", arguments):
            continue
        for base, other, path in _PATH.findall(arguments)[-1 if name.startswith("symlink") else 0 :]:
            named = Path(base or other or place.work) / path
            real = Path(os.path.realpath(named))
            if name.startswith("symlink"):
                real = Path(os.path.realpath(named.parent)) / named.name
            if not real.is_relative_to(place.work) and not _DEVICES.fullmatch(str(real)):
                changed.add(real)
    return Reality(frozenset(programs), frozenset(changed))


def report_line(line: str, place: Place, shell: str = "bash") -> CommandReport:
    return report_command(line, place.work, [place.work], shell=shell)


def find_lie(report: CommandReport, reality: Reality) -> str:
    """What really happened and is not in the report; empty if nothing."""
    if report.problem:
        return ""
    named = {Path(command.name).name for command in report.commands}
    # git and other programs start a shell for a command of theirs.
    hidden = reality.programs - named - {"sh", "bash", "git"}
    if hidden:
        return f"ran {sorted(hidden)}"
    for path in sorted(reality.changed):
        if not any(_covers(change.target, path) for change in report.outside):
            return f"changed {path}"
    return ""


def _covers(target: str, path: Path) -> bool:
    """A target that is only known when the command runs may be any path."""
    if not target.startswith("/") or re.search(r"[$`{]", target):
        return True
    if path.is_relative_to(target) or fnmatchcase(str(path), target):
        return True
    # Backups, compressed and temporary files beside it.
    return str(path).startswith((target, f"{Path(target).parent}/sed"))
