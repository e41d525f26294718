"""What the scripted model says and does, at the pace of a real one, and what its person asks."""

import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence

from tau.ai.faux import Count, FauxStep, Say, Think, Use, Wait

REQUEST = "A test fails. Find out why, fix it, and show me that it works."
OPENING = (
    "This is a demonstration: the model is a script, and so is the person who types. The screen, the tools, "
    "the files and the tests are real; they are in a temporary folder, which goes when you leave."
)
READ_S, WORD_S, CALL_S = 4.0, 0.1, 1.0
ENDING = (
    "That was the demonstration; its folder goes when you leave ({quit}). "
    "To start for real, go to the folder of your project and type tau; /login gives it a key."
)
ONLY_A_SCRIPT = (
    "I am only a script, and my part is over. Leave with Ctrl+D, go to the folder of your project "
    "and type `tau`: there a real model answers."
)

_DONE = """\
The test passes now.

- **Cause**: `average([])` divided by the length of an empty list.
- **Fix**: an empty shop has an average of 0, as `cheapest` has it already.

Nothing else changed: `/undo` takes it back, `Ctrl+O` shows all output."""


def answers(*, fast: bool) -> list[list[FauxStep]]:
    """One list for each answer of the model; the last one is for whoever goes on to talk with it."""
    test = f"{_python()} -m unittest -q"
    old, new = (
        "    return total(prices) / len(prices)",
        "    return total(prices) / len(prices) if prices else 0",
    )
    parts: list[Sequence[FauxStep]] = [
        (
            Think("A failing test: run the suite first, and read what it says before touching anything."),
            Say("I run the tests to see what fails."),
            Use("bash", command=test),
        ),
        (
            Say("`average` divides by zero when there are no prices. I read the code and its test."),
            Use("read", path="prices.py"),
            Use("read", path="test_prices.py"),
        ),
        (
            Say("The test wants 0 for an empty shop, and `cheapest` does it like that already."),
            Use("edit", path="prices.py", old_text=old, new_text=new),
        ),
        (Say("Now the whole suite again."), Use("bash", command=test)),
        (Say(_DONE),),
        (Say(ONLY_A_SCRIPT),),
    ]
    used = ((2100, 90), (2300, 80), (2900, 120), (3100, 60), (3300, 110), (3400, 40))
    return [[*_paced(part, fast=fast), Count(*count)] for part, count in zip(parts, used, strict=True)]


def _paced(steps: Sequence[FauxStep], *, fast: bool) -> Iterator[FauxStep]:
    """Words arrive one by one; before an answer there is time to read, before a call a moment of silence."""
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
