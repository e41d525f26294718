"""xterm.js as a second opinion: a Node process that plays recordings."""

import json
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.support.node_packages import XTERM, modules
from tests.tui.second_opinion.recording import Recording, Tape

SCRIPT = Path(__file__).parent / "replay.mjs"


class Xterm:
    """A running Node that answers one recording after the other."""

    def __init__(self) -> None:
        if shutil.which("node") is None:
            pytest.skip("node is not installed, so xterm.js cannot be asked")
        if not modules(XTERM).is_dir():
            pytest.skip("xterm.js is not there; python -m tests.support.node_packages fetches it")
        self._process = subprocess.Popen(
            ["node", str(SCRIPT), str(modules(XTERM))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def play(self, recording: Recording, *, reflow_cursor_line: bool = True) -> Tape:
        answer = self._ask(recording, looks=False, reflowCursorLine=reflow_cursor_line)
        rows = [row.rstrip(" ") for row in answer["tape"]]
        return Tape(rows, answer["history"], tuple(answer["cursor"]), answer["wrapped"])

    def looks(self, recording: Recording) -> list[list[tuple[int, str]]]:
        """For each row the columns where the look changes, with `fg|bg|attributes`."""
        return [[(x, look) for x, look in row] for row in self._ask(recording, looks=True)["looks"]]

    def play_all(self, recordings: Iterable[Recording]) -> list[Tape]:
        return [self.play(recording) for recording in recordings]

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def _ask(self, recording: Recording, **options: bool) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps({**recording._asdict(), **options}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "xterm.js gave no answer"
        answer = json.loads(line)
        assert "error" not in answer, answer["error"]
        return answer
