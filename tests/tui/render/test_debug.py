"""The log of frames."""

from pathlib import Path

import pytest

from tau.base import log
from tests.tui.render.render_rig import RenderRig


def test_each_frame_is_logged_with_its_ledger_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAU_DEBUG_REDRAW", "1")
    log.to(tmp_path)
    rig = RenderRig().start()
    rig.say(1, 20)
    log.to(None)
    lines = (tmp_path / "tau.log").read_text().splitlines()
    assert len(lines) == 2
    assert "redraw first full 30x8 C=0 W=0 B=0 L=3 chunk=0..0" in lines[0]
    assert "redraw update rewrite 30x8 C=15 W=15 B=20 L=23 chunk=0..15" in lines[1]


def test_nothing_is_logged_otherwise(tmp_path: Path) -> None:
    log.to(tmp_path)
    RenderRig().start().say(1, 20)
    log.to(None)
    assert not (tmp_path / "tau.log").exists()
