"""Captures docs/images/tui-gallery-*.txt: the gallery in a real terminal (tmux).

Needs tmux: `python tools/gallery/captures.py [FOLDER]`; the default folder is docs/images.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COLUMNS, ROWS = 90, 40
WAIT_SECONDS = 20.0

# name: the filter text to type, the keys to press, and a text that must then be on screen
SCENES: dict[str, tuple[str, tuple[str, ...], str]] = {
    "start": ("", (), "text/plain:"),
    "select-list": ("select groups", ("Enter", "Down", "Down"), "Leek soup"),
    "select-list-filtered": ("select filtered", (), "Lentil stew"),
    "settings-list": ("settings groups", ("Enter", "Enter", "Down"), "Auto-compact  off"),
    "settings-list-refused": ("settings refused", (), "The minimum is 1."),
    "tab-bar": ("tab-bar last", (), "Another tab 5"),
    "toast": ("toast", (), "no space is left"),
    "editor": ("editor lines", ("Enter",), "Dear reader"),
    "editor-completing": ("completing", (), "/compact"),
    "markdown": ("markdown prose", (), "markdown/prose:"),
    "diff": ("diff words", (), "diff/words:"),
    "overlay": ("overlay", (), "Over the first."),
    "image-text": ("image text", (), "[image: a chart"),
    "keys": ("", ("C-g",), "Move the cursor up"),
}


class Tmux:
    """A private tmux server with one pane."""

    def __init__(self, socket: str, command: str) -> None:
        self._socket = socket
        self._run(
            "-f", "/dev/null", "new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), "-s", "g", command
        )

    def _run(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, *words], check=True, capture_output=True, encoding="utf-8"
        )
        return done.stdout

    def type(self, text: str) -> None:
        if text:
            self._run("send-keys", "-t", "g", "-l", text)

    def press(self, *keys: str) -> None:
        for key in keys:
            self._run("send-keys", "-t", "g", key)

    def screen(self) -> str:
        rows = self._run("capture-pane", "-p", "-t", "g").splitlines()
        return "\n".join(row.rstrip() for row in rows).rstrip("\n") + "\n"

    def wait_for(self, text: str) -> str:
        """Wait until the text is on screen and the screen is stable; returns the screen."""
        end = time.monotonic() + WAIT_SECONDS
        before = ""
        while time.monotonic() < end:
            time.sleep(0.25)
            screen = self.screen()
            if text in screen and screen == before:
                return screen
            before = screen
        raise SystemExit(f"The text {text!r} did not come; the screen shows:\n{before}")

    def close(self) -> None:
        self._run("kill-server")


def main() -> int:
    if shutil.which("tmux") is None:
        print("tmux is not there; apt-get install tmux brings it.")
        return 1
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images"
    folder.mkdir(parents=True, exist_ok=True)
    command = f"env LC_ALL=C.UTF-8 {sys.executable} -m tools.gallery.widgets"
    for name, (typed, keys, expected) in SCENES.items():
        with tempfile.TemporaryDirectory() as place:
            tmux = Tmux(f"{place}/tmux", command)
            try:
                tmux.wait_for("Enter tries the specimen")
                tmux.type(typed)
                if typed:
                    tmux.wait_for(f"Filter: {typed}")
                tmux.press(*keys)
                screen = tmux.wait_for(expected)
            finally:
                tmux.close()
        (folder / f"tui-gallery-{name}.txt").write_text(screen, encoding="utf-8")
        print(f"tui-gallery-{name}.txt")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
