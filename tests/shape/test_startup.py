"""What startup imports: the budget is counted in modules, which do not depend on the machine."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tau.coding.tools.registry import TOOLS
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
# Never needed by one prompt: each costs milliseconds in every run of every user.
NEVER = {
    *("argparse", "difflib", "email", "hashlib", "http.client", "importlib.metadata", "json", "json_repair"),
    *("encodings.idna", "stringprep", "unicodedata", "wcwidth"),
    *("jiter", "multiprocessing", "sqlite3", "tempfile", "urllib.request", "xllamacpp", "zipfile"),
    *("tau.ai.apis.anthropic_messages", "tau.ai.faux", "tau.ai.local.embedded", "tau.ai.local.weights"),
    *("tau.cli.completions", "tau.cli.help", "tau.modes.console", "tau.modes.json"),
}


# How many modules one prompt may import from each folder, and for what. A package counts as a module.
BUDGET = {
    "tau": (1, "the package"),
    "cli": (11, "flags to a mode"),
    "modes": (6, "print mode, its output and exit status"),
    "sdk": (6, "composition"),
    "coding": (
        50,
        "ports, permissions, plan, jobs, todo, files, what tools import to describe themselves; stream rules,"
        " in two modules, which load the rest when a file is written",
    ),
    "coding/session": (28, "a session and its log; retry, titles, compaction and navigation load when used"),
    "coding/tools": (len(TOOLS), "the tools of a request, each one module, and the registry"),
    "backends": (8, "what a session may start, not what runs it"),
    "agent": (16, "the loop and its ports"),
    "config": (
        16,
        "settings, credentials, the places that trust looks at; which folders of other agents exist, so that"
        " nothing else of discovery is imported if there are none",
    ),
    "ai": (24, "the client, one dialect, the catalog"),
    "hashline": (2, "the prompt of edit; the parser loads with the first edit"),
    "base": (14, "files, JSON lines, errors, logging, masking, and the search for bash"),
    "libraries": (133, "asyncio, msgspec, httptools and what they import; differs between Python versions"),
}


def modules_of(folder: Path, *arguments: str) -> set[str]:
    """The modules a run of tau adds to the bare interpreter; built-in ones cost nothing."""
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
def test_trivial_commands_import_almost_nothing(tmp_path: Path, arguments: list[str], most: int) -> None:
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
    counts = Counter(area_of(name) for name in found)
    unknown = sorted(set(counts) - set(BUDGET))
    assert not unknown, f"{unknown} have no budget yet: add one to BUDGET, with its reason"
    over = {area: (count, BUDGET[area][0]) for area, count in counts.items() if count > BUDGET[area][0]}
    assert not over, f"{over} (modules, budget): {sorted(name for name in found if area_of(name) in over)}"


def test_first_paint_waits_for_no_session() -> None:
    program = "import sys, tau.cli.interactive; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    found = set(run.stdout.split())
    assert "tau.modes.interactive.early_screen" in found
    assert not found & {"asyncio", "ssl", "socket", "tau.agent", "tau.coding"}


def test_first_paint_loads_only_what_it_shows(tmp_path: Path) -> None:
    """Users wait for these: no tables of characters, no settings screen, nothing that reads the network."""
    program = """
import os, pty, sys
from pathlib import Path
ours, theirs = pty.openpty()
os.dup2(theirs, 0)
out, _ = os.dup(1), os.dup2(theirs, 1)
from tau.cli.interactive import open_front
from tau.config.layers import load_settings
from tau.config.paths import user_paths
settings = load_settings(user_paths(), Path.cwd()).settings
front, loop = open_front(settings, user_paths(), Path.cwd())
os.write(out, " ".join(sys.modules).encode())
front.close()
"""
    home = Path(os.environ["TAU_HOME"])
    home.mkdir(parents=True)
    (home / "settings.json").write_text('{"titles.enabled": false, "display": {"tabWidth": 8}}')
    command = [sys.executable, "-c", program]
    run = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=True, env={**os.environ, "TERM": "xterm"}
    )
    found = set(run.stdout.split())
    assert "tau.tui.terminal.active_terminal" in found
    assert not found & {"asyncio", "unicodedata", "wcwidth", "tau.base.hidden_text", "socket"}
    ours = sorted(name for name in found if name.partition(".")[0] == "tau")
    assert len(ours) <= 96, ours


def area_of(name: str) -> str:
    """The folder a module counts for; everything that is not ours is "libraries"."""
    parts = name.split(".")
    if parts[0] != "tau":
        return "libraries"
    if parts[1:2] == ["coding"] and parts[2:3] in (["session"], ["tools"]):
        return f"coding/{parts[2]}"
    return parts[1] if len(parts) > 1 else "tau"
