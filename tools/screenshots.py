"""Captures the screenshots of the documentation from the real program.

`python tools/screenshots.py [screens|pages] [FOLDER]`; the default folder is docs/images.
`screens` are captures of the interactive screen as text (screen-*.txt). `pages` are the pictures of
docs/export.md, by day and by night; they need Chromium.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tau.base.secrets import SecretMask  # noqa: E402
from tau.coding.cost_report.chart import chart_page  # noqa: E402
from tau.coding.export.files import exported  # noqa: E402
from tests.coding.export.chromium import browser, program  # noqa: E402
from tests.coding.export.sample import sample_session, sample_usage  # noqa: E402
from tests.support.fake_answers import Answer, Call, Text, Usage  # noqa: E402
from tests.support.fake_server import FakeServer  # noqa: E402
from tests.support.pty_terminal import PtyTerminal, run_in_terminal  # noqa: E402

SIZES = {"": (1280, 1000), "-phone": (390, 844)}
COLUMNS, ROWS = 80, 24
QUIET_SECONDS = 0.5
# Durations differ between runs.
TOOK = re.compile(r"  \d[\d.]* m?s$")
MODELS = [
    {"id": "example-large", "name": "Example Large", "reasoning": True, "contextWindow": 200_000},
    {"id": "example-small", "name": "Example Small", "contextWindow": 64_000},
]
SETTINGS = {
    "retry.enabled": False,
    "titles.enabled": False,
    "local.discover": False,
    "local.embedded": False,
    "display.reducedMotion": True,
}
FILES = {
    "greeting.py": 'def greet(name):\n    return "Hello, " + nmae\n',
    "README.md": "# Greeting\n\nSays hello.\n",
    "tests/test_greeting.py": "from greeting import greet\n\n\n"
    'def test_greeting():\n    assert greet("Ada") == "Hello, Ada"\n',
}
ANSWER = """\
`greet` cannot work yet: it returns `nmae`, which is not defined.

1. The parameter is called `name`, so the fix is **one word**.
2. `tests/test_greeting.py` covers it already.

```python
def greet(name):
    return "Hello, " + name
```

The rest is fine."""
CHANGE = {"path": "greeting.py", "old_text": "nmae", "new_text": "name"}
CHECK = "tail -n 1 greeting.py"


class Screenshot(NamedTuple):
    """The model's answers, the keys to press, and extra flags and settings."""

    play: Callable[[PtyTerminal], None]
    answers: tuple[Answer, ...] = ()
    flags: tuple[str, ...] = ()
    settings: tuple[tuple[str, object], ...] = ()


def said(*parts: Text | Call) -> Answer:
    return Answer(parts, Usage(input=5000, output=120))


def send(terminal: PtyTerminal, text: str, then: str) -> None:
    """Type the text, press Enter, and wait for the result."""
    terminal.type(text)
    terminal.wait_for(text[-30:])
    terminal.press("enter")
    terminal.wait_for(then)


def welcome(terminal: PtyTerminal) -> None:
    terminal.wait_for("Type a message")


def answer(terminal: PtyTerminal) -> None:
    send(terminal, "What is wrong with greet?", "The rest is fine.")


def tools(terminal: PtyTerminal) -> None:
    send(terminal, "Fix the greeting", "It says hello by name now.")


def completion(terminal: PtyTerminal) -> None:
    terminal.type("Look at @")
    terminal.wait_for("README.md")


def tree(terminal: PtyTerminal) -> None:
    send(terminal, "What does this project do?", "It says hello.")
    send(terminal, "Which test is missing?", "One for an empty name.")
    send(terminal, "/tree", "Esc")


def models(terminal: PtyTerminal) -> None:
    send(terminal, "/model", "example-small")


def settings(terminal: PtyTerminal) -> None:
    send(terminal, "/settings", "Esc")


def approval(terminal: PtyTerminal) -> None:
    send(terminal, "Clean up", "Allow once")


SCENES = {
    "welcome": Screenshot(welcome),
    "answer": Screenshot(answer, (said(Text(ANSWER)),)),
    "tools": Screenshot(
        tools,
        (
            said(Call("read", {"path": "greeting.py"}, "a"), Call("read", {"path": "README.md"}, "b")),
            said(Call("edit", CHANGE)),
            said(Call("bash", {"command": CHECK})),
            said(Text("It says hello by name now.")),
        ),
        settings=(("edit.mode", "replace"),),
    ),
    "completion": Screenshot(completion),
    "tree": Screenshot(tree, (said(Text("It says hello.")), said(Text("One for an empty name.")))),
    "models": Screenshot(models),
    "settings": Screenshot(settings),
    "approval": Screenshot(
        approval,
        (said(Call("bash", {"command": "rm -r build && git clean -fd"})), said(Text("Done."))),
        settings=(("tools.approvalMode", "ask"),),
    ),
    "screen-reader": Screenshot(answer, (said(Text(ANSWER)),), ("--screen-reader",)),
}


def capture(shot: Screenshot, place: Path) -> str:
    """Return the final screen. The project is in the home folder, whose name is not shown."""
    home, project = place / "home", place / "home" / "greeting"
    agent = home / ".tau" / "agent"
    for name, content in FILES.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(content, encoding="utf-8")
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=project, check=True)
    agent.mkdir(parents=True)
    (agent / "settings.json").write_text(json.dumps(SETTINGS | dict(shot.settings)), encoding="utf-8")
    with FakeServer() as server:
        server.script(*shot.answers)
        provider = {"baseUrl": f"{server.url}/v1", "api": "openai-completions", "apiKey": "x"}
        providers = {"providers": {"example": {**provider, "models": MODELS}}}
        (agent / "models.json").write_text(json.dumps(providers), encoding="utf-8")
        # Independent of the user: no keys, no settings, no language.
        known = {"HOME": home, "PATH": os.environ["PATH"], "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        flags = ("--provider", "example", "--model", "example-large", *shot.flags)
        argv = ["/usr/bin/env", "-i", *(f"{name}={value}" for name, value in known.items())]
        with run_in_terminal(
            [*argv, sys.executable, "-m", "tau", *flags], None, COLUMNS, ROWS, cwd=project
        ) as terminal:
            terminal.wait_for("example-large")
            shot.play(terminal)
            rows = stable_screen(terminal)
    text = "\n".join(TOOK.sub("", row.rstrip()) for row in rows).rstrip() + "\n"
    return text.replace(str(home), "/home/me")


def stable_screen(terminal: PtyTerminal) -> list[str]:
    """Wait until the screen is stable and return it."""
    rows: list[str] = []
    while rows != (rows := terminal.screen()):
        time.sleep(QUIET_SECONDS)
    return rows


def screens(folder: Path) -> int:
    for name, shot in SCENES.items():
        with tempfile.TemporaryDirectory(dir="/tmp") as place:
            text = capture(shot, Path(place))
        (folder / f"screen-{name}.txt").write_text(text, encoding="utf-8")
        print(f"screen-{name}.txt")
    return 0


def pages(folder: Path, *, phone: bool) -> int:
    if program() is None:
        print("Chromium is not there; apt-get install chromium brings it.")
        return 1
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        log = sample_session(place)
        made = {
            "export": b"".join(exported(log, "html", SecretMask())),
            "stats": "".join(chart_page(sample_usage())).encode(),
        }
        log.close()
        with browser(place) as page:
            for title, content in made.items():
                file = place / f"{title}.html"
                file.write_bytes(content)
                for suffix, (width, height) in SIZES.items():
                    if suffix and not phone:
                        continue
                    for dark in (False, True):
                        page.look(width=width, height=height, dark=dark)
                        page.open(file.as_uri())
                        page.screenshot(folder / f"{title}{suffix}-{'dark' if dark else 'light'}.png")
    return 0


def main() -> int:
    kind, *rest = sys.argv[1:] or ["screens"]
    if kind not in ("screens", "pages"):
        print(__doc__)
        return 2
    folder = Path(rest[0]) if rest else ROOT / "docs" / "images"
    folder.mkdir(parents=True, exist_ok=True)
    return screens(folder) if kind == "screens" else pages(folder, phone=bool(rest))


if __name__ == "__main__":
    raise SystemExit(main())
