"""The system calls of a tool call: it writes, renames, deletes and starts only what it declared."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.safety.effects_rig import Trap
from tests.safety.effects_table import SPELLINGS
from tests.safety.traced_calls import BEGIN, END
from tests.support.limits import HANG_S

WATCHED = (
    *("open", "openat", "openat2", "creat", "rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir"),
    *(
        "mkdir",
        "mkdirat",
        "link",
        "linkat",
        "symlink",
        "symlinkat",
        "truncate",
        "chmod",
        "fchmodat",
        "execve",
    ),
)
_LINE = re.compile(
    r"(?P<at>\d+\.\d+) (?P<name>\w+)\((?P<arguments>.*)\) = (?P<result>-?\d+)(?:<(?P<opened>.*)>)?"
)
_ARGUMENT = re.compile(r'(?:(?:AT_FDCWD|\d+)<(?P<folder>[^>]*)>, )?"(?P<text>(?:[^"\\]|\\.)*)"')
_BY_NUMBER = re.compile(r"/proc/self/fd/(\d+)")
WRITES = re.compile("O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND")
HELPERS = r"/(?:rg|git|python[\d.]*)$"

CONFLICT = "<<<<<<< a\nours\n=======\ntheirs\n>>>>>>> b\n"
PATCH = """*** Begin Patch
*** Update File: inner.txt
@@
-old text
+new text
*** Add File: folder/added.txt
+x
*** Delete File: sub/only.py
*** Update File: a.txt
*** Move to: moved/a.txt
*** End Patch"""
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("read", {"path": "a.txt"}),
    ("read", {"path": "link.txt"}),
    ("read", {"path": "only.py"}),
    ("read", {"path": "x.db:t"}),
    ("read", {"path": "link.zip:m.txt"}),
    ("read", {"path": "a-b://../../x"}),
    ("search", {"pattern": "marker", "paths": ["sub", "x.zip:m.txt"]}),
    ("find", {"paths": ["*.txt"]}),
    ("ast_grep", {"pat": "f($A)", "paths": "."}),
    ("write", {"path": "new/deep/file.txt", "content": "x"}),
    ("write", {"path": "link.txt", "content": CONFLICT}),
    ("read", {"path": "link.txt:conflicts"}),
    ("write", {"path": "conflict://1", "content": "@ours"}),
    ("write", {"path": "hard.txt", "content": "x"}),
    ("write", {"path": "link.zip:n.txt", "content": "x"}),
    ("write", {"path": "x.db:t:1", "content": '{"text": "new"}'}),
    ("write", {"path": "./://../../out/other.txt", "content": "x"}),
    ("write", {"path": "http://../../x", "content": "x"}),
    ("write", {"path": "local://notes.md", "content": "x"}),
    ("edit", {"input": PATCH}),
    ("bash", {"command": "echo hello"}),
]


class Syscall(NamedTuple):
    """A system call that changes something: what it does, and to which paths."""

    at: float
    what: str
    paths: list[str]


def syscalls(traces: list[Path]) -> list[Syscall]:
    """In the order of time. Threads share descriptors, so all traces are read together."""
    lines = sorted(_matches(traces), key=lambda match: float(match["at"]))
    opened: dict[str, str] = {}
    found: list[Syscall] = []
    for match in lines:
        name, arguments, at = match["name"], match["arguments"], float(match["at"])
        if name.startswith(("open", "creat")):
            target = unescape((match["opened"] or "").removesuffix("(deleted)"))
            if target:
                opened[match["result"]] = target
            paths = [target or text for text in _paths(arguments, opened)]
            writes = name == "creat" or WRITES.search(arguments)
            found.append(Syscall(at, "write" if writes else "read", paths))
        else:
            found.append(Syscall(at, name, _paths(arguments, opened)))
    return found


def _matches(traces: list[Path]) -> Iterator[re.Match[str]]:
    for trace in traces:
        for line in trace.read_text(errors="replace").splitlines():
            match = _LINE.match(line)
            if match is not None:
                yield match


def _paths(arguments: str, opened: dict[str, str]) -> list[str]:
    """The paths among the arguments; those by the number of a descriptor, as they really are."""
    paths = []
    for match in _ARGUMENT.finditer(arguments):
        text = unescape(match["text"])
        number = _BY_NUMBER.match(text)
        if number is not None:
            text = opened.get(number[1], "?") + text[number.end() :]
        folder = unescape(match["folder"] or "")
        paths.append(os.path.normpath(f"{folder}/{text}" if text[:1] != "/" else text))
    return paths


def unescape(text: str) -> str:
    """A path as it is: strace writes bytes beyond ASCII and controls as in C."""
    return os.fsdecode(text.encode().decode("unicode_escape").encode("latin-1"))


def _is_helper(argv: list[str]) -> bool:
    """Whether it is one of tau's own programs; the shell is the guard that ends leftover processes."""
    guard = argv[0] == "/bin/sh" and any("for mark; do" in word for word in argv)
    return guard or re.search(HELPERS, argv[0]) is not None


def is_allowed(path: str, declared: list[str], own: list[str]) -> bool:
    """A declared file, what is written beside it on the way, the folders to it, and tau's own files."""
    if path.startswith(("/dev/", "/proc/", "/memfd:", "anon_inode", "pipe:", "socket:", *own)):
        return True
    if path in declared or any(each.startswith(f"{path}/") for each in declared):
        return True
    folder, _, name = path.rpartition("/")
    in_place = any(folder == each.rpartition("/")[0] for each in declared)
    temporary = re.fullmatch(r"\.tau-\w+\.tmp|.+\.tau-backup-\w+", name) is not None
    return (in_place and temporary) or any(path.startswith(f"{each}-") for each in declared)


class Watched(NamedTuple):
    """What a session declared and answered, what it did, and what of that was not declared."""

    results: list[str]
    declared: list[dict[str, list[str]]]
    done: list[Syscall]
    broken: list[str]


def watch(trap: Trap, folder: Path, calls: list[tuple[str, dict[str, Any]]]) -> Watched:
    traces = folder / "traces"
    traces.mkdir()
    listed = folder / "calls.json"
    listed.write_text(json.dumps(calls))
    program = Path(__file__).with_name("traced_calls.py")
    command = ["strace", "-ff", "-ttt", "-y", "-s", "4096", "-e", f"trace={','.join(WATCHED)}"]
    command += ["-o", str(traces / "t"), sys.executable, "-B", str(program), str(trap.ws), str(listed)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=3 * HANG_S, cwd=Path.cwd())
    assert ran.returncode == 0, ran.stderr[-2000:]
    report = json.loads(ran.stdout)
    done = syscalls(sorted(traces.iterdir()))
    broken = []
    for number, declared in enumerate(report["declared"]):
        [begin] = [syscall.at for syscall in done if syscall.paths == [f"{BEGIN}{number}"]]
        end = max(syscall.at for syscall in done if syscall.paths == [f"{END}{number}"])
        window = [syscall for syscall in done if begin <= syscall.at <= end]
        broken += [
            f"call {number}: {syscall.what} {syscall.paths}, declared {declared}"
            for syscall in window
            if not is_declared(syscall, declared, trap)
        ]
    return Watched(report["results"], report["declared"], done, broken)


def is_declared(syscall: Syscall, declared: dict[str, list[str]], trap: Trap) -> bool:
    own = [os.environ["TAU_HOME"], os.environ["TMPDIR"]]
    if syscall.what == "execve":
        return bool(declared["runs"]) or _is_helper(syscall.paths)
    if syscall.what != "read":
        return all(is_allowed(path, declared["writes"], own) for path in syscall.paths)
    if declared["runs"]:  # undo looks at the workspace and at what was written
        return True
    paths = [*declared["reads"], *declared["writes"]]
    return all(
        not path.startswith(f"{trap.base}/")
        or is_allowed(path, paths, own)
        or any(path.startswith(f"{each}/") for each in paths)
        for path in syscall.paths
    )


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_no_call_does_more_than_it_declared(trap: Trap, tmp_path: Path) -> None:
    watched = watch(trap, tmp_path, CALLS)
    assert not watched.broken, "\n".join(watched.broken)
    refused = sum("scheme" in text or "web address" in text for text in watched.results)
    assert len(watched.declared) == len(CALLS) - 1, watched.results  # the web address is refused before
    assert refused == 2
    assert (trap.out / "added.txt").exists() and not (trap.ws / "a.txt").exists(), watched.results
    assert sum(syscall.what == "write" for syscall in watched.done) > len(CALLS) // 2


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_no_spelling_of_a_path_does_more_than_it_declared(trap: Trap, tmp_path: Path) -> None:
    paths = [text.replace("{base}", str(trap.base)) for text, _, _ in SPELLINGS]
    calls: list[tuple[str, dict[str, Any]]] = [("read", {"path": path}) for path in paths]
    calls += [("write", {"path": path, "content": '{"text": "new"}'}) for path in paths]
    watched = watch(trap, tmp_path, calls)
    assert not watched.broken, "\n".join(watched.broken)
    assert len(watched.declared) > 200 and len(watched.results) == len(calls)
