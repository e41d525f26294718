"""Mutation testing: breaks the source in one place at a time and checks whether a test fails.

    python tools/mutate.py --sample 100 --seed 1 [--path src/tau/agent ...]

Each mutant is applied to a private copy of the tree, whose interpreter imports that copy. The tests that
reach the mutated module by imports run nearest first; fault tests and the real program run last. A failure
counts as a kill only if the same test passes on the unmutated copy.

The draw is stable: it takes the mutants whose hashes come first, of the seed and of what they change, not of
where it stands. After an edit, the same seed still tries the mutants it tried before, except in the edited
expressions, so that tests can catch up with a sample; another seed then measures how many mutants the tests
kill that nobody has looked at.
"""

import argparse
import ast
import difflib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from mutants import Mutant, find_mutants

ROOT = Path(__file__).resolve().parent.parent
SCOPE = [f"src/tau/{name}" for name in ("agent", "coding/session", "coding/edits", "hashline", "base", "ai")]
COPIED = ("src", "tests", "docs", "bench", "tools", "editors", "pyproject.toml", "README.md", "CHANGELOG.md")
RUN_LAST = ("tests/faults/", "tests/e2e/")
NEVER_RUN = ("tests/shape/", "tests/bench/")  # they read the source and the clock
FILES_PER_RUN = 8
TEST_SECONDS = 30
RUN_SECONDS = 240
PASSED = (0, 5)  # 5: no tests collected
FAILED_TEST = re.compile(r"^(?:FAILED|ERROR) (\S+?\.py(?:::\w+)*)", re.MULTILINE)


class Imports:
    """The import graph. A string that names a module counts as an import: late imports are strings."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.files: dict[str, Path] = {}
        for base, package in ((root / "src", "tau"), (root, "tests")):
            for file in (base / package).rglob("*.py"):
                parts = file.relative_to(base).with_suffix("").parts
                self.files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
        self.users: dict[str, set[str]] = {name: set() for name in self.files}
        for name, file in self.files.items():
            for used in self.modules_named_in(ast.parse(file.read_bytes())):
                self.users[used].add(name)

    def modules_named_in(self, tree: ast.Module) -> Iterator[str]:
        for node in ast.walk(tree):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [f"{node.module}.{alias.name}" for alias in node.names] + [node.module]
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                names = [node.value]
            yield from (name for name in names if name in self.files)

    def order_tests(self, path: str) -> tuple[list[str], list[str]]:
        """Return the test files that reach the module at `path`, nearest first, and the remaining ones."""
        [start] = [name for name, file in self.files.items() if file == self.root / path]
        distances, edge = {start: 0}, {start}
        while edge:
            edge = {user for name in edge for user in self.users[name]} - distances.keys()
            distances |= dict.fromkeys(edge, max(distances.values()) + 1)
        home = Path("tests", *Path(path).parts[2:-1]).as_posix()
        ranks = []
        for name, file in self.files.items():
            test = file.relative_to(self.root).as_posix()
            is_last = test.startswith(RUN_LAST)
            if (
                file.name.startswith("test_")
                and not test.startswith(NEVER_RUN)
                and (is_last or name in distances)
            ):
                distance = distances.get(name, 99) - (1.5 if test.startswith(home) else 0)
                distance -= 2 if Path(path).stem in (*file.parts, file.stem.removeprefix("test_")) else 0
                ranks.append((is_last, distance, Path(path).stem not in file.stem, test))
        ranks.sort()
        return [rank[-1] for rank in ranks if not rank[0]], [rank[-1] for rank in ranks if rank[0]]


class Tree:
    """A private copy of the project, with a virtual environment that imports the copy."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(
                    ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "results")
                )
            else:
                shutil.copy2(ROOT / name, folder / name)
        venv.create(folder / ".venv", symlinks=True)
        self.python = str(folder / ".venv/bin/python")
        [packages] = (folder / ".venv/lib").glob("python*/site-packages")
        paths = [str(folder / "src"), *(path for path in sys.path if path.endswith("-packages"))]
        (packages / "tree.pth").write_text("\n".join(paths))
        program = folder / ".venv/bin/tau"
        program.write_text(f"#!{self.python}\nfrom tau.cli.main import main\n\nraise SystemExit(main())\n")
        program.chmod(0o755)
        (folder / "tmp").mkdir()
        imported = subprocess.check_output([self.python, "-c", "import tau; print(tau.__file__)"], text=True)
        if not Path(imported).is_relative_to(folder):
            sys.exit(f"The tests would import {imported.strip()} instead of the copy.")

    def write(self, path: str, source: bytes, version: int) -> None:
        """Write a version of a file, with a unique modification time so that stale bytecode is not loaded."""
        (self.folder / path).write_bytes(source)
        os.utime(self.folder / path, (version, version))

    def run_tests(self, tests: Sequence[str], deselected: Sequence[str]) -> tuple[int | None, str]:
        """Run pytest; returns its exit code (None if it timed out) and output."""
        options = ["-x", "-q", "-n0", f"--timeout={TEST_SECONDS}", "--inline-snapshot=disable", "--tb=short"]
        options += [f"--deselect={test}" for test in deselected]
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                [self.python, "-m", "pytest", *options, *tests],
                cwd=self.folder,
                env={**os.environ, "TMPDIR": str(self.folder / "tmp"), "MUTATED": str(self.folder)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            code = None
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(RUN_SECONDS)
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            kill_marked(f"MUTATED={self.folder}")
            process.wait()
            output.seek(0)
            return code, output.read().decode(errors="replace")


def kill_marked(mark: str) -> None:
    """Kill all processes with `mark` in their environment, since tests start processes in other groups."""
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has exited, or belongs to another user
            if mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                os.kill(int(entry.name), signal.SIGKILL)


@dataclass(frozen=True)
class Verdict:
    killed: bool
    reason: str
    output: str = ""


class Judge:
    """Runs tests on mutants, and knows which tests fail on the unmutated tree."""

    def __init__(self, trees: Sequence[Tree], budget_s: float) -> None:
        self.imports = Imports()
        self.budget_s = budget_s
        self.stopped = False
        self.trees = trees
        self.free: SimpleQueue[Tree] = SimpleQueue()
        for tree in trees:
            self.free.put(tree)
        self.passes: dict[str, bool] = {}

    def stop(self) -> None:
        self.stopped = True
        for tree in self.trees:
            kill_marked(f"MUTATED={tree.folder}")

    def judge(self, number: int, mutant: Mutant) -> Verdict:
        tree = self.free.get()
        try:
            return self.run_stages(tree, number, mutant)
        finally:
            tree.write(mutant.path, (ROOT / mutant.path).read_bytes(), 0)
            self.free.put(tree)

    def run_stages(self, tree: Tree, number: int, mutant: Mutant) -> Verdict:
        original = (ROOT / mutant.path).read_bytes()
        count = 0
        for stage in self.imports.order_tests(mutant.path):
            started = time.monotonic()
            while stage and time.monotonic() - started < self.budget_s and not self.stopped:
                files, stage = stage[:FILES_PER_RUN], stage[FILES_PER_RUN:]
                count += len(files)
                broken = [test for test, passes in list(self.passes.items()) if not passes]
                tree.write(mutant.path, mutant.apply(original), number)
                code, output = tree.run_tests(files, broken)
                if code in PASSED or self.stopped:
                    continue
                suspects = FAILED_TEST.findall(output) or files
                tree.write(mutant.path, original, 0)
                if all(self.check_unmutated(tree, test) for test in suspects):
                    reason = "time-out" if code is None or "Timeout" in output else " ".join(suspects)
                    return Verdict(True, reason, output)
                stage = [file for file in files if self.passes.get(file, True)] + stage  # without those tests
        return Verdict(False, f"{count} test files")

    def check_unmutated(self, tree: Tree, test: str) -> bool:
        if test not in self.passes:
            code, output = tree.run_tests([test], [])
            self.passes[test] = code in PASSED
            if code not in PASSED and not self.stopped:
                print(f"{test} does not pass on the unmutated tree:\n{output}", file=sys.stderr)
        return self.passes[test]


def report(number: int, mutant: Mutant, verdict: Verdict, *, in_full: bool) -> bool:
    place = f"{mutant.path.removeprefix('src/tau/')}:{mutant.line}"
    word = "killed" if verdict.killed else "SURVIVED"
    print(f"{word:8} {number:4} {place}  {mutant.change}  ({verdict.reason})", flush=True)
    if in_full:
        source = (ROOT / mutant.path).read_bytes()
        before, after = (text.decode().splitlines(keepends=True) for text in (source, mutant.apply(source)))
        print(*difflib.unified_diff(before, after, mutant.path, "mutant"), verdict.output, sep="")
    return verdict.killed


def main() -> int:
    parser = argparse.ArgumentParser(description="Break the source in one place at a time and run the tests.")
    parser.add_argument("--sample", type=int, default=100, metavar="N", help="how many mutants to try")
    parser.add_argument("--seed", type=int, default=1, help="which mutants to draw")
    parser.add_argument("--path", nargs="+", default=SCOPE, help="files and folders to mutate, from the root")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="mutants to try side by side")
    parser.add_argument(
        "--budget", type=float, default=120, metavar="SECONDS", help="test time per mutant and stage"
    )
    parser.add_argument("--list", action="store_true", help="show the mutants without running tests")
    parser.add_argument(
        "--only", type=int, nargs="+", metavar="N", help="these mutants of the sample, with diffs"
    )
    arguments = parser.parse_args()

    found = find_mutants(ROOT, arguments.path)
    drawn = sorted(found, key=lambda mutant: mutant.rank(arguments.seed))[: arguments.sample]
    chosen = {n: mutant for n, mutant in enumerate(drawn, 1) if not arguments.only or n in arguments.only}
    if not chosen:
        parser.error("there is nothing to mutate")
    print(f"{len(chosen)} of {len(found)} mutants, seed {arguments.seed}", flush=True)
    if arguments.list:
        for number, mutant in chosen.items():
            print(f"{number:4} {mutant.path}:{mutant.line}  {mutant.change}")
        return 0

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="mut-", ignore_cleanup_errors=True) as folder:
        trees = [Tree(Path(folder) / str(job)) for job in range(arguments.jobs)]
        judge = Judge(trees, arguments.budget)
        with ThreadPoolExecutor(arguments.jobs) as pool:
            runs = {pool.submit(judge.judge, *numbered): numbered for numbered in chosen.items()}
            try:
                killed = sum(
                    report(*runs[done], done.result(), in_full=bool(arguments.only))
                    for done in as_completed(runs)
                )
            except KeyboardInterrupt:
                judge.stop()
                return 130
    print(f"{killed} of {len(chosen)} killed ({100 * killed / len(chosen):.0f} %)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
