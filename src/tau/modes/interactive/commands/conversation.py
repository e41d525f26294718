"""Commands about the conversation: plan, retry, queue and compaction."""

from pathlib import Path

from tau.agent.queue import QueuedMessage
from tau.ai.wire import UserMessage
from tau.base.errors import NothingToDo, TauError, UsageError
from tau.modes.exit_status import INTERRUPTED, judge
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.commands.shared_text import columns
from tau.modes.interactive.current_session import SessionSwitch
from tau.modes.session_report import count

_WHEN = {"steering": "next", "followUp": "afterwards"}


async def plan(context: CommandContext, rest: str) -> None:
    """Enter or leave plan mode, or plan the given task."""
    mode = context.require_session().plan
    if rest == "review":
        reviewed = await mode.review(context.ui, context.ui)
        if reviewed.prompt:
            context.actions.send(reviewed.prompt)
    elif rest == "off" or (mode.on and not rest):
        text = "Plan mode off." if mode.on else "Plan mode is off."
        mode.leave()
        context.say(text)
    else:
        mode.enter()
        context.say("Plan mode on: the agent explores and writes a plan. /plan turns it off.")
        if rest:
            context.actions.send(rest)
    context.status_line.refresh()


async def retry(context: CommandContext, rest: str) -> None:
    """Send the last request again. Raises TauError if there is none."""
    session = context.require_session()
    outcome = await session.go_on(moved=lambda: context.transcript.rebuild(elsewhere=False))
    if session is context.session:
        verdict = judge(outcome)
        if verdict.remark and verdict.code != INTERRUPTED:
            context.notices.show_error(verdict.remark)
        context.transcript.finish_run(stopped=outcome.aborted)


async def queue(context: CommandContext, rest: str) -> None:
    """List, edit, drop or clear queued messages."""
    waiting = [item for item in context.require_session().queue.waiting() if item.kind in _WHEN]
    verb, _, which = rest.partition(" ")
    match verb:
        case "" | "list":
            _list(context, waiting)
        case "clear":
            dropped = len(context.require_session().queue.clear())
            context.say(f"{count(dropped, 'message').capitalize()} dropped.")
        case "back" if waiting:
            _to_editor(context, waiting[-1])
        case "edit" if waiting:
            _to_editor(context, _numbered(waiting, which or "1"))
        case "drop" if waiting:
            item = _numbered(waiting, which)
            context.require_session().queue.settle(item.message)
            context.say("Message dropped.")
        case "back" | "edit" | "drop":
            context.say("The queue is empty.")
        case _:
            raise UsageError("Usage: /queue, /queue edit N, /queue drop N, /queue back or /queue clear.")


def _list(context: CommandContext, waiting: list[QueuedMessage]) -> None:
    if not waiting:
        context.say("The queue is empty.")
        return
    rows = [(str(number), _WHEN[item.kind], item.text) for number, item in enumerate(waiting, start=1)]
    note = "/queue edit N edits a message, /queue drop N drops it."
    context.say("\n".join(["Queued messages:", *columns(context.display, rows, right=(0,), indent=2), note]))


def _numbered(waiting: list[QueuedMessage], number: str) -> QueuedMessage:
    if not number.isdecimal() or not 1 <= int(number) <= len(waiting):
        raise UsageError(f"Give a number from 1 to {len(waiting)}; /queue lists them.")
    return waiting[int(number) - 1]


def _to_editor(context: CommandContext, item: QueuedMessage) -> None:
    """Move a queued message into the editor, before the current draft."""
    message = item.message
    if isinstance(message, UserMessage):
        context.require_session().queue.settle(message)
        context.sender.return_to_editor([message])


async def compact(context: CommandContext, rest: str) -> None:
    """A failure stays in the transcript. Raises Aborted."""
    context.activity.show("Summarizing the conversation")
    try:
        await context.require_session().compact(rest)
    except NothingToDo:
        raise
    except TauError as error:
        context.say(str(error), "error")
    finally:
        context.activity.hide()
    context.status_line.refresh()


async def handoff(context: CommandContext, rest: str) -> None:
    """A failure stays in the transcript. Raises Aborted."""
    session = context.require_session()
    context.activity.show("Writing a summary")
    try:
        with session.activities.begin(run=True) as abort:
            made = await session.compaction.handoff(rest, abort)
    except NothingToDo:
        raise
    except TauError as error:
        context.say(str(error), "error")
        return
    finally:
        context.activity.hide()
    where = "" if made.path is None else f" The summary is in {made.path}."
    notice = f"Continuing in a new session.{where}"
    context.actions.leave(SessionSwitch("new", prompt=made.prompt, notice=notice, carried=session.model))


async def shake(context: CommandContext, rest: str) -> None:
    session = context.require_session()
    with session.activities.begin(run=True):
        saved = session.compaction.shake()
    context.say(f"Dropped about {saved:,} tokens of tool output from context; the session keeps them.")
    context.status_line.refresh()


async def init(context: CommandContext, rest: str) -> None:
    """Ask the agent to write AGENTS.md."""
    prompt = Path(__file__).with_name("init.md").read_text(encoding="utf-8").strip()
    context.actions.send(f"{prompt}\n\n{rest}" if rest else prompt)
