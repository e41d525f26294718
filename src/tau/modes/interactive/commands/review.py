"""/review: agents review uncommitted changes, a branch or a commit."""

from tau.ai.wire import CustomMessage
from tau.base.clock import now_ms
from tau.base.errors import NothingToDo, TauError
from tau.base.text import quantity
from tau.coding.task.code_review import run_review, split
from tau.config.paths import repo_root
from tau.modes.interactive.command_context import CommandContext
from tau.modes.review_targets import UNCOMMITTED, changed_files, find_target


async def review(context: CommandContext, rest: str) -> None:
    """Show the findings, and let the agent know them. Text that names no target says what to look at.

    Raises TauError.
    """
    session = context.require_session()
    if repo_root(context.cwd) is None:
        raise TauError("/review needs a Git repository; this folder is not in one.")
    if session.team is None:
        raise TauError("This session has no agents.")
    name, _, after = rest.partition(" ")
    target = await find_target(context.cwd, name) if name else None
    focus = rest if target is None else after.strip()
    target = target or UNCOMMITTED
    files = await changed_files(context.cwd, target)
    if not files:
        raise NothingToDo(f"There is nothing to review in {target.subject}.")
    reviewers = quantity(len(split(files)), "reviewer")
    context.say(f"{reviewers} for {quantity(len(files), 'file')}: {target.subject}.")
    with session.activities.begin() as abort:
        async with abort.scope():
            report = await run_review(session.team(), target.subject, target.how, files, focus)
    context.say(report.text(), "warning" if report.findings or report.failed else "info")
    text = f"[The user had {target.subject} reviewed. Findings:]\n{report.text()}"
    session.queue.aside(CustomMessage("review", text, False, now_ms(), report))
