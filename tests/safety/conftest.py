"""A copy of the trap for each test."""

from pathlib import Path

import pytest

from tests.safety.effects_rig import Trap, copy_of


@pytest.fixture(scope="session")
def trap_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Trap(tmp_path_factory.mktemp("trap") / "base").base


@pytest.fixture
def trap(trap_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trap:
    trap = copy_of(trap_template, tmp_path / "base")
    monkeypatch.setenv("HOME", str(trap.home))
    monkeypatch.setenv("TAU_HOME", str(trap.home / ".tau" / "agent"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))  # which is in the workspace
    monkeypatch.chdir(trap.out)
    return trap
