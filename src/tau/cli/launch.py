"""From a parsed command line to a face: chooses it, builds the prompts, opens the session and runs it."""

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from tau.agent.events import AgentEvent, MessageStart, MessageUpdate
from tau.ai.model import thinking_level
from tau.ai.wire import AssistantMessage
from tau.base.errors import TauError, UsageError
from tau.base.files import typed_path
from tau.base.late import late
from tau.cli import timing
from tau.cli.parse import ParsedArgs
from tau.cli.prompts import build_prompts
from tau.cli.signals import Signals
from tau.cli.stdin import STDIN, piped_text
from tau.cli.working_folder import config_files, flag_settings, is_home, working_folder
from tau.coding.session.session import Session
from tau.modes.output_stream import OutputStream, tell
from tau.modes.prompt import UserPrompt
from tau.sdk import SessionOptions, create_session

if TYPE_CHECKING:
    from tau.cli.mode_selection import Face

console = late("tau.modes.console")
json_mode = late("tau.modes.json")
line_input = late("tau.modes.line_input")
models_table = late("tau.cli.models_table")
print_mode = late("tau.modes.print")

NO_PROMPT = (
    'There is no prompt: write tau -p "your question", pipe one in, or start tau in a terminal to talk.'
)
HOME_REMARK = (
    "This is your home folder, which tau does not look through by itself; "
    "name the folder of your project with --cwd DIR (--allow-home hides this line)."
)


def launch(parsed: ParsedArgs, face: "Face") -> int:
    """Run to the end and return the exit code; what goes wrong is raised."""
    if sys.stdout is None:
        raise UsageError("stdout is closed, so nobody could see the answer.")
    occupy_standard_streams()
    try:
        return asyncio.run(_until_done(parsed, face))
    finally:
        timing.report()


def occupy_standard_streams() -> None:
    """Where stdin or stderr was closed before we started, the next file we open would take its place."""
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(fd)


async def _until_done(parsed: ParsedArgs, face: "Face") -> int:
    with Signals() as signals:
        try:
            code = await _run(parsed, face, signals)
        except asyncio.CancelledError:
            if signals.code is None:
                raise
            code = signals.code
        return code if signals.code is None else signals.code


async def _run(parsed: ParsedArgs, face: "Face", signals: Signals) -> int:
    cwd = working_folder(parsed.value("cwd"))
    if parsed.has("list-models"):
        return await _list_models(parsed, cwd)
    if face == "console":
        return await _converse(parsed, cwd, signals)
    piped = "" if face == "json-lines" else await piped_text()
    prompts = build_prompts(parsed.words, piped)
    if not prompts and face != "json-lines":
        raise UsageError(NO_PROMPT)
    if is_home(cwd) and not parsed.has("allow-home"):
        tell(HOME_REMARK)
    out = OutputStream()
    async with create_session(options(parsed, cwd)) as session:
        _watch_start(session)
        check_images(session, prompts)
        signals.stop = session.abort
        if face == "print":
            code: int = await print_mode.run(session, prompts, out)
        elif face == "json":
            code = await json_mode.run(session, prompts, out)
        else:
            source = line_input.LineReader(STDIN)
            signals.stop = _both(source.close, session.abort)
            code = await json_mode.run_lines(session, prompts, source, out)
        timing.mark("the rest of the run")
    return code


async def _converse(parsed: ParsedArgs, cwd: Path, signals: Signals) -> int:
    talk = console.Console(line_input.LineReader(STDIN), OutputStream())
    prompts: list[UserPrompt] = build_prompts(parsed.words, "")
    if is_home(cwd) and not parsed.has("allow-home"):
        cwd = await _offer_folder(talk.ui, cwd)
    wanted = options(parsed, cwd, ui=talk.ui)
    while True:
        async with create_session(wanted) as session:
            _watch_start(session)
            check_images(session, prompts)
            signals.stop, signals.interrupt = talk.stop, talk.interrupt
            code: int = await talk.run(session, prompts)
        if talk.handed_over is None:
            return code
        prompts = [UserPrompt(talk.handed_over)]
        wanted = replace(wanted, resume=None, fork=None, continue_recent=False)


async def _offer_folder(ui: Any, home: Path) -> Path:
    """A person who starts in the home folder most likely meant another one."""
    question = "This is your home folder, which tau does not look through by itself. Folder to work in"
    answer = await ui.input(question, "empty: stay here")
    return working_folder(answer) if answer else home


async def _list_models(parsed: ParsedArgs, cwd: Path) -> int:
    query = parsed.value("list-models") or ""
    table = await models_table.models_table(query, parsed.value("provider"), cwd, config_files(parsed))
    if not table:
        raise TauError(f'No model matches "{query}"; tau --list-models shows all that are known.')
    OutputStream().text(table)
    return 0


def check_images(session: Session, prompts: Sequence[UserPrompt]) -> None:
    if any(prompt.images for prompt in prompts) and "image" not in session.model.input:
        raise UsageError(f"{session.model.key} takes no images; tau --list-models shows the models that do.")


def options(parsed: ParsedArgs, cwd: Path, ui: Any = None) -> SessionOptions:
    """What the flags ask of a session."""
    folder = parsed.value("session-dir")
    return SessionOptions(
        cwd=cwd,
        provider=parsed.value("provider"),
        model=parsed.value("model"),
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
        add_dirs=tuple(working_folder(name) for name in parsed.all("add-dir")),
        settings=flag_settings(parsed),
        ui=ui,
    )


def chosen_tools(parsed: ParsedArgs) -> tuple[str, ...] | None:
    if parsed.has("no-tools"):
        return ()
    names = parsed.value("tools")
    if names is None:
        return None
    return tuple(name for part in names.split(",") if (name := part.strip()))


def _both(one: Callable[[], None], other: Callable[[], None]) -> Callable[[], None]:
    def call() -> None:
        one()
        other()

    return call


def _watch_start(session: Session) -> None:
    """Note when the first request goes out and the first of its answer comes back."""
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
