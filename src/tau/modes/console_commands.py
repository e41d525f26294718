"""Slash commands and shell lines of the plain conversation."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from tau.agent.abort import Aborted
from tau.agent.ui import Ui
from tau.base.errors import TauError
from tau.base.late import late
from tau.coding.extensions import SessionExtensions
from tau.coding.session.session import Session
from tau.coding.session.tree_rows import draw_row
from tau.config.paths import user_paths
from tau.modes import command_table
from tau.modes.columns import align_rows
from tau.modes.command_table import PLAIN, ROWS
from tau.modes.plain_transcript import PlainTranscript

SIGNS = """\
!COMMAND                       run a command; !!COMMAND stays out of the model's context
$CODE                          run Python; $$CODE stays out of the model's context\
"""
NAME_COLUMNS = 29
MAX_ROWS = 200

exports = late("tau.modes.session_export")
models = late("tau.modes.model_list")
permissions_report = late("tau.modes.permissions_report")
report = late("tau.modes.session_report")
trust_question = late("tau.modes.trust_question")
undo_report = late("tau.coding.undo.report")


def _help_line(name: str) -> str:
    row = ROWS[name]
    aliases = "".join(f"; also /{alias}" for alias in row.aliases)
    return f"{f'/{name} {PLAIN[name]}'.rstrip():<{NAME_COLUMNS}}  {row.description}{aliases}"


class ConsoleCommands:
    def __init__(self, session: Session, transcript: PlainTranscript, help: str, ui: Ui) -> None:
        self._open_session = session
        self._transcript = transcript
        self._ui = ui
        self._help_text = "\n".join([help, *map(_help_line, PLAIN), SIGNS])
        self.handed_over: str | None = None  # the first message of the next session

    async def run(self, text: str) -> bool:
        """Whether it was a command: only what starts with a slash is. A message may, such as a path."""
        if text[:1] in ("!", "$") and text.strip(text[0]).strip():
            await _guard(_execute(self._open_session, self._transcript, text), self._transcript)
            return True
        name, rest = command_table.split(text)
        row = command_table.find(name)
        if row is not None and row.name not in PLAIN:
            self._transcript.line(f"/{row.name} needs the interactive screen; start tau without --plain.")
        elif row is not None and rest and not PLAIN[row.name]:
            self._transcript.line(f"/{row.name} takes no arguments here, so nothing was done.")
        elif row is not None and self._open_session.activities.running and not row.while_busy:
            self._transcript.line("The agent is working; Ctrl+C stops it.")
        elif row is not None:
            await _guard(getattr(self, f"_{row.name}")(rest), self._transcript)
        elif (
            name
            and (extensions := self._open_session.extensions) is not None
            and any(command.name == name for command in extensions.commands())
        ):
            await _guard(_run_extension(extensions, text), self._transcript)
        elif name.isalpha() and not rest:
            hint = command_table.did_you_mean(command_table.suggest(name, command_table.VERY_NEAR))
            self._transcript.line(f'Unknown command "{text}".{hint}\n{self._help_text}')
        elif name and (near := command_table.suggest(name, command_table.VERY_NEAR)):
            hint = command_table.did_you_mean(near)
            self._transcript.line(f"Unknown command /{name}.{hint} A message starts with another word.")
        else:
            return False
        return True

    async def _help(self, rest: str) -> None:
        self._transcript.line(self._help_text)

    async def _session(self, rest: str) -> None:
        self._transcript.line("\n".join(align_rows(report.info_rows(self._open_session))))

    async def _usage(self, rest: str) -> None:
        rows, note = report.usage_rows(self._open_session)
        if not rows:
            raise TauError("No usage yet.")
        self._transcript.line("\n".join(align_rows([report.USAGE_HEAD, *rows])))
        self._transcript.line("\n".join([note, *report.limit_lines(self._open_session)]))

    async def _context(self, rest: str) -> None:
        session = self._open_session
        usage = session.compaction.usage()
        window, used = usage.window, usage.tokens
        self._transcript.line(
            f"{session.setup().model.key}: about {used:,} of {window:,} tokens used, {usage.percent:g}%."
        )
        parts = [(part.name, part.tokens) for part in report.context_parts(session, used, " ")]
        rows = [
            (name, f"{tokens:,} tokens", report.share_text(tokens, window))
            for name, tokens in (*parts, ("free", max(window - used, 0)))
        ]
        self._transcript.line("\n".join(align_rows(rows)))
        for path, size in report.file_rows(session):
            self._transcript.line(f"{path}: {size}")
        self._transcript.line(report.advice(session, window))

    async def _shake(self, rest: str) -> None:
        with self._open_session.activities.begin(run=True):
            saved = self._open_session.compaction.shake()
        self._transcript.line(
            f"Dropped about {saved:,} tokens of tool output from context; the session keeps them."
        )

    async def _export(self, rest: str) -> None:
        session, paths = self._open_session, user_paths()
        self._transcript.line(await exports.export_session(session, rest, paths, self._transcript.line))

    async def _jobs(self, rest: str) -> None:
        jobs = self._open_session.jobs.list()
        if not jobs:
            raise TauError("No background jobs are running or recently finished.")
        self._transcript.line("\n".join(align_rows([(job.id, job.status, job.label) for job in jobs])))

    async def _model(self, rest: str) -> None:
        session = self._open_session
        if rest:
            local = session.settings.local
            chosen, level = await models.find_model(rest, user_paths(), session.model, local)
            session.use_model(await models.with_headers(chosen))
            if level is not None:
                session.use_thinking(level)
        thinking = f", thinking {session.thinking}" if session.model.reasoning else ""
        self._transcript.line(f"The model is {session.model.key}{thinking}.")

    async def _compact(self, focus: str) -> None:
        self._transcript.line("Summarizing; Ctrl+C stops it.")
        done = await self._open_session.compact(focus)
        before, after = f"{done.tokens_before:,}", f"{done.tokens_after:,}"
        self._transcript.line(f"Compacted the conversation from about {before} to {after} tokens.")

    async def _handoff(self, focus: str) -> None:
        self._transcript.line("Writing a summary; Ctrl+C stops it.")
        with self._open_session.activities.begin(run=True) as abort:
            handoff = await self._open_session.compaction.handoff(focus, abort)
        self.handed_over = handoff.prompt
        self._transcript.line("Continuing in a new session.")

    async def _name(self, name: str) -> None:
        if name:
            self._open_session.names.rename(name)
        shown = self._open_session.names.name
        self._transcript.line(f'The session name is "{shown}".' if shown else "The session has no name.")

    async def _tree(self, words: str) -> None:
        rows = self._open_session.tree.rows("default", words)
        first = max(0, len(rows) - MAX_ROWS)
        if first:
            self._transcript.line(f"{first} earlier rows not shown; find them with /tree WORDS.")
        for place in range(first, len(rows)):
            self._transcript.line(f"{rows[place].id}  {draw_row(rows, place)}")
        if not rows:
            self._transcript.line("The session is empty." if not words else "No matches.")

    async def _undo(self, rest: str) -> None:
        words = rest.split()
        count = int(words.pop(0)) if words and words[0].isdecimal() else 1
        paths = [Path(word).resolve() for word in words]
        self._transcript.line(
            await _applied(self._open_session, lambda undo: undo.plan(count=max(count, 1), paths=paths))
        )

    async def _redo(self, rest: str) -> None:
        self._transcript.line(await _applied(self._open_session, lambda undo: undo.redo_plan()))

    async def _trust(self, rest: str) -> None:
        session = self._open_session
        self._transcript.line(await trust_question.run_command(rest, self._ui, session.cwd, user_paths()))

    async def _plan(self, rest: str) -> None:
        on = self._open_session.plan.toggle()
        self._transcript.line(
            "Plan mode on: the agent explores and writes a plan. /plan turns it off."
            if on
            else "Plan mode off."
        )

    async def _permissions(self, rest: str) -> None:
        self._transcript.line(permissions_report.run_command(self._open_session.permissions, rest))

    async def _goto(self, target: str) -> None:
        if target not in self._open_session.log:
            raise TauError("Usage: /goto ID. /tree shows all entries.")
        move = await self._open_session.goto(target)
        if move.already_there:
            self._transcript.line("Already at this point.")
        elif move.cancelled:
            self._transcript.line("Canceled; the session has not moved.")
        elif move.editor_text:
            self._transcript.line(f"Your next message replaces this one:\n{move.editor_text}")
        else:
            self._transcript.line("Your next message continues from there.")


async def _execute(session: Session, transcript: PlainTranscript, text: str) -> None:
    """Run a shell line (`!`) or a Python line (`$`)."""
    sign = text[0]
    run = session.bash if sign == "!" else session.python
    code = text.removeprefix(sign).removeprefix(sign).strip()
    result = await run(code, exclude=text.startswith(sign * 2), show=transcript.stream)
    transcript.fresh_line()
    if result.cancelled:
        transcript.line("Stopped.")
    elif sign == "!" and result.exit_code != 0:
        transcript.line("Killed." if result.exit_code is None else f"Exit code {result.exit_code}.")


async def _guard(command: Coroutine[Any, Any, None], transcript: PlainTranscript) -> None:
    try:
        await command
    except Aborted:
        transcript.line("Stopped.")
    except TauError as error:
        transcript.fresh_line()
        transcript.line(str(error))


async def _applied(session: Session, make_plan: Callable[[Any], Any]) -> str:
    """Undo or redo, and return what was done, as lines."""
    recorder = session.recorder
    if recorder is None:
        raise TauError("This session has no file history.")
    plan, result = await recorder.change_back(make_plan)
    return "\n".join([*undo_report.result_lines(result, session.cwd), undo_report.summary(plan, result)])


async def _run_extension(extensions: SessionExtensions, text: str) -> None:
    await extensions.run_command(text)
