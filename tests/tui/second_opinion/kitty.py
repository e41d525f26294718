"""kitty as a second opinion: its own screen, without a window, in its own Python."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.tui.second_opinion.recording import Recording

SCRIPT = Path(__file__).parent / "kitty_replay.py"


def play_in_kitty(recordings: list[Recording]) -> list[list[str]]:
    """All rows after each recording; rows that kitty wrapped are one."""
    if shutil.which("kitty") is None:
        pytest.skip("kitty is not installed, so it cannot be asked")
    jobs = json.dumps([recording._asdict() for recording in recordings])
    played = subprocess.run(
        ["kitty", "+launch", str(SCRIPT)], input=jobs, capture_output=True, text=True, check=True
    )
    return [text.split("\n") for text in json.loads(played.stdout)]
