"""The temporary folder belongs to the workspace only if nobody else can change it."""

from pathlib import Path

import pytest

import tau
from tau.ai.faux import Faux, Say, Use


@pytest.mark.parametrize(
    ("mode", "is_written"), [(0o700, True), (0o777, False), (0o1777, False), (0o770, False)]
)
def test_only_a_private_temporary_folder_is_part_of_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, is_written: bool
) -> None:
    work, temporary = tmp_path / "work", tmp_path / "temporary"
    work.mkdir()
    temporary.mkdir()
    temporary.chmod(mode)
    monkeypatch.setenv("TMPDIR", str(temporary))
    script = [[Use("write", path=str(temporary / "x"), content="text")], [Say("ok")]]
    tau.run_sync("go", tau.SessionOptions(cwd=work, stream=Faux(script).stream, save=False))
    assert (temporary / "x").exists() is is_written
