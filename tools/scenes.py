"""What the screenshots of the documentation show: scripted answers, keys to press, and the stage for both."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.support.fake_answers import Answer, Call, Scriptable, Silence, Text, Usage
from tests.support.fake_server import FakeServer
from tests.support.pty_terminal import PtyTerminal, run_in_terminal
from tests.support.team_server import AgentScript, TeamServer, hand_over
from tests.support.terminal.virtual import Answers

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
PROJECTS = {
    "greeting": {
        "greeting.py": 'def greet(name):\n    return "Hello, " + nmae\n',
        "README.md": "# Greeting\n\nSays hello.\n",
        "tests/test_greeting.py": "from greeting import greet\n\n\n"
        'def test_greeting():\n    assert greet("Ada") == "Hello, Ada"\n',
    },
    "shop": {
        "cart.py": '''"""The cart of a small shop."""


def total(prices, discount=0):
    """The sum of the prices, less a discount in percent."""
    return sum(prices) - discount
''',
        "test_cart.py": """import unittest

from cart import total


class Cart(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([30, 20]), 50)

    def test_discount(self):
        self.assertEqual(total([30, 20], discount=10), 45)

    def test_empty_cart(self):
        self.assertEqual(total([], discount=10), 0)
""",
    },
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
    """The model's answers, the keys to press, and extra flags and settings; `agent` answers subagents."""

    play: Callable[[PtyTerminal], None]
    answers: tuple[Answer, ...] = ()
    flags: tuple[str, ...] = ()
    settings: tuple[tuple[str, object], ...] = ()
    project: str = "greeting"
    title: str = "tau"
    agent: AgentScript | None = None


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


PACKAGES = (
    *("accounts", "api", "billing", "cache", "cart", "checkout", "coupons", "delivery", "export", "fraud"),
    *("images", "invoices", "mail", "orders", "prices", "reports", "returns", "search", "stock", "taxes"),
)
REVIEWS = [{"id": name.title(), "assignment": f"Review the package {name}"} for name in PACKAGES]


def review_package(assignment: str, turn: int) -> Scriptable:
    """Some are done, one has failed, the others look around and think."""
    name = assignment.split()[3]
    at = PACKAGES.index(name)
    if turn == 0:
        return said(Text(f"I read {name} first."), Call("find", {"paths": [f"{name}/**"]}, f"{name}0"))
    if at % 7 == 2:
        return hand_over(f"{name}: nothing to fix.")
    if at == 4:
        return Answer((Call("yield", {"error": "There is no such package."}),))
    return Silence()


def hub(terminal: PtyTerminal) -> None:
    send(terminal, "Review all packages", "They work in the background.")
    terminal.wait_until(  # sixteen were also at work while they started
        lambda rows: (
            sum("Background job" in row for row in terminal.terminal.tape()) == 4
            and any("16 running" in row for row in rows)
        ),
        what="the lines about the four that are done",
    )
    for _ in range(2):  # the lines about agents that are done come in any order
        send(terminal, "/queue", "empty")
    terminal.press("alt+a")
    terminal.wait_for("16 running, 81,920 tokens")  # the first answers of all have arrived


SCENES = {
    "hub": Screenshot(
        hub,
        (
            said(Call("task", {"agent": "explore", "context": "A shop.", "tasks": REVIEWS})),
            said(Text("They work in the background.")),
        ),
        settings=(("async.continueWhenDone", False), ("task.maxConcurrency", 32)),
        agent=review_package,
    ),
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


FIXED = """\
All three tests pass now.

- **Cause**: `total` subtracted the discount itself, not a percentage of the sum.
- **Fix**: one line in `cart.py`. `/undo` takes it back."""
DISCOUNT = {
    "path": "cart.py",
    "old_text": "    return sum(prices) - discount",
    "new_text": "    return sum(prices) * (100 - discount) / 100",
}
REPLACE = ("edit.mode", "replace")
PUSH = "git commit -qam 'Discounts are percentages' && git push origin main"


def task(terminal: PtyTerminal) -> None:
    send(terminal, "test_discount fails. Find out why and fix it.", "takes it back.")


def push(terminal: PtyTerminal) -> None:
    send(terminal, "Commit and push it", "Allow once")


def branches(terminal: PtyTerminal) -> None:
    """Ask, go back to the second question, ask another one instead, and look at the tree."""
    send(terminal, "What does this project do?", "less a discount.")
    send(terminal, "Which test is missing?", "negative discount.")
    send(terminal, "/tree", "Esc close")
    terminal.press("up", "enter")
    terminal.wait_until(lambda rows: not any("Session tree" in row for row in rows), what="the conversation")
    terminal.press("ctrl+u")
    send(terminal, "Which test is wrong?", "None of them.")
    send(terminal, "/tree", "Esc close")


def permissions(terminal: PtyTerminal) -> None:
    send(terminal, "/permissions", "tools.allow")


PICTURES = {
    "welcome": Screenshot(welcome, project="shop", title="tau: the first screen"),
    "task": Screenshot(
        task,
        (
            said(Call("read", {"path": "cart.py"}, "a"), Call("read", {"path": "test_cart.py"}, "b")),
            said(Call("edit", DISCOUNT)),
            said(Call("bash", {"command": "python3 -m unittest -q"})),
            said(Text(FIXED)),
        ),
        settings=(REPLACE,),
        project="shop",
        title="tau: a bug is found, fixed and tested",
    ),
    "approval": Screenshot(
        push,
        (said(Text("One commit, then a push to `origin`."), Call("bash", {"command": PUSH})),),
        settings=(("tools.ask", ["run: git push"]),),
        project="shop",
        title="tau: a command that needs an answer",
    ),
    "tree": Screenshot(
        branches,
        (
            said(Text("It adds up the prices of a cart, less a discount.")),
            said(Text("One for a negative discount.")),
            said(Text("None of them. `test_discount` is right: a discount is a percentage.")),
        ),
        project="shop",
        title="tau: the branches of a session",
    ),
    "permissions": Screenshot(
        permissions,
        settings=(
            ("tools.approvalMode", "ask"),
            ("tools.allow", ["run: make test", "connect: *.example.com"]),
            ("tools.ask", ["run: git push"]),
            ("tools.deny", ["read: ./.env"]),
        ),
        project="shop",
        title="tau: the permission mode and rules",
    ),
}


@contextmanager
def on_stage(
    shot: Screenshot, place: Path, columns: int, rows: int, colors: Answers
) -> Iterator[PtyTerminal]:
    """Run the real program against the scripted server, to where the screenshot is taken.

    The project is in a home folder of its own. Nothing depends on the user: no keys, settings or language.
    """
    home, project = place / "home", place / "home" / shot.project
    agent = home / ".tau" / "agent"
    for name, content in PROJECTS[shot.project].items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(content, encoding="utf-8")
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=project, check=True)
    agent.mkdir(parents=True)
    (agent / "settings.json").write_text(json.dumps(SETTINGS | dict(shot.settings)), encoding="utf-8")
    with FakeServer() if shot.agent is None else TeamServer(shot.agent) as server:
        server.script(*shot.answers)
        provider = {"baseUrl": f"{server.url}/v1", "api": "openai-completions", "apiKey": "x"}
        providers = {"providers": {"example": {**provider, "models": MODELS}}}
        (agent / "models.json").write_text(json.dumps(providers), encoding="utf-8")
        known = {"HOME": home, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        known |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
        flags = ("--provider", "example", "--model", "example-large", *shot.flags)
        argv = ["/usr/bin/env", "-i", *(f"{name}={value}" for name, value in known.items())]
        with run_in_terminal(
            [*argv, sys.executable, "-m", "tau", *flags], None, columns, rows, cwd=project, answers=colors
        ) as terminal:
            terminal.wait_for("example-large")
            shot.play(terminal)
            yield terminal
