"""`tau github`: what is kept of issues and pull requests."""

import json
from pathlib import Path

import pytest

from tau.backends.github.names import parse_repository
from tau.cli import github_command
from tau.coding.github.cache import ThreadCache, ThreadKey, cache_file
from tau.config.paths import user_paths
from tau.config.tool_settings import GithubSettings


def test_the_cache_is_counted_and_cleared(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GH_TOKEN", "x")
    cache = ThreadCache(cache_file(user_paths()), GithubSettings())
    for number in (1, 2):
        cache.put(ThreadKey(parse_repository("o/r"), "issue", number), "text", b"{}")
    assert github_command.run(["cache", "stats"]) == 0
    assert "      2  issues" in capfd.readouterr().out
    assert github_command.run(["cache", "stats", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["rows"] == {"issue": 2}
    monkeypatch.delenv("GH_TOKEN")  # another login's rows go too
    assert github_command.run(["cache", "clear"]) == 0
    assert capfd.readouterr().out == "2 cached pages deleted.\n"
    assert cache.stats().rows == {}


def test_the_cache_can_be_elsewhere(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAU_GITHUB_CACHE_DB", str(tmp_path / "own.db"))
    github_command.run(["cache", "stats"])
    assert "own.db: 0 bytes" in capfd.readouterr().out
