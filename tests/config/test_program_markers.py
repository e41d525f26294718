"""The quick look at a folder never hides a program that the table or a file would give it."""

import json
from pathlib import Path

import pytest

from tau.backends import dap, lsp
from tau.config import program_markers
from tau.config.paths import Paths
from tau.config.program_markers import PROJECT_FOLDERS, definition_names, may_have_programs

SERVERS = json.loads(lsp.TABLE.read_text())["servers"]
ADAPTERS = json.loads(dap.TABLE.read_text())
MARKERS = sorted(
    {
        *((lsp.TABLE, marker) for row in SERVERS.values() for marker in row["rootMarkers"]),
        *((dap.TABLE, marker) for row in ADAPTERS.values() for marker in row["rootMarkers"]),
    }
)


def has_servers(folder: Path, home: Path, table: Path = lsp.TABLE) -> bool:
    return may_have_programs(table, "lsp", folder, Paths(home))


@pytest.mark.parametrize(("table", "marker"), MARKERS)
def test_each_marker_of_the_tables_is_seen(tmp_path: Path, table: Path, marker: str) -> None:
    path = tmp_path / marker.replace("*", "some name")
    path.parent.mkdir(exist_ok=True)
    path.touch()
    assert has_servers(tmp_path, tmp_path / "home", table)


@pytest.mark.parametrize("name", [*definition_names("lsp"), *PROJECT_FOLDERS])
def test_files_that_define_servers_are_seen_in_the_folder_and_the_repository(
    tmp_path: Path, name: str
) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / name).touch()
    assert has_servers(tmp_path, tmp_path / "home")
    assert has_servers(inner, tmp_path / "home")


@pytest.mark.parametrize("name", definition_names("lsp"))
def test_the_users_files_are_seen(tmp_path: Path, name: str) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / name).touch()
    (tmp_path / "work").mkdir()
    assert has_servers(tmp_path / "work", tmp_path / "home")


def test_folder_of_notes_has_no_servers_and_a_huge_one_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("notes.md", "main.py", ".git", "no suffix", "trailing."):
        (tmp_path / name).touch()
    assert not has_servers(tmp_path, tmp_path / "home")
    assert not has_servers(tmp_path / "missing", tmp_path / "home")
    monkeypatch.setattr(program_markers, "MAX_CHECKED", 3)
    assert has_servers(tmp_path, tmp_path / "home")
