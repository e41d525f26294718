"""Prints what `tau -p hi` imports, slowest module first: `bench/imports.py [--tree] [TAU ARGUMENTS]`.

`--tree` shows which module imported which. Arguments replace `-p hi`, as in `bench/imports.py --version`.
"""

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from fake import FakeServer
from subjects import tau

SHOWN = 40


@dataclass(frozen=True)
class Import:
    name: str
    depth: int
    self_us: int
    total_us: int

    def line(self, indent: str = "") -> str:
        return f"{self.total_us / 1000:8.1f} {self.self_us / 1000:8.1f}  {indent}{self.name}"


def parse(text: str) -> list[Import]:
    """Parse the output of `-X importtime`, in the order in which the imports finished."""
    found = []
    for line in text.splitlines():
        if line.startswith("import time:") and "self [us]" not in line:
            self_us, total_us, name = line.removeprefix("import time:").split("|")
            depth = (len(name) - len(name.lstrip()) - 1) // 2
            found.append(Import(name.strip(), depth, int(self_us), int(total_us)))
    return found


def tree(imports: list[Import]) -> str:
    """Format each module below its importer, slowest branch first."""
    lines: list[str] = []

    def write(group: list[tuple[Import, list[Import]]]) -> None:
        for one, below in sorted(group, key=lambda pair: -pair[0].total_us):
            lines.append(
                f"{one.total_us / 1000:8.1f} {one.self_us / 1000:8.1f}  {'  ' * one.depth}{one.name}"
            )
            write(grouped(below, one.depth + 1))

    write(grouped(imports, 0))
    return "\n".join(lines)


def grouped(imports: list[Import], depth: int) -> list[tuple[Import, list[Import]]]:
    """Group imports by parent; children precede their parent in the interpreter's output."""
    groups: list[tuple[Import, list[Import]]] = []
    below: list[Import] = []
    for one in imports:
        if one.depth == depth:
            groups.append((one, below))
            below = []
        else:
            below.append(one)
    return groups


def record(arguments: list[str]) -> str:
    with tempfile.TemporaryDirectory(prefix="tau-bench-") as folder, FakeServer() as server:
        subject = tau().settle(Path(folder) / "tau", server.url)
        server.script(scenario="hello")
        program, *usual = subject.command
        command = [sys.executable, "-X", "importtime", program, *(arguments or usual)]
        run = subprocess.run(command, env=subject.env, cwd=subject.work, capture_output=True, text=True)
    if run.returncode != 0:
        raise SystemExit(run.stdout + run.stderr)
    return run.stderr


def main() -> int:
    arguments = sys.argv[1:]
    imports = parse(record([argument for argument in arguments if argument != "--tree"]))
    print("   total     self  milliseconds; the profiler slows all of it down, so compare, do not add up")
    if "--tree" in arguments:
        print(tree(imports))
    else:
        for one in sorted(imports, key=lambda one: -one.self_us)[:SHOWN]:
            print(one.line())
    ours = [one for one in imports if one.name.split(".")[0] == "tau"]
    print(f"{len(imports)} modules, {sum(one.self_us for one in imports) / 1000:.1f} ms; ", end="")
    print(f"of tau itself {len(ours)} modules, {sum(one.self_us for one in ours) / 1000:.1f} ms")
    return 0


if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.exit(main())
