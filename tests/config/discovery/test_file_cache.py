"""Unchanged files are not read again, and a damaged cache costs only time."""

import os
from pathlib import Path

import pytest

from tau.config.discovery import file_cache
from tau.config.discovery.file_cache import FileCache


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that were read."""
    found: list[str] = []
    original = file_cache.read_text

    def read_text(path: Path, info: os.stat_result | None = None) -> str:
        found.append(path.name)
        return original(path, info)

    monkeypatch.setattr(file_cache, "read_text", read_text)
    return found


def look(cache: FileCache, path: Path) -> str:
    return str(cache.head(str(path), path.stat()).fields.get("description", ""))


def put(path: Path, text: str) -> None:
    path.write_text(f"---\ndescription: {text}\n---\nBody")


def test_second_start_reads_no_unchanged_file(tmp_path: Path, reads: list[str]) -> None:
    put(tmp_path / "a.md", "one")
    for _ in range(2):
        cache = FileCache(tmp_path / "cache" / "heads.json")
        assert look(cache, tmp_path / "a.md") == "one"
        cache.save()
    assert reads == ["a.md"]


@pytest.mark.parametrize("change", ["size", "time", "inode"])
def test_changed_file_is_read_again(tmp_path: Path, reads: list[str], change: str) -> None:
    path = tmp_path / "a.md"
    put(path, "one")
    cache = FileCache(tmp_path / "heads.json")
    look(cache, path)
    before = path.stat()
    if change == "inode":
        put(tmp_path / "b.md", "two")
        (tmp_path / "b.md").replace(path)
    else:
        put(path, "two" if change == "time" else "other")
    if change != "time":
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    else:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert look(cache, path) in ("two", "other") and len(reads) == 2


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff\xfe", b'{"x": [1]}', b"[" * 100_000, b'{"a.md": 7}'])
def test_damaged_cache_is_rebuilt(tmp_path: Path, reads: list[str], damage: bytes) -> None:
    put(tmp_path / "a.md", "one")
    (tmp_path / "heads.json").write_bytes(damage)
    for _ in range(2):
        cache = FileCache(tmp_path / "heads.json")
        assert look(cache, tmp_path / "a.md") == "one"
        cache.save()
    assert reads == ["a.md"]


def test_cache_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    put(tmp_path / "a.md", "one")
    (tmp_path / "file").write_text("")
    cache = FileCache(tmp_path / "file" / "heads.json")
    assert look(cache, tmp_path / "a.md") == "one"
    cache.save()
    assert (tmp_path / "file").read_text() == ""


def test_number_of_entries_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_cache, "MAX_ENTRIES", 3)
    cache = FileCache(tmp_path / "heads.json")
    for number in range(5):
        put(tmp_path / f"{number}.md", "x")
        look(cache, tmp_path / f"{number}.md")
    cache.save()
    text = (tmp_path / "heads.json").read_text()
    assert "4.md" in text and "1.md" not in text
