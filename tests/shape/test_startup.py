"""What a start imports: the budget is counted in modules, which do not depend on the machine."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.fake_server import FakeServer

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

NOTHING_OF = {
    *("asyncio", "msgspec", "httptools", "ssl", "socket", "http", "logging"),
    *("argparse", "json", "re", "pathlib", "typing", "enum"),
}
# What one prompt never needs: each costs milliseconds in every run of every user.
NEVER = {
    *("argparse", "difflib", "email", "hashlib", "http.client", "importlib.metadata", "json", "json_repair"),
    *("jiter", "multiprocessing", "sqlite3", "tempfile", "urllib.request", "xllamacpp", "zipfile"),
    *("tau.ai.apis.anthropic_messages", "tau.ai.faux", "tau.ai.local.embedded", "tau.ai.local.weights"),
    *("tau.cli.completions", "tau.cli.help", "tau.modes.console", "tau.modes.json"),
}


def modules_of(folder: Path, *arguments: str) -> set[str]:
    """The modules that a run of tau adds to those of the bare interpreter; what is built in costs nothing."""
    listing = folder / "modules.json"
    command = [sys.executable, "-c", PROGRAM, str(listing), *arguments]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert listing.exists(), run.stderr
    found = json.loads(listing.read_text())
    assert found["code"] in (0, None), run.stderr
    return set(found["modules"]) - set(sys.builtin_module_names)


@pytest.mark.parametrize(
    ("arguments", "most"),
    [(["--version"], 6), (["--help"], 9), (["completions", "bash"], 9), (["completions", "fish"], 9)],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_needs_nothing_imports_next_to_nothing(tmp_path: Path, arguments: list[str], most: int) -> None:
    found = modules_of(tmp_path, *arguments)
    assert not sorted(found & NOTHING_OF)
    assert len(found) <= most, sorted(found)


def test_one_prompt_imports_what_it_needs(tmp_path: Path) -> None:
    with FakeServer() as server:
        server.script("hello")
        home = Path(os.environ["TAU_HOME"])
        home.mkdir(parents=True)
        provider = {
            "baseUrl": f"{server.url}/v1",
            "api": "openai-completions",
            "apiKey": "x",
            "models": [{"id": "m"}],
        }
        (home / "models.json").write_text(json.dumps({"providers": {"fake": provider}}))
        found = modules_of(tmp_path, "--provider", "fake", "--model", "m", "-p", "hi")
    assert "tau.modes.print" in found
    assert not sorted(found & NEVER)
    ours = {name for name in found if name.split(".")[0] == "tau"}
    assert len(ours) <= 190, sorted(ours)
    assert len(found) <= 323, sorted(found)  # those of the standard library differ between versions
