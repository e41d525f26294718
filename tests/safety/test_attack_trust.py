"""Scripts that a trusted command names: whatever takes their place asks again."""

import json
import os
from pathlib import Path

import pytest

from tau.config.paths import user_paths
from tau.config.trust import TrustStore
from tau.config.trust_scan import MAX_SCRIPTS


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    user_paths().home.mkdir(parents=True)
    return tmp_path


def name_server(project: Path, command: str, *args: str, **more: str) -> None:
    server = {"command": command, "args": list(args), **more}
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"x": server}}))


@pytest.mark.parametrize("way", ["link", "broken link", "pipe"])
def test_script_that_becomes_something_else_is_not_trusted(project: Path, tmp_path: Path, way: str) -> None:
    name_server(project, "./server.sh")
    script = project / "server.sh"
    script.write_text("#!/bin/sh\n")
    store = TrustStore(user_paths())
    assert store.trust(project).trusted
    script.unlink()
    if way == "pipe":
        os.mkfifo(script)
    else:
        script.symlink_to("/bin/sh" if way == "link" else tmp_path.parent / "not-there-yet")
    status = store.status(project)
    assert not status.trusted and "server.sh" in status.problems[0]


@pytest.mark.parametrize("name", ["my server.sh", "run,it.sh", "a$b.sh", "a=b.sh", "(x).sh"])
def test_script_with_an_odd_name_is_covered(project: Path, name: str) -> None:
    name_server(project, f"./{name}")
    (project / name).write_text("one\n")
    store = TrustStore(user_paths())
    assert store.trust(project).trusted
    (project / name).write_text("two\n")
    assert not store.status(project).trusted


def test_script_in_the_folder_of_a_server_is_covered(project: Path) -> None:
    name_server(project, "./server.sh", cwd="tools")
    (project / "tools").mkdir()
    (project / "tools/server.sh").write_text("one\n")
    store = TrustStore(user_paths())
    assert store.trust(project).trusted
    (project / "tools/server.sh").write_text("two\n")
    assert not store.status(project).trusted


def test_too_many_scripts_are_not_trusted_in_part(project: Path) -> None:
    names = [f"s{number}.sh" for number in range(MAX_SCRIPTS + 1)]
    for name in names:
        (project / name).write_text("")
    name_server(project, "sh", *names)
    assert TrustStore(user_paths()).status(project).problems
