"""The entry point of `tau`: answers at once what needs nothing, and turns every ending into an exit code."""

import gc
import os
import sys

from tau import __version__

MYPY = False
if MYPY:
    from typing import Any

    from tau.cli.parse import Parsed


def main() -> int:
    argv = sys.argv[1:]
    try:
        if argv in (["--version"], ["-v"]):
            return say(f"tau {__version__}\n")
        return run(argv)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        code: int = load("tau.cli.failure").exit_code(error)
        return code


def run(argv: list[str]) -> int:
    parsed = load("tau.cli.parse").parse(argv)
    if parsed.problem:
        return complain(parsed.problem)
    if parsed.subcommand == "completions":
        return completions(parsed.words)
    if parsed.subcommand == "config":
        code: int = load("tau.cli.config_command").run(parsed.words)
        sys.stdout.flush()
        return code
    if parsed.has("help"):
        return say(load("tau.cli.help").help_text())
    if parsed.has("version"):
        return say(f"tau {__version__}\n")
    return launch(parsed)


def launch(parsed: "Parsed") -> int:
    timing = load("tau.cli.timing")
    timing.mark("the interpreter, until tau's first line")
    gc.disable()  # what is imported stays: looking for garbage in it would be a tenth of the start
    if timing.ON:
        for name in ("asyncio", "msgspec", "tau.sdk"):
            load(name)
            timing.mark(f"import of {name}")
    module = load("tau.cli.launch")
    gc.freeze()
    gc.enable()
    timing.mark("the other imports")
    code: int = module.launch(parsed)
    return code


def completions(words: list[str]) -> int:
    module = load("tau.cli.completions")
    if len(words) != 1 or words[0] not in module.SHELLS:
        return complain(f"say which shell: tau completions {'|'.join(module.SHELLS)}")
    return say(module.script(words[0]))


def load(name: str) -> "Any":
    """Import a module now. `base/late.py` does it for everyone else; here even its own imports would show."""
    __import__(name)
    return sys.modules[name]


def say(text: str) -> int:
    """Write to stdout; a reader that has gone away is not an error of ours."""
    if sys.stdout is None:
        return complain("stdout is closed")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        silence_stdout()
        if not isinstance(error, BrokenPipeError):
            return complain(f"the output cannot be written: {error.strerror}", 1)
    return 0


def silence_stdout() -> None:
    """Nobody reads stdout any more: what is left in its buffer goes nowhere, without a complaint at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def complain(problem: str, code: int = 2) -> int:
    if sys.stderr is not None:
        sys.stderr.write(f"tau: {problem}\n")
    return code
