"""Commands about the conversation: plan, retry, what waits, and making it shorter."""

from pathlib import Path

from tau.agent.queue import QueuedMessage
from tau.ai.wire import UserMessage
from tau.base.errors import UsageError
from tau.modes.exit_status import INTERRUPTED, judge
from tau.modes.interactive.app import App, SessionSwitch
from tau.modes.interactive.commands.shared_text import columns, count, session_of

_WHEN = {"steering": "next", "followUp": "afterwards"}


async def plan(app: App, rest: str) -> None:
    """Begin to plan, end it, or plan this."""
    mode = session_of(app).plan
    if rest == "review":
        reviewed = await mode.review(app.ui)
        if reviewed.prompt:
            app.commands.send(reviewed.prompt)
    elif rest == "off" or (mode.on and not rest):
        told = "Plan mode is over." if mode.on else "Plan mode is not on."
        mode.leave()
        app.say(told)
    else:
        mode.enter()
        app.say("Plan mode: the agent looks and writes a plan; /plan ends it.")
        if rest:
            app.commands.send(rest)
    app.status_line.refresh()


async def retry(app: App, rest: str) -> None:
    """Send the last request again. Raises TauError where there is none."""
    session = session_of(app)
    outcome = await session.go_on(moved=lambda: app.events.rebuild(elsewhere=False))
    if session is app.session:
        verdict = judge(outcome)
        if verdict.remark and verdict.code != INTERRUPTED:
            app.banner.show(verdict.remark)
        app.events.settled(stopped=outcome.aborted)


async def queue(app: App, rest: str) -> None:
    """Show what waits; or edit, drop, take back, clear."""
    waiting = [item for item in session_of(app).queue.waiting() if item.kind in _WHEN]
    verb, _, which = rest.partition(" ")
    match verb:
        case "" | "list":
            _list(app, waiting)
        case "clear":
            dropped = len(session_of(app).queue.clear())
            app.say(f"{count(dropped, 'message').capitalize()} dropped.")
        case "back" if waiting:
            _to_editor(app, waiting[-1])
        case "edit" if waiting:
            _to_editor(app, _numbered(waiting, which or "1"))
        case "drop" if waiting:
            item = _numbered(waiting, which)
            session_of(app).queue.settle(item.message)
            app.say("Dropped; it is not sent.")
        case "back" | "edit" | "drop":
            app.say("Nothing waits to be sent.")
        case _:
            raise UsageError("Write it as /queue, /queue edit N, /queue drop N, /queue back or /queue clear.")


def _list(app: App, waiting: list[QueuedMessage]) -> None:
    if not waiting:
        app.say("Nothing waits to be sent.")
        return
    rows = [(str(number), _WHEN[item.kind], item.text) for number, item in enumerate(waiting, start=1)]
    note = "/queue edit N takes one back to change it, /queue drop N drops it."
    app.say("\n".join(["Waiting to be sent:", *columns(app, rows, right=(0,), indent=2), note]))


def _numbered(waiting: list[QueuedMessage], number: str) -> QueuedMessage:
    if not number.isdecimal() or not 1 <= int(number) <= len(waiting):
        raise UsageError(f"Name one by its number, from 1 to {len(waiting)}; /queue shows them.")
    return waiting[int(number) - 1]


def _to_editor(app: App, item: QueuedMessage) -> None:
    """What waits is taken out and stands in the editor, before what is being typed there."""
    message = item.message
    if isinstance(message, UserMessage):
        session_of(app).queue.settle(message)
        app.input.sending.take_back([message])


async def compact(app: App, rest: str) -> None:
    """Raises TauError and Aborted."""
    app.lane.show("Summarising what was said")
    try:
        await session_of(app).compact(rest)
    finally:
        app.lane.hide()
    app.status_line.refresh()


async def handoff(app: App, rest: str) -> None:
    """Raises TauError and Aborted."""
    session = session_of(app)
    app.lane.show("Writing down what matters")
    try:
        with session.activities.begin(run=True) as abort:
            made = await session.compaction.handoff(rest, abort)
    finally:
        app.lane.hide()
    where = "" if made.path is None else f" What was handed over is in {made.path}."
    app.leave(SessionSwitch("new", prompt=made.prompt, notice=f"A new session takes over.{where}"))


async def shake(app: App, rest: str) -> None:
    session = session_of(app)
    with session.activities.begin(run=True):
        saved = session.compaction.shake()
    app.say(f"About {saved:,} tokens of heavy output are no longer sent; the session keeps them.")
    app.status_line.refresh()


async def init(app: App, rest: str) -> None:
    """Ask the agent to describe the project for agents."""
    prompt = Path(__file__).with_name("init.md").read_text(encoding="utf-8").strip()
    app.commands.send(f"{prompt}\n\n{rest}" if rest else prompt)
