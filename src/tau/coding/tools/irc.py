"""irc: messages between the agents of a session."""

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field
from msgspec.structs import replace

from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.base.errors import ToolError
from tau.base.late import late
from tau.coding.ports import CodingContext

if TYPE_CHECKING:
    from tau.coding.task.late_team import LateTeam
    from tau.coding.task.ports import AgentMessage, Mail, MessageReceipt, PeerRow

delivery = late("tau.coding.jobs.delivery")

MAIN, ALL = "Main", "all"
DEFAULT_TIMEOUT_MS = 120_000


class IrcParams(Struct, frozen=True):
    op: Annotated[Literal["send", "wait", "inbox", "list"], Meta(title="What to do")]
    to: Annotated[str | None, Meta(title="send: an agent's id, or all")] = None
    message: Annotated[str | None, Meta(title="send: the text")] = None
    reply_to: Annotated[str | None, Meta(title="send: id of the message this answers")] = field(
        name="replyTo", default=None
    )
    await_: Annotated[bool, Meta(title="send: then wait for that agent's next message")] = field(
        name="await", default=False
    )
    sender: Annotated[str | None, Meta(title="wait: only for messages of this agent")] = field(
        name="from", default=None
    )
    timeout_ms: Annotated[float | None, Meta(title="How long to wait; 0: without limit")] = field(
        name="timeoutMs", default=None
    )
    peek: Annotated[bool, Meta(title="inbox: leave the messages there")] = False


class IrcDetails(Struct, frozen=True, rename="camel", kw_only=True):
    """`waited` is null if a wait ended without a message."""

    op: str
    sender: str | UnsetType = field(name="from", default=UNSET)
    to: str | UnsetType = UNSET
    receipts: "list[MessageReceipt] | UnsetType" = UNSET
    waited: "AgentMessage | UnsetType | None" = UNSET
    inbox: "list[AgentMessage] | UnsetType" = UNSET
    peers: "list[PeerRow] | UnsetType" = UNSET


class Irc(Tool[IrcParams]):
    """`agent` is the id of the agent that calls it; empty in the main conversation."""

    name, label = "irc", "Message"

    def __init__(self, team: "LateTeam | None" = None, agent: str = "") -> None:
        self._team = team
        self._id = agent or MAIN

    async def run(self, params: IrcParams, ctx: CodingContext) -> ToolOutput:
        if self._team is None:
            raise ToolError("IRC is unavailable in this session.")
        mail = self._team().mail
        match params.op:
            case "list":
                return self._list(mail)
            case "send":
                return await self._send(mail, params)
            case "wait":
                details = IrcDetails(op="wait", sender=params.sender or UNSET)
                return await self._wait(mail, params, _named(params.sender), details, [])
            case "inbox":
                found = mail.take(self._id, peek=params.peek)
                text = "\n".join([f"{len(found)} message(s):", *(f"- {one.line()}" for one in found)])
                return ToolOutput.text(text if found else "Inbox empty.", IrcDetails(op="inbox", inbox=found))

    def _list(self, mail: "Mail") -> ToolOutput:
        rows = mail.peers(self._id)
        if not rows:
            return ToolOutput.text("No other agents.", IrcDetails(op="list", peers=[]))
        lines = [f"{len(rows)} peer(s):"]
        for row in rows:
            facts = [f"{row.unread} unread"] if row.unread else []
            facts += [f"started by {row.parent}"] if isinstance(row.parent, str) else []
            facts.append(f"active {delivery.duration_text(row.quiet_ms)} ago")
            lines.append(f"- {row.id} [{row.agent} · {row.kind} · {row.status}] {', '.join(facts)}")
        lines.append("Parked agents are revived when messaged.")
        return ToolOutput.text("\n".join(lines), IrcDetails(op="list", peers=rows))

    async def _send(self, mail: "Mail", params: IrcParams) -> ToolOutput:
        to, body = _named(params.to), (params.message or "").strip()
        if not to:
            raise ToolError("`to` is missing: an agent's id, or all.")
        if not body:
            raise ToolError("`message` is empty.")
        if to.lower() == self._id.lower():
            raise ToolError("You cannot send a message to yourself.")
        if params.await_ and to.lower() == ALL:
            raise ToolError("`await` works with one recipient, not with all.")
        if params.await_:
            mail.refuse_cycle(self._id, mail.exact(to))
        live = [row.id for row in mail.peers(self._id) if row.status in ("running", "idle")]
        targets = live if to.lower() == ALL else [to]
        if not targets:
            raise ToolError("There is nobody to send to.")
        receipts = [await mail.send(self._id, one, body, params.reply_to) for one in targets]
        lines = [_receipt(one) for one in receipts]
        details = IrcDetails(op="send", to=to, receipts=receipts)
        is_error = all(one.outcome == "failed" for one in receipts)
        if not params.await_ or is_error:
            return ToolOutput.text("\n".join(lines), details, is_error=is_error)
        return await self._wait(mail, params, receipts[0].to, details, lines)

    async def _wait(
        self, mail: "Mail", params: IrcParams, sender: str | None, details: IrcDetails, lines: list[str]
    ) -> ToolOutput:
        limit_s = _limit_s(params.timeout_ms, mail.timeout_ms)
        waited = await mail.wait(self._id, None if sender is None else mail.exact(sender), limit_s)
        if waited is None:
            lines.append(f"No message within {delivery.duration_text(round((limit_s or 0) * 1000))}.")
            if lines[1:]:
                lines.append("Check inbox or wait again; do not send it again.")
        else:
            lines.append(waited if isinstance(waited, str) else waited.line())
        message = None if isinstance(waited, str) else waited
        return ToolOutput.text("\n".join(lines), replace(details, waited=message))


def _limit_s(asked_ms: float | None, usual_ms: int) -> float | None:
    """In seconds; None: no limit. What is not a time counts as the usual one."""
    value = usual_ms if asked_ms is None else asked_ms
    if not value >= 0 or value == float("inf"):
        value = DEFAULT_TIMEOUT_MS
    return max(int(value), 1) / 1000 if value else None


def _named(name: str | None) -> str | None:
    return (name or "").strip() or None


def _receipt(receipt: "MessageReceipt") -> str:
    note = f" — {receipt.error}" if isinstance(receipt.error, str) else ""
    return f"{receipt.to}: {receipt.outcome}{note}"
