"""Runs the static checks in parallel and shows the output of those that fail."""

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent  # not resolved: the programs are next to the link in .venv

CHECKS = {
    "formatting": ["ruff", "format", "--check", "."],
    "lint": ["ruff", "check", "."],
    "types": ["mypy"],
    "import contracts": ["lint-imports"],
}


def main() -> int:
    started = time.monotonic()
    running = {
        name: subprocess.Popen(
            [str(BIN / command[0]), *command[1:]],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for name, command in CHECKS.items()
    }
    failed = []
    for name, process in running.items():
        output, _ = process.communicate()
        if process.returncode != 0:
            failed.append(name)
            print(f"{name} ({' '.join(CHECKS[name])}):\n{output}", file=sys.stderr)
    if failed:
        print(
            f"Failed: {', '.join(failed)}. `make format` fixes what can be fixed automatically.",
            file=sys.stderr,
        )
        return 1
    print(f"{', '.join(CHECKS)}: ok ({time.monotonic() - started:.1f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
