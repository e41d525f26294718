"""The entry point of `tau`: handles --help and --version fast and returns an exit code."""

import gc
import os
import sys

from tau.base.late import late
from tau.base.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from tau.cli.parse import Mode, ParsedArgs

    class Subcommand(Protocol):
        def run(self, words: list[str], /) -> int: ...


batch_command = late("tau.cli.batch_command")
bench_command = late("tau.cli.bench_command")
completion_scripts = late("tau.cli.completions")
completion_values = late("tau.cli.completion_values")
commit_command = late("tau.cli.commit_command")
config_command = late("tau.cli.config_command")
debug_command = late("tau.cli.debug_command")
demo_command = late("tau.cli.demo_command")
doctor_command = late("tau.cli.doctor_command")
flags = late("tau.cli.flags")
export_command = late("tau.cli.export_command")
extensions_command = late("tau.cli.extensions_command")
agents_command = late("tau.cli.agents_command")
github_command = late("tau.cli.github_command")
worktree_command = late("tau.cli.worktree_command")
hooks_command = late("tau.cli.hooks_command")
relay_command = late("tau.cli.relay_command")
rules_command = late("tau.cli.rules_command")
failure = late("tau.cli.failure")
help_page = late("tau.cli.help")
interactive = late("tau.cli.interactive")
launching = late("tau.cli.launch")
login_command = late("tau.cli.login_command")
output_stream = late("tau.modes.output_stream")
parsing = late("tau.cli.parse")
plugin_command = late("tau.cli.plugin_command")
plan_usage_command = late("tau.cli.plan_usage_command")
sessions_command = late("tau.cli.sessions_command")
sandbox_command = late("tau.cli.sandbox_command")
search_command = late("tau.cli.search_command")
shell_command = late("tau.cli.shell_command")
lsp_command = late("tau.cli.lsp_command")
mcp_command = late("tau.cli.mcp_command")
memory_command = late("tau.cli.memory_command")
models_command = late("tau.cli.models_command")
ssh_command = late("tau.cli.ssh_command")
review_command = late("tau.cli.review_command")
serve_command = late("tau.cli.serve_command")
stats_command = late("tau.cli.stats_command")
trust_command = late("tau.cli.trust_command")
undo_command = late("tau.cli.undo_command")
texts = late("tau.base.text")
timing = late("tau.cli.timing")
tool_commands = late("tau.cli.tool_commands")
subcommand_help = late("tau.cli.subcommand_help")


# Heavy modules in the order they are needed: TAU_TIMING reports the cost of each.
asyncio = late("asyncio")
msgspec = late("msgspec")
sdk = late("tau.sdk")


NO_ID = (
    "Without an id, -r lists the sessions, which needs a terminal and no message; "
    "use -r ID instead (tau sessions lists ids)."
)


def main() -> int:
    argv = sys.argv[1:]
    try:
        if argv in (["--version"], ["-v"]):
            return write_stdout(f"tau {VERSION}\n")
        return run(argv)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        return failure.report_failure(error)


def run(argv: list[str]) -> int:
    parsed = parsing.parse(argv)
    if parsed.problem:
        return report_problem(parsed.problem)
    if parsed.subcommand:
        return run_subcommand(parsed.subcommand, parsed.words)
    if parsed.has("help"):
        return write_stdout(help_page.help_text())
    if parsed.has("version"):
        return write_stdout(f"tau {VERSION}\n")
    is_interactive = os.isatty(0) and os.isatty(1)
    mode = parsing.choose_mode(
        parsed, is_interactive=is_interactive, dumb=os.environ.get("TERM", "dumb") in ("dumb", "")
    )
    if parsed.value("resume") == "" and (mode != "interactive" or parsed.words):
        return report_problem(NO_ID)
    if parsed.has("output-schema") and mode not in ("print", "json"):
        return report_problem("--output-schema needs -p or --mode json.")
    if parsed.has("list-models") or mode != "interactive":
        return run_mode(parsed, mode)
    return run_interactive(parsed)


def run_interactive(parsed: "ParsedArgs") -> int:
    timing.mark("interpreter startup")
    gc.disable()
    import_msgspec()
    begin = interactive.run
    gc.freeze()
    gc.enable()
    timing.mark("imports before the first paint")
    return begin(parsed)


def run_mode(parsed: "ParsedArgs", mode: "Mode") -> int:
    timing.mark("interpreter startup")
    gc.disable()  # imports stay: garbage collection would take a tenth of the startup
    import_msgspec()
    if timing.ON:
        for module in (asyncio, msgspec, sdk):
            timing.mark(f"import of {module.__name__}")  # the first access imports a late module
    begin = launching.launch
    gc.freeze()
    gc.enable()
    timing.mark("other imports")
    code = begin(parsed, mode)
    gc.freeze()  # the process ends, and would look for garbage once more
    return code


def import_msgspec() -> None:
    """Import it as if typing_extensions were missing: typing has the same functions and is loaded anyway."""
    if not {"msgspec", "typing_extensions"} & sys.modules.keys():
        sys.modules["typing_extensions"] = None  # type: ignore[assignment]  # reads as not installed
        timing.mark(f"import of {msgspec.__name__}")  # the first access imports a late module
        del sys.modules["typing_extensions"]


def run_subcommand(name: str, words: list[str]) -> int:
    options = words[: words.index("--")] if "--" in words else words
    if "--help" in options or "-h" in options:
        return write_stdout(subcommand_help.help_page(name))
    if name == "help":
        return print_help(words)
    if name == "completions":
        return print_completions(words)
    if name in ("login", "logout", "auth"):
        by_name = {"login": login_command.run_login, "logout": login_command.run_logout}
        return by_name.get(name, login_command.run_auth)(words)
    if name == "acp":
        # An editor adds the arguments of a login to those that start the server.
        return run(words if words[:1] == ["login"] else ["--mode", "acp", *words])
    if name == "serve":
        return serve_command.start(words)
    if name == "review":
        return review_command.start(words)
    commands: dict[str, Subcommand] = {
        "agents": agents_command,
        "batch": batch_command,
        "bench": bench_command,
        "commit": commit_command,
        "config": config_command,
        "debug": debug_command,
        "demo": demo_command,
        "doctor": doctor_command,
        "export": export_command,
        "extensions": extensions_command,
        "github": github_command,
        "hooks": hooks_command,
        "relay": relay_command,
        "rules": rules_command,
        "lsp": lsp_command,
        "mcp": mcp_command,
        "memory": memory_command,
        "models": models_command,
        "plugin": plugin_command,
        "sandbox": sandbox_command,
        "sessions": sessions_command,
        "search": search_command,
        "shell": shell_command,
        "ssh": ssh_command,
        "stats": stats_command,
        "trust": trust_command,
        "undo": undo_command,
        "usage": plan_usage_command,
        "worktree": worktree_command,
    }
    return commands[name].run(words) if name in commands else tool_commands.run(name, words)


def print_help(words: list[str]) -> int:
    if not words:
        return write_stdout(help_page.help_text())
    names = [command.name for command in flags.subcommands()]
    if words[0] not in names:
        return report_problem(f'There is no command "{words[0]}"; there are {", ".join(names)}.')
    return write_stdout(subcommand_help.help_page(words[0]))


def print_completions(words: list[str]) -> int:
    if words[:1] == ["values"]:
        return completion_values.run(words[1:])
    shells = completion_scripts.SHELLS
    if len(words) != 1 or words[0] not in shells:
        return report_problem(f"Name the shell: tau completions {'|'.join(shells)}.")
    return write_stdout(completion_scripts.completion_script(words[0]))


def write_stdout(text: str) -> int:
    """Write to stdout, to a terminal without control sequences; a closed pipe is not an error."""
    if sys.stdout is None:
        return report_problem("stdout is closed.")
    try:
        sys.stdout.write(texts.plain(text) if sys.stdout.isatty() else text)
        sys.stdout.flush()
    except OSError as error:
        output_stream.silence(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            return report_problem(f"Cannot write output: {error.strerror}.", 1)
    return 0


def report_problem(problem: str, code: int = 2) -> int:
    if sys.stderr is None:
        return code
    try:
        sys.stderr.write(f"tau: {problem}\n")
        sys.stderr.flush()
    except OSError:  # stderr is closed
        output_stream.silence(sys.stderr)
    return code
