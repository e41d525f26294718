"""/omfg: turns a complaint about the agent into a rule."""

from tau.base.errors import UsageError
from tau.coding.rules.rule_draft import draft_rule, save_draft
from tau.coding.session.stats import record_costs
from tau.modes.interactive.command_context import CommandContext

SAVE, DISCARD = "Save the rule", "Discard it"
MAX_SHOWN = 5


async def omfg(context: CommandContext, rest: str) -> None:
    """Draft a rule, try it on this session, save it if the user agrees. Raises TauError."""
    if not rest.strip():
        raise UsageError("Say what went wrong: /omfg it keeps adding print statements.")
    session = context.require_session()
    context.hint("Drafting a rule...")
    with session.activities.begin() as abort:
        async with abort.scope():
            complete = record_costs(session.complete, session.log, "omfg")
            draft = await draft_rule(rest.strip(), session.log.messages(), complete, session.model)
        if draft.rule.bucket == "stream":
            count = len(draft.matches)
            found = [f"It matches {count or 'no'} part{'' if count == 1 else 's'} of this session."]
            found += [f"  {text}" for text in draft.matches[:MAX_SHOWN]]
        else:
            found = ["It has no condition: it becomes part of every prompt."]
        named = f"Rule {draft.rule.name}"
        title = "\n".join([named, draft.text.rstrip(), "", *found, "", "Save this rule?"])
        answer = await context.ui.select(title, (SAVE, DISCARD))
    if answer != SAVE:
        context.say("The rule was not saved.")
        return
    path = save_draft(draft, context.paths.home / "rules")
    context.say(f"Saved {path}; it applies from the next session on, or after /reload.")
