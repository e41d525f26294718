"""Commands about the conversation: prompts, the queue, shell commands, compaction, retry."""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from tau.agent.events import CompactionResult
from tau.agent.loop_owner import InterruptMode
from tau.agent.queue import TakeMode, user_message
from tau.ai.wire import Attachment, ImageContent
from tau.base.errors import TauError
from tau.base.late import late
from tau.modes.session_commands.command import CallId, CommandCall, NoFields, command

attachment_texts = late("tau.modes.session_commands.attachment_texts")
extension_faces = late("tau.modes.extension_faces")

Disposition = Literal["started", "steered", "queued"]


class PromptRequest(Struct, frozen=True, rename="camel"):
    """`streaming_behavior` says what to do with the message while the agent is working."""

    message: str
    images: list[ImageContent] = []
    attachments: list[Attachment] = []
    streaming_behavior: Literal["steer", "followUp"] | None = None


class MessageRequest(Struct, frozen=True, rename="camel"):
    message: str
    images: list[ImageContent] = []


class PromptAccepted(Struct, frozen=True, rename="camel"):
    """Whether the message started a run, steers the current one, or is queued for its end."""

    disposition: Disposition


class ClearedQueue(Struct, frozen=True, rename="camel"):
    """The texts of the removed messages."""

    steering: list[str]
    follow_up: list[str]


class BashRequest(Struct, frozen=True, rename="camel"):
    command: str
    exclude_from_context: bool = False


class BashResult(Struct, frozen=True, rename="camel"):
    output: str
    exit_code: int | None
    cancelled: bool
    truncated: bool
    full_output_path: str | UnsetType = UNSET


class BashUpdate(Struct, frozen=True, rename="camel", tag_field="type", tag="bash_execution_update"):
    """Output of a running `bash` command; `id` is that of the command."""

    delta: str
    id: CallId | UnsetType = UNSET


class InstructionsRequest(Struct, frozen=True, rename="camel"):
    custom_instructions: str = ""


class ManualCompactionStart(Struct, frozen=True, rename="camel", tag_field="type", tag="compaction_start"):
    """Sent for `compact`; a session reports only automatic compactions."""

    reason: Literal["manual"] = "manual"
    action: Literal["context-full"] = "context-full"


class ManualCompactionEnd(
    Struct, frozen=True, rename="camel", tag_field="type", tag="compaction_end", kw_only=True
):
    result: CompactionResult | None = None
    aborted: bool = False
    error_message: str | UnsetType = UNSET
    will_retry: bool = False
    reason: Literal["manual"] = "manual"
    action: Literal["context-full"] = "context-full"


class HandoffResult(Struct, frozen=True, rename="camel"):
    """The document that starts the new session, and its file if it was saved."""

    document: str
    saved_path: str | UnsetType = UNSET


class TakeModeRequest(Struct, frozen=True):
    mode: TakeMode


class InterruptModeRequest(Struct, frozen=True):
    mode: InterruptMode


class EnabledRequest(Struct, frozen=True):
    enabled: bool


async def prompt(call: CommandCall, request: PromptRequest) -> PromptAccepted:
    host = call.host
    joins = host.busy
    if request.message.startswith("/") and extension_faces.start_command(host, request.message):
        return PromptAccepted("steered" if joins else "started")
    attachments = await attachment_texts.with_texts(request.attachments) if request.attachments else []
    text = host.expand(request.message)
    if not host.busy or request.streaming_behavior is None:
        host.prompt(text, request.images, attachments)
        return PromptAccepted("started")
    host.check_message(text, request.images, attachments)
    message = user_message(text, request.images, attachments)
    if request.streaming_behavior == "steer":
        host.session.queue.steer(message)
        return PromptAccepted("steered")
    host.session.queue.follow_up(message)
    return PromptAccepted("queued")


async def steer(call: CommandCall, request: MessageRequest) -> PromptAccepted:
    return await prompt(call, PromptRequest(request.message, request.images, streaming_behavior="steer"))


async def follow_up(call: CommandCall, request: MessageRequest) -> PromptAccepted:
    return await prompt(call, PromptRequest(request.message, request.images, streaming_behavior="followUp"))


async def abort(call: CommandCall, request: NoFields) -> None:
    await call.host.abort()


async def abort_and_prompt(call: CommandCall, request: MessageRequest) -> PromptAccepted:
    call.host.check_message(request.message, request.images)
    await call.host.abort()
    call.host.prompt(request.message, request.images)
    return PromptAccepted("started")


async def clear_queue(call: CommandCall, request: NoFields) -> ClearedQueue:
    queue = call.host.session.queue
    waiting = queue.waiting()
    queue.clear()
    return ClearedQueue(
        steering=[item.text for item in waiting if item.kind == "steering"],
        follow_up=[item.text for item in waiting if item.kind == "followUp"],
    )


async def bash(call: CommandCall, request: BashRequest) -> BashResult:
    def show(text: str) -> None:
        call.send(BashUpdate(text, UNSET if call.id is None else call.id))

    message = await call.host.session.bash(request.command, exclude=request.exclude_from_context, show=show)
    return BashResult(
        message.output, message.exit_code, message.cancelled, message.truncated, message.full_output_path
    )


async def abort_bash(call: CommandCall, request: NoFields) -> None:
    call.host.session.activities.abort_bash()


async def compact(call: CommandCall, request: InstructionsRequest) -> CompactionResult:
    call.send(ManualCompactionStart())
    end = ManualCompactionEnd(aborted=True)
    try:
        result = await call.host.session.compact(request.custom_instructions)
        end = ManualCompactionEnd(result=result)
    except TauError as error:
        end = ManualCompactionEnd(error_message=str(error))
        raise
    finally:
        call.send(end)
    return result


async def handoff(call: CommandCall, request: InstructionsRequest) -> HandoffResult:
    host = call.host
    session = host.session
    with session.activities.begin(run=True) as abort:
        made = await session.compaction.handoff(request.custom_instructions, abort)
    if await host.new(session.log.path):
        host.prompt(made.prompt)
    return HandoffResult(made.document, UNSET if made.path is None else str(made.path))


async def set_steering_mode(call: CommandCall, request: TakeModeRequest) -> None:
    call.host.session.queue.steering_mode = request.mode


async def set_follow_up_mode(call: CommandCall, request: TakeModeRequest) -> None:
    call.host.session.queue.follow_up_mode = request.mode


async def set_interrupt_mode(call: CommandCall, request: InterruptModeRequest) -> None:
    call.host.session.requests.interrupt_mode = request.mode


async def set_auto_compaction(call: CommandCall, request: EnabledRequest) -> None:
    call.host.session.compaction.enabled = request.enabled


async def set_auto_retry(call: CommandCall, request: EnabledRequest) -> None:
    retry = call.host.session.retry
    retry.settings = replace(retry.settings, enabled=request.enabled)


async def abort_retry(call: CommandCall, request: NoFields) -> None:
    call.host.session.retry.cancel_wait()


COMMANDS = (
    command(prompt, "Send a message; answered when it is accepted"),
    command(steer, "Send a message between turns of the current run, or start one"),
    command(follow_up, "Queue a message for the end of the current run, or start one"),
    command(abort, "Stop the agent; answered when it is idle. Queued messages stay", slow=True),
    command(abort_and_prompt, "Stop the agent, then send a message"),
    command(clear_queue, "Remove queued messages and return their texts"),
    command(bash, "Run a shell command and add it to the conversation", slow=True),
    command(abort_bash, "Stop running shell commands"),
    command(compact, "Summarize older messages to free up context", slow=True),
    command(handoff, "Write a summary and continue with it in a new session", slow=True),
    command(set_steering_mode, "Send queued steering messages one per turn, or all at once"),
    command(set_follow_up_mode, "Send queued follow-ups one per run, or all at once"),
    command(set_interrupt_mode, "Let steering interrupt the calls of a turn, or wait for its end"),
    command(set_auto_compaction, "Turn automatic compaction on or off"),
    command(set_auto_retry, "Turn automatic retries on or off"),
    command(abort_retry, "Stop waiting for a retry; the run ends with its error"),
)
