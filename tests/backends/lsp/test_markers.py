"""The quick look at a folder never hides a server that the table or a file would give it."""

import json
from pathlib import Path

import pytest

from tau.backends.lsp import markers
from tau.backends.lsp.markers import CONFIG_NAMES, PROJECT_FOLDERS, TABLE, may_have_servers
from tau.config.paths import Paths

SERVERS = json.loads(TABLE.read_text())["servers"]
MARKERS = sorted({marker for row in SERVERS.values() for marker in row["rootMarkers"]})


@pytest.mark.parametrize("marker", MARKERS)
def test_each_marker_of_the_table_is_seen(tmp_path: Path, marker: str) -> None:
    path = tmp_path / marker.replace("*", "some name")
    path.parent.mkdir(exist_ok=True)
    path.touch()
    assert may_have_servers(tmp_path, Paths(tmp_path / "home"))


@pytest.mark.parametrize("name", [*CONFIG_NAMES, *PROJECT_FOLDERS])
def test_files_that_define_servers_are_seen_in_the_folder_and_the_repository(
    tmp_path: Path, name: str
) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / name).touch()
    assert may_have_servers(tmp_path, Paths(tmp_path / "home"))
    assert may_have_servers(inner, Paths(tmp_path / "home"))


@pytest.mark.parametrize("name", CONFIG_NAMES)
def test_the_users_files_are_seen(tmp_path: Path, name: str) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / name).touch()
    (tmp_path / "work").mkdir()
    assert may_have_servers(tmp_path / "work", Paths(tmp_path / "home"))


def test_folder_of_notes_has_no_servers_and_a_huge_one_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("notes.md", "main.py", ".git", "no suffix", "trailing."):
        (tmp_path / name).touch()
    assert not may_have_servers(tmp_path, Paths(tmp_path / "home"))
    assert not may_have_servers(tmp_path / "missing", Paths(tmp_path / "home"))
    monkeypatch.setattr(markers, "MAX_CHECKED", 3)
    assert may_have_servers(tmp_path, Paths(tmp_path / "home"))
