"""What a start imports: the budget is counted in modules, which do not depend on the machine."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
before = set(sys.modules)
listing = sys.argv.pop(1)
sys.argv[0] = "tau"
from tau.cli.main import main
try:
    code = main()
except SystemExit as ended:
    code = ended.code
names = sorted(set(sys.modules) - before)
import json
with open(listing, "w") as file:
    json.dump({"code": code, "modules": names}, file)
"""

DEAR = {
    "asyncio",
    "msgspec",
    "httptools",
    "ssl",
    "socket",
    "http",
    "argparse",
    "json",
    "re",
    "pathlib",
    "typing",
    "logging",
}


def modules_of(folder: Path, *arguments: str) -> set[str]:
    """The modules that a run of tau adds to those of the bare interpreter."""
    listing = folder / "modules.json"
    command = [sys.executable, "-c", PROGRAM, str(listing), *arguments]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert listing.exists(), run.stderr
    found = json.loads(listing.read_text())
    assert found["code"] in (0, None), run.stderr
    return set(found["modules"])


@pytest.mark.parametrize(
    ("arguments", "most"),
    [(["--version"], 3), (["--help"], 6), (["completions", "bash"], 6), (["completions", "fish"], 6)],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_needs_nothing_imports_next_to_nothing(tmp_path: Path, arguments: list[str], most: int) -> None:
    found = modules_of(tmp_path, *arguments)
    assert not found & DEAR
    assert len(found) <= most, sorted(found)
