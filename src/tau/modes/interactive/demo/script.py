"""What the scripted model says and does, at a realistic pace, and what its user asks."""

import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence

from tau.ai.faux import Count, FauxStep, Say, Think, Use, Wait

REQUEST = "A test fails. Find out why, fix it, and show that it works."
OPENING = (
    "This is a demo: the model and the typing are scripted. The screen, the tools, "
    "the files and the tests are real, in a temporary folder that is deleted when you quit."
)
READ_S, WORD_S, CALL_S = 4.0, 0.1, 1.0
ENDING = (
    "That was the demo; its folder is deleted when you quit ({quit}). "
    "To start for real, run tau in your project folder; add an API key with /login."
)
ONLY_A_SCRIPT = (
    "I am only a script, and my part is over. Quit with Ctrl+D and run `tau` "
    "in your project folder to talk to a real model."
)

_DONE = """\
The test passes now.

- **Cause**: `average([])` divided by the length of an empty list.
- **Fix**: an empty shop has an average of 0, as `cheapest` already does.

Nothing else changed: `/undo` reverts it, `Ctrl+O` shows all output."""


def answers(*, fast: bool) -> list[list[FauxStep]]:
    """One list per answer; the last is for users who keep talking."""
    test = f"{_python()} -m unittest -q"
    old, new = (
        "    return total(prices) / len(prices)",
        "    return total(prices) / len(prices) if prices else 0",
    )
    parts: list[Sequence[FauxStep]] = [
        (
            Think("A failing test: run the suite first, and read what it says before touching anything."),
            Say("I'll run the tests to see what fails."),
            Use("bash", command=test),
        ),
        (
            Say("`average` divides by zero when there are no prices. I'll read the code and its test."),
            Use("read", path="prices.py"),
            Use("read", path="test_prices.py"),
        ),
        (
            Say("The test expects 0 for an empty shop, as `cheapest` already returns."),
            Use("edit", path="prices.py", old_text=old, new_text=new),
        ),
        (Say("Now the whole suite again."), Use("bash", command=test)),
        (Say(_DONE),),
        (Say(ONLY_A_SCRIPT),),
    ]
    used = ((2100, 90), (2300, 80), (2900, 120), (3100, 60), (3300, 110), (3400, 40))
    return [[*_pace(part, fast=fast), Count(*count)] for part, count in zip(parts, used, strict=True)]


def _pace(steps: Sequence[FauxStep], *, fast: bool) -> Iterator[FauxStep]:
    """Words arrive one by one; pause before an answer for reading, and briefly before a call."""
    if not fast:
        yield Wait(READ_S)
    for step in steps:
        if fast or not isinstance(step, Say | Use | Think):
            yield step
        elif isinstance(step, Say):
            for word in step.text.split(" "):
                yield Say(f"{word} ")
                yield Wait(WORD_S)
        else:
            yield step
            yield Wait(CALL_S)


def _python() -> str:
    return "python3" if shutil.which("python3") else shlex.quote(sys.executable)
