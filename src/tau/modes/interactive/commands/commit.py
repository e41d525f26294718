"""/commit: commits what is staged, after a question."""

from tau.base.run import LocalRunner
from tau.coding.commit.committer import CommitOptions, Committer, Proposal
from tau.coding.commit.writer import CommitModel
from tau.coding.session.stats import record_costs
from tau.modes.interactive.command_context import CommandContext


async def commit(context: CommandContext, rest: str) -> None:
    """Raises TauError."""
    session = context.require_session()
    words = rest.split()
    options = CommitOptions(
        split="--split" in words,
        all="--all" in words,
        context=" ".join(word for word in words if word not in ("--split", "--all")),
    )

    async def connect() -> CommitModel:
        role = session.models.first_of("commit", "smol")
        complete = record_costs(session.names.complete, session.log, "commit")
        return CommitModel(complete, session.models.role(role), session.models.level(role) or "off")

    async def approve(proposal: Proposal) -> bool:
        return bool(await context.ui.confirm("Commit?", proposal.describe()))

    settings = context.settings
    runner = LocalRunner(shell=settings.shell_path, pass_env=settings.tools.pass_env)
    try:
        result = await Committer(context.cwd, runner, settings.commit, connect, approve).commit(options)
    finally:
        runner.close()
    if result is None:
        context.say("Not committed.")
        return
    rows = zip(result.commits, result.messages, strict=True)
    context.say("\n".join(f"{made[:10]} {message.splitlines()[0]}" for made, message in rows))
