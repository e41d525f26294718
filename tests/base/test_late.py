"""Modules imported when first needed."""

import sys
from pathlib import Path

import pytest

from tau.base.late import late


def test_late_module_is_imported_on_first_use_and_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "heavy_module.py").write_text("loaded = []\nanswer = 42\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    heavy = late("heavy_module")
    assert "heavy_module" not in sys.modules
    assert heavy.answer == 42
    del sys.modules["heavy_module"]
    assert heavy.answer == 42
    assert "heavy_module" not in sys.modules
    with pytest.raises(AttributeError):
        _ = heavy.nothing
