"""tmux as a second opinion: a private server, whose pane is written to like by a program in it."""

import os
import select
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.tui.second_opinion.recording import Recording, Tape

ANSWER_SECONDS = 20
# tmux sets up the terminal of a pane late: the program in it has to say when that is done.
PROGRAM = "stty raw -echo && tmux wait-for -S ready && exec sleep 1000"
SETTINGS = """
set -g status off
set -g history-limit 50000
set -g default-terminal tmux-256color
set -g escape-time 0
"""


class Tmux:
    """A server on a private socket. `close` ends it and what runs in it."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("tmux") is None:
            pytest.skip("tmux is not installed")
        settings = folder / "tmux.conf"
        settings.write_text(SETTINGS)
        self._command = ["tmux", "-u", "-S", str(folder / "tmux.sock"), "-f", str(settings)]
        self._run("new-session", "-d", "-s", "hold-open", "sleep 1000")

    def play(self, recording: Recording, *, joined: bool = False) -> Tape:
        """A pane of that size after the recording; `joined`: rows that it wrapped are one."""
        size = ["-x", str(recording.columns), "-y", str(recording.rows)]
        self._run("new-session", "-d", "-s", "play", *size, PROGRAM)
        try:
            self._run("wait-for", "ready")
            # A session without a client takes the size of the last client, unless told otherwise.
            self._run("resize-window", "-t", "play", *size)
            return self._play(recording, ["-J"] if joined else [])
        finally:
            self._run("kill-session", "-t", "play")

    def _play(self, recording: Recording, options: list[str]) -> Tape:
        pane = os.open(
            self._run("display", "-p", "-t", "play", "#{pane_tty}").strip(), os.O_RDWR | os.O_NOCTTY
        )
        try:
            cursor = self._write(pane, "")
            for event in recording.events:
                match event:
                    case ("write", str(text)):
                        cursor = self._write(pane, text)
                    case ("resize", int(columns), int(rows)):
                        self._run("resize-window", "-t", "play", "-x", str(columns), "-y", str(rows))
                        cursor = self._write(pane, "")
        finally:
            os.close(pane)
        rows = self._run("capture-pane", "-p", *options, "-t", "play", "-S", "-").split("\n")[:-1]
        history = int(self._run("display", "-p", "-t", "play", "#{history_size}"))
        return Tape([row.rstrip(" ") for row in rows], history, cursor, [])

    def _write(self, pane: int, text: str) -> tuple[int, int]:
        """Write, query the cursor, and wait for the answer: by then everything is on the screen."""
        data = (text + "\x1b[6n").encode()
        while data:
            data = data[os.write(pane, data) :]
        answer = b""
        while not answer.endswith(b"R"):
            assert select.select([pane], [], [], ANSWER_SECONDS)[0], "tmux did not answer"
            answer += os.read(pane, 100)
        row, column = answer.rpartition(b"[")[2][:-1].split(b";")
        return int(row) - 1, int(column) - 1

    def close(self) -> None:
        subprocess.run([*self._command, "kill-server"], capture_output=True, check=False)

    def _run(self, *arguments: str) -> str:
        done = subprocess.run(
            [*self._command, *arguments],
            capture_output=True,
            encoding="utf-8",
            timeout=ANSWER_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout
