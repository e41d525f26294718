"""What the commands /agents and `tau agents` show and do."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tau.base.errors import TauError, UsageError
from tau.base.late import late
from tau.base.text import quantity
from tau.coding.session.session import Session

if TYPE_CHECKING:
    from tau.coding.task.catalog import AgentCatalog
    from tau.coding.task.results import AgentProgress

delivery = late("tau.coding.jobs.delivery")
ports = late("tau.coding.task.ports")

STALLED_MS = 60_000
NO_AGENTS = "No agents yet. The model starts them, or ask it to; /agents kinds lists what it can start."
USAGE = "Usage: /agents [stop ID|all] [message ID TEXT] [result|diff|apply|discard|revive|forget ID] [kinds]."


def agent_state(row: "AgentProgress") -> str:
    """How its work is going, in a word or two."""
    if row.waiting:
        return "waiting for you"
    if row.status == "aborted" and row.state == "parked":
        return "interrupted"  # tau ended while it worked; a message continues it
    is_stalled = row.status == "running" and row.quiet_ms >= STALLED_MS
    return "stalled" if is_stalled else row.status


def agent_activity(row: "AgentProgress") -> str:
    """The current tool and its target, or what the agent is for."""
    return f"{row.current_tool} {row.current_target}".strip() or row.description or row.task


def rank(row: "AgentProgress") -> int:
    """Those that wait for the user come first, then those that failed; those that are done come last."""
    return 0 if row.waiting else {"failed": 1, "aborted": 1, "completed": 3}.get(row.status, 2)


def describe_row(row: "AgentProgress") -> str:
    """One agent in one line."""
    state, doing = agent_state(row), agent_activity(row)
    spent = f"{quantity(row.requests, 'request')}, {row.tokens:,} tokens, ${row.cost:.2f}"
    age = delivery.duration_text(row.duration_ms)
    return f"{row.id} ({row.agent}, {row.model.rpartition('/')[2]}): {state}, {spent}, {age}: {doing[:100]}"


def list_rows(rows: "Sequence[AgentProgress]") -> list[str]:
    """By rank, then as they were started."""
    return [describe_row(row) for row in sorted(rows, key=rank)]


def list_kinds(catalog: "AgentCatalog") -> list[str]:
    lines = [f"{one.name} ({one.source}): {one.description}" for one in catalog.agents]
    return [*lines, *(f"Not used: {one.name}: {one.why}" for one in catalog.problems)]


async def run_command(session: Session, rest: str) -> str:
    """Raises TauError."""
    if session.team is None:
        raise TauError("This session has no agents.")
    verb, _, argument = rest.strip().partition(" ")
    id, _, text = argument.strip().partition(" ")
    if verb in ("", "list"):
        rows = [] if session.team.made is None else session.team.made.rows()
        return "\n".join(list_rows(rows)) or NO_AGENTS
    team = session.team()
    if verb == "kinds":
        return "\n".join(list_kinds(team.catalog(fresh=True)))
    if not id:
        raise UsageError(USAGE)
    match verb:
        case "stop":
            count = team.stop_all() if id == "all" else int(team.stop(id))
            return f"Stopped {count} agents." if count != 1 else "Stopped one agent."
        case "message" if text.strip():
            receipt = await team.mail.send(ports.USER, id, text.strip())
            if receipt.outcome == "failed":
                raise TauError(str(receipt.error))
            return f"{receipt.to}: {receipt.outcome}."
        case "result":
            result = team.result(id)
            return f"{id} has no result yet." if result is None else result.output or str(result.error)
        case "diff" | "apply" | "discard":
            act = {"diff": team.diff, "apply": team.apply, "discard": team.discard}[verb]
            return await act(id) or "It changed no files."
        case "revive":
            await team.wake(id)
            return f"{id} is idle."
        case "forget":
            await team.dismiss(id)
            return f"Forgot {id}; its transcript stays."
        case _:
            raise UsageError(USAGE)
