"""What Git reads in the config of a new repository is what the guard judges."""

import os
import subprocess
from pathlib import Path

import pytest

from tau.backends.sandbox.git_config import is_harmless, keep_harmless
from tests.safety.sandbox_rig import GIT_ENV

HIDING = {
    "after a comment": "[core]\n\tbare = false\n# x\\\n\tfsmonitor = evil\n",
    "after a comment with ;": "[core]\n\tbare = false\n; x\\\r\n\tfsmonitor = evil\r\n",
    "after a comment behind a value": "[core]\n\tbare = false # x\\\n\tfsmonitor = evil\n",
    "after an escaped backslash": '[branch "a"]\n\tdescription = x\\\\\n[core] fsmonitor = evil\n',
    "transport in quotes": '[remote "a"]\n\turl = e"x"t::evil\n',
}


def git_reads(config: Path) -> str:
    words = ["git", "config", "--file", str(config), "--list"]
    return subprocess.run(words, env={**os.environ, **GIT_ENV}, capture_output=True, text=True).stdout


@pytest.mark.parametrize("way", HIDING)
def test_no_setting_hides_from_the_guard(tmp_path: Path, way: str) -> None:
    config = tmp_path / "config"
    config.write_bytes(HIDING[way].encode())
    assert "evil" in git_reads(config)
    assert not is_harmless(HIDING[way])
    config.write_text(keep_harmless(HIDING[way]))
    assert "evil" not in git_reads(config)


def test_settings_on_several_lines_are_not_harmless() -> None:
    assert not is_harmless('[remote "a"]\n\turl = ex\\\nt::evil\n')
    assert is_harmless('# a comment \\\n[remote "a"]\n\turl = https://example.com/x\n')
