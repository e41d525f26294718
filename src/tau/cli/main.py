"""The entry point of `tau`: answers at once what needs nothing, and turns every ending into an exit code."""

import gc
import os
import sys

from tau.base.late import late
from tau.base.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tau.cli.mode_selection import Face
    from tau.cli.parse import ParsedArgs

completion_scripts = late("tau.cli.completions")
config_command = late("tau.cli.config_command")
demo_command = late("tau.cli.demo_command")
export_command = late("tau.cli.export_command")
mode_selection = late("tau.cli.mode_selection")
failure = late("tau.cli.failure")
help_page = late("tau.cli.help")
interactive = late("tau.cli.interactive")
launching = late("tau.cli.launch")
output_stream = late("tau.modes.output_stream")
parsing = late("tau.cli.parse")
sessions_command = late("tau.cli.sessions_command")
shell_command = late("tau.cli.shell_command")
ssh_command = late("tau.cli.ssh_command")
stats_command = late("tau.cli.stats_command")
undo_command = late("tau.cli.undo_command")
timing = late("tau.cli.timing")
tool_commands = late("tau.cli.tool_commands")


# The heavy ones in the order in which they are needed: TAU_TIMING tells what each of them costs.
asyncio = late("asyncio")
msgspec = late("msgspec")
sdk = late("tau.sdk")


NO_ID = (
    "Without an id, -r shows the list of sessions, which takes a terminal and no message; "
    "write -r ID instead (tau sessions lists them)."
)


def main() -> int:
    argv = sys.argv[1:]
    try:
        if argv in (["--version"], ["-v"]):
            return say(f"tau {VERSION}\n")
        return run(argv)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        code: int = failure.exit_code(error)
        return code


def run(argv: list[str]) -> int:
    parsed = parsing.parse(argv)
    if parsed.problem:
        return complain(parsed.problem)
    if parsed.subcommand:
        return subcommand(parsed.subcommand, parsed.words)
    if parsed.has("help"):
        return say(help_page.help_text())
    if parsed.has("version"):
        return say(f"tau {VERSION}\n")
    talks = os.isatty(0) and os.isatty(1)
    face = mode_selection.choose_mode(
        parsed, talks=talks, dumb=os.environ.get("TERM", "dumb") in ("dumb", "")
    )
    if parsed.value("resume") == "" and (face != "interactive" or parsed.words):
        return complain(NO_ID)
    if parsed.has("list-models") or face != "interactive":
        return launch(parsed, face)
    return screen(parsed)


def screen(parsed: "ParsedArgs") -> int:
    timing.mark("the interpreter, until tau's first line")
    gc.disable()
    begin = interactive.run
    gc.freeze()
    gc.enable()
    timing.mark("the imports before the first paint")
    code: int = begin(parsed)
    return code


def launch(parsed: "ParsedArgs", face: "Face") -> int:
    timing.mark("the interpreter, until tau's first line")
    gc.disable()  # what is imported stays: looking for garbage in it would be a tenth of the start
    if timing.ON:
        for module in (asyncio, msgspec, sdk):
            timing.mark(f"import of {module.__name__}")  # the first look at a late module imports it
    begin = launching.launch
    gc.freeze()
    gc.enable()
    timing.mark("the other imports")
    code: int = begin(parsed, face)
    return code


def subcommand(name: str, words: list[str]) -> int:
    if name == "completions":
        return completions(words)
    commands = {
        "config": config_command,
        "demo": demo_command,
        "export": export_command,
        "sessions": sessions_command,
        "shell": shell_command,
        "ssh": ssh_command,
        "stats": stats_command,
        "undo": undo_command,
    }
    code: int = commands[name].run(words) if name in commands else tool_commands.run(name, words)
    return code


def completions(words: list[str]) -> int:
    shells = completion_scripts.SHELLS
    if len(words) != 1 or words[0] not in shells:
        return complain(f"Name the shell: tau completions {'|'.join(shells)}.")
    return say(completion_scripts.script(words[0]))


def say(text: str) -> int:
    """Write to stdout; a reader that has gone away is not an error of ours."""
    if sys.stdout is None:
        return complain("stdout is closed.")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        output_stream.silence(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            return complain(f"The output cannot be written: {error.strerror}.", 1)
    return 0


def complain(problem: str, code: int = 2) -> int:
    if sys.stderr is None:
        return code
    try:
        sys.stderr.write(f"tau: {problem}\n")
        sys.stderr.flush()
    except OSError:  # nobody can read it, which changes nothing
        output_stream.silence(sys.stderr)
    return code
