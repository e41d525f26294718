"""Runs the non-interactive modes: builds the prompts, opens the session and runs it."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tau.agent.events import AgentEvent, MessageStart, MessageUpdate
from tau.ai.model import thinking_level
from tau.ai.wire import AssistantMessage
from tau.base.errors import UsageError
from tau.base.files import OwnStdout, typed_path
from tau.base.late import late
from tau.cli import timing
from tau.cli.flags import ROLE_FLAGS
from tau.cli.initial_prompt import read_prompts
from tau.cli.parse import ParsedArgs
from tau.cli.signals import Signals
from tau.cli.stdin import STDIN, read_piped_text
from tau.cli.working_folder import config_files, flag_settings, is_home, resolve_working_folder
from tau.coding.session.session import Session
from tau.config.paths import user_paths
from tau.modes.output_stream import OutputStream, tell
from tau.modes.user_prompt import UserPrompt
from tau.sdk import SessionOptions, create_session

if TYPE_CHECKING:
    from tau.agent.ui import Ui
    from tau.cli.parse import Mode
    from tau.coding.ports import CodingDialogs
    from tau.coding.task.definition import AgentBudget

acp_command = late("tau.cli.acp_command")
answer_schemas = late("tau.modes.answer_schema")
definitions = late("tau.coding.task.definition")
console = late("tau.modes.console")
event_json = late("tau.modes.event_json")
extension_faces = late("tau.modes.extension_faces")
json_mode = late("tau.modes.json")
line_input = late("tau.modes.line_input")
models_table = late("tau.cli.models_table")
print_mode = late("tau.modes.print")
rpc_launch = late("tau.cli.rpc")
review_command = late("tau.cli.review_command")
serve_command = late("tau.cli.serve_command")
trust_question = late("tau.modes.trust_question")

NO_PROMPT = 'No prompt: use tau -p "your question", pipe one in, or start tau in a terminal.'
SIGNALED = 128  # exit codes above it name the signal that ended the run
HOME_REMARK = (
    "This is your home folder, not a project; "
    "choose a project folder with --cwd DIR (--allow-home hides this line)."
)


def launch(parsed: ParsedArgs, mode: "Mode") -> int:
    """Run to the end and return the exit code."""
    if sys.stdout is None:
        raise UsageError("stdout is closed.")
    reserve_standard_streams()
    OwnStdout.reserve()
    try:
        code = asyncio.run(_run_with_signals(parsed, mode))
        if code > SIGNALED:  # another Ctrl+C must not change it while the interpreter exits
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        return code
    finally:
        OwnStdout.release()
        timing.report()


def reserve_standard_streams() -> None:
    """If stdin or stderr was closed before we started, the next file opened would take its number."""
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(fd)


async def _run_with_signals(parsed: ParsedArgs, mode: "Mode") -> int:
    with Signals() as signals:
        try:
            code = await _run(parsed, mode, signals)
        except asyncio.CancelledError:
            if signals.code is None:
                raise
            code = signals.code
        return code if signals.code is None else signals.code


async def _run(parsed: ParsedArgs, mode: "Mode", signals: Signals) -> int:
    cwd = resolve_working_folder(parsed.value("cwd"))
    if parsed.has("list-models"):
        return await _list_models(parsed, cwd)
    if mode == "console":
        return await _run_console(parsed, cwd, signals)
    if mode == "rpc":
        return await rpc_launch.run(parsed, session_options(parsed, cwd), signals)
    if mode == "acp":
        return await acp_command.run(parsed, session_options(parsed, cwd), signals)
    if mode == "review":
        return await review_command.run(parsed, session_options(parsed, cwd))
    if mode == "serve":
        return await serve_command.run(parsed, session_options(parsed, cwd), signals)
    piped = "" if mode == "json-lines" else await read_piped_text()
    prompts = await read_prompts(parsed.words, piped)
    if not prompts and mode != "json-lines":
        raise UsageError(NO_PROMPT)
    given = parsed.value("output-schema")
    schema = None if given is None else answer_schemas.load_schema(given)
    if schema is not None:
        prompts[-1:] = [schema.ask(prompts[-1])]
    if is_home(cwd) and not parsed.has("allow-home"):
        tell(HOME_REMARK)
    out = OutputStream()
    async with create_session(session_options(parsed, cwd)) as session:
        _time_first_answer(session)
        check_images(session, prompts)
        signals.stop = session.abort
        if session.extensions is not None:
            session.extensions.attach(
                extension_faces.BatchFace(session, "print" if mode == "print" else "json")
            )
        if mode == "print":
            code = await print_mode.run(session, prompts, out, schema)
        elif mode == "json":
            code = await json_mode.run(session, prompts, out, event_encoder(parsed), schema)
        else:
            source = line_input.LineReader(STDIN)
            signals.stop = _call_both(source.close, session.abort)
            code = await json_mode.run_lines(session, prompts, source, out, event_encoder(parsed))
        timing.mark("the rest of the run")
    return code


def event_encoder(parsed: ParsedArgs) -> "event_json.EventEncoder":
    return event_json.EventEncoder(
        snapshots=parsed.value("snapshots") != "none", plain_errors=parsed.value("rpc-version") == "1"
    )


async def _run_console(parsed: ParsedArgs, cwd: Path, signals: Signals) -> int:
    repl = console.Console(line_input.LineReader(STDIN), OutputStream())
    prompts = await read_prompts(parsed.words, "")
    if is_home(cwd) and not parsed.has("allow-home"):
        cwd = await _offer_folder(repl.ui, cwd)
    first = options = session_options(parsed, cwd, ui=repl.ui)
    if not options.trust and repl.has_user:
        await trust_question.ask_trust(repl.ui, cwd, user_paths())
    key_owner, mode = "", None
    while True:
        async with create_session(options) as session:
            session.permissions.keep(mode)
            key_owner = key_owner or session.model.provider
            _time_first_answer(session)
            check_images(session, prompts)
            signals.stop, signals.interrupt = repl.stop, repl.interrupt
            if session.extensions is not None:
                session.extensions.attach(extension_faces.BatchFace(session, "console", repl.ui, repl.stop))
            code = await repl.run(session, prompts)
        if repl.handed_over is None:
            return code
        prompts = [UserPrompt(repl.handed_over)]
        mode = session.permissions.chosen
        options = first.next().with_model(session.model, key_owner)


async def _offer_folder(ui: "Ui", home: Path) -> Path:
    """Ask for a folder: someone who starts in the home folder probably meant another one."""
    question = "This is your home folder, not a project. Folder to work in"
    answer = await ui.input(question, "empty: stay here")
    return resolve_working_folder(answer) if answer else home


async def _list_models(parsed: ParsedArgs, cwd: Path) -> int:
    query = parsed.value("list-models") or ""
    as_json = parsed.has("json") or parsed.value("mode") == "json"
    table = await models_table.models_table(
        query, parsed.value("provider"), cwd, config_files(parsed), as_json=as_json
    )
    if not table:
        raise UsageError(f'No model matches "{query}"; list all with tau --list-models.')
    OutputStream().text(table)
    return 0


def check_images(session: Session, prompts: Sequence[UserPrompt]) -> None:
    if any(prompt.images for prompt in prompts) and "image" not in session.model.input:
        raise UsageError(
            f"{session.model.key} does not support images; tau --list-models shows which models do."
        )


def session_options(
    parsed: ParsedArgs, cwd: Path, ui: "Ui | None" = None, dialogs: "CodingDialogs | None" = None
) -> SessionOptions:
    folder = parsed.value("session-dir")
    return SessionOptions(
        cwd=cwd,
        provider=parsed.value("provider"),
        model=parsed.value("model"),
        roles={role: pattern for role in ROLE_FLAGS if (pattern := parsed.value(role))},
        thinking=thinking_level(parsed.value("thinking")),
        api_key=parsed.value("api-key"),
        base_url=parsed.value("base-url"),
        system_prompt=parsed.value("system-prompt"),
        append_system_prompt=parsed.value("append-system-prompt"),
        tools=chosen_tools(parsed),
        resume=parsed.value("resume") or None,
        fork=parsed.value("fork"),
        continue_recent=parsed.has("continue"),
        save=not parsed.has("no-session"),
        session_dir=typed_path(folder).absolute() if folder else None,
        config_files=config_files(parsed),
        add_dirs=tuple(resolve_working_folder(name) for name in parsed.all("add-dir")),
        trust=parsed.has("trust"),
        lsp=not parsed.has("no-lsp"),
        extensions=tuple(parsed.all("extension")),
        plugin_dirs=tuple(resolve_working_folder(name) for name in parsed.all("plugin-dir")),
        hook_files=tuple(parsed.all("hook")),
        no_extensions=parsed.has("no-extensions"),
        watch_extensions=parsed.has("watch"),
        flags={
            name: value or "true" for name, _, value in (one.partition("=") for one in parsed.all("flag"))
        },
        mcp=not parsed.has("no-mcp"),
        mcp_files=tuple(typed_path(name).absolute() for name in parsed.all("mcp-config")),
        settings=flag_settings(parsed),
        budget=_budget(parsed),
        ui=ui,
        dialogs=dialogs,
    )


def _budget(parsed: ParsedArgs) -> "AgentBudget | None":
    """Of --max-turns, --max-tokens and --max-minutes. Raises UsageError."""
    given = {name: text for name in ("turns", "tokens", "minutes") if (text := parsed.value(f"max-{name}"))}
    numbers: dict[str, float] = {}
    for name, text in given.items():
        try:
            numbers[name] = float(text) if name == "minutes" else int(text)
        except ValueError:
            numbers[name] = 0
        if not 0 < numbers[name] < 1e12:
            raise UsageError(f'--max-{name} needs a number above 0, not "{text}".')
    if not numbers:
        return None
    seconds = max(1, round(numbers.get("minutes", 0) * 60)) if "minutes" in numbers else 0
    return definitions.AgentBudget(
        int(numbers.get("turns", 0)), int(numbers.get("tokens", 0)), seconds=seconds
    )


def chosen_tools(parsed: ParsedArgs) -> tuple[str, ...] | None:
    if parsed.has("no-tools"):
        return ()
    names = parsed.value("tools")
    if names is None:
        return None
    return tuple(name for part in names.split(",") if (name := part.strip()))


def _call_both(one: Callable[[], None], other: Callable[[], None]) -> Callable[[], None]:
    def call() -> None:
        one()
        other()

    return call


def _time_first_answer(session: Session) -> None:
    """Mark when the first request is sent and its answer starts."""
    if not timing.ON:
        return
    timing.mark("settings, model, session")

    def watch(event: AgentEvent) -> None:
        match event:
            case MessageStart(AssistantMessage()):
                timing.mark("prompt recorded, request begun")
            case MessageUpdate():
                timing.mark("first words of the answer")
                stop()

    stop = session.subscribe(watch)
