"""Sends a message into the run that is under way, where the agent and the config allow that."""

from tau.relay.message import InboundMessage
from tau.relay.prompt import timestamp
from tau.relay.sessions import match_reset

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tau.relay.relay import ChatQueue, Relay, WaitingMessage


async def steer(relay: "Relay", queue: "ChatQueue", waiting: "WaitingMessage") -> bool:
    """Whether the message is now part of the run; its answer then answers the message too."""
    settings = relay.config.inbound
    if settings.reply.agent.while_busy != "steer" or queue.waiting or not queue.current:
        return False
    message = waiting.message
    if message.sender != queue.current[-1].message.sender or message.files:
        return False
    is_reset, _ = match_reset(message.body, settings.reply.session.reset_triggers)
    if is_reset or relay.commands.is_command(message):
        return False
    queue.current.append(waiting)  # before the run can end
    if await relay.live.steer(queue.session_key, _text(relay, message)):
        return True
    queue.current.remove(waiting)
    return False


def _text(relay: "Relay", message: InboundMessage) -> str:
    settings = relay.config.inbound
    time = timestamp(settings.timestamp_prefix, message.sent_ms)
    text = f"{time}{settings.message_prefix}{message.body}".replace("\0", "\ufffd")
    return f" {text}" if text[:1] in ("/", "!", "#", "@", "$") else text
