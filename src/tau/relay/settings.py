"""The declared structure of relay.json: every key with its type, rule, default and description."""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct, field

from tau.relay.channel_settings import TelegramSettings, TwilioSettings, WhatsAppSettings, XmppSettings

AgentKind: TypeAlias = Literal["claude", "codex", "pi", "opencode", "gemini", "tau"]


class LoggingSettings(Struct, frozen=True, rename="camel"):
    level: Annotated[
        Literal["silent", "fatal", "error", "warn", "info", "debug", "trace"],
        Meta(description="Least severe level to log"),
    ] = "info"
    file: Annotated[str | None, Meta(description="Log file; by default relay.log in the state folder")] = None
    bodies: Annotated[bool, Meta(description="Log message bodies too")] = False


class TranscribeSettings(Struct, frozen=True, rename="camel"):
    command: Annotated[
        tuple[str, ...], Meta(description="Program that prints the transcript of {{MediaPath}}")
    ] = ()
    timeout_seconds: Annotated[int, Meta(description="Time limit for a transcription", ge=1)] = 45


class GroupSettings(Struct, frozen=True, rename="camel"):
    require_mention: Annotated[bool, Meta(description="Answer in a group only when mentioned")] = True
    mention_patterns: Annotated[
        tuple[str, ...], Meta(description="Regular expressions that count as a mention")
    ] = ()
    history_limit: Annotated[
        int, Meta(description="Earlier group messages passed to the agent", ge=0, le=500)
    ] = 50


class AgentSettings(Struct, frozen=True, rename="camel"):
    kind: Annotated[AgentKind, Meta(description="Agent CLI that answers; required")]
    format: Annotated[Literal["text", "json"], Meta(description="Output format of the CLI")] = "json"
    identity_prefix: Annotated[
        str | None,
        Meta(description="Text in front of each prompt; empty for none, unset for the built-in one"),
    ] = None
    prompt_via: Annotated[Literal["stdin", "arg"], Meta(description="How the CLI receives the prompt")] = (
        "stdin"
    )
    live: Annotated[bool, Meta(description="Keep pi and tau running between messages")] = True
    while_busy: Annotated[
        Literal["join", "steer"],
        Meta(description="Messages during a run: joined to one for the next run, or sent into it (pi, tau)"),
    ] = "join"


class SessionSettings(Struct, frozen=True, rename="camel"):
    scope: Annotated[Literal["per-sender", "global"], Meta(description="Who shares a conversation")] = (
        "per-sender"
    )
    reset_triggers: Annotated[tuple[str, ...], Meta(description="Messages that start a new conversation")] = (
        "/new",
    )
    idle_minutes: Annotated[
        int, Meta(description="Idle time after which a conversation starts over", ge=1)
    ] = 60
    heartbeat_idle_minutes: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="The same for heartbeats; unset means idleMinutes"),
    ] = None
    store: Annotated[
        str | None, Meta(description="Session file; by default sessions.json in the state folder")
    ] = None
    session_arg_new: Annotated[
        tuple[str, ...] | None, Meta(description="Arguments of a new session instead of the built-in ones")
    ] = None
    session_arg_resume: Annotated[
        tuple[str, ...] | None,
        Meta(description="Arguments of a resumed session instead of the built-in ones"),
    ] = None
    session_arg_before_body: Annotated[
        bool, Meta(description="Whether session arguments precede the body")
    ] = True
    send_system_once: Annotated[
        bool, Meta(description="Send identity prefix and bodyPrefix only with the first message")
    ] = False
    session_intro: Annotated[
        str | None, Meta(description="Text in front of the first message of a session")
    ] = None
    typing_interval_seconds: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="Older place of reply.typingIntervalSeconds")
    ] = None


class ReplySettings(Struct, frozen=True, rename="camel"):
    agent: AgentSettings
    mode: Annotated[
        Literal["text", "command"], Meta(description="Answer with a fixed text, or with the agent")
    ] = "command"
    text: Annotated[str | None, Meta(description="Answer of mode text; templated")] = None
    command: Annotated[
        tuple[str, ...],
        Meta(description="Command line of the agent; templated. By default the program's name"),
    ] = ()
    cwd: Annotated[
        str | None, Meta(description="Folder the agent works in; by default a folder of the relay")
    ] = None
    template: Annotated[str | None, Meta(description="Text in front of the prompt; templated")] = None
    body_prefix: Annotated[str | None, Meta(description="Text directly in front of the body; templated")] = (
        None
    )
    media_url: Annotated[
        str | None, Meta(description="File or URL sent with answers that have none; templated")
    ] = None
    timeout_seconds: Annotated[int, Meta(description="Time limit for a run", ge=1)] = 600
    media_max_mb: Annotated[float, Meta(description="Largest file to send, in MB", ge=0.001)] = 5
    typing_interval_seconds: Annotated[int, Meta(description="Time between typing signals", ge=1)] = 8
    heartbeat_minutes: Annotated[int, Meta(description="Time between heartbeats; 0 for none", ge=0)] = 30
    session: SessionSettings = field(default_factory=SessionSettings)


class InboundSettings(Struct, frozen=True, rename="camel"):
    reply: ReplySettings
    allow_from: Annotated[
        tuple[str, ...], Meta(description='Senders to answer; "*" for everyone, none by default')
    ] = ()
    pairing: Annotated[bool, Meta(description="Answer unknown senders with a code for tau relay allow")] = (
        False
    )
    message_prefix: Annotated[str, Meta(description="Text in front of each message for the agent")] = ""
    response_prefix: Annotated[str, Meta(description="Text in front of each answer")] = ""
    timestamp_prefix: Annotated[
        bool | str, Meta(description="Put the time in front of each message: true for UTC, or a time zone")
    ] = True
    transcribe_audio: TranscribeSettings = field(default_factory=TranscribeSettings)
    group_chat: GroupSettings = field(default_factory=GroupSettings)


class ReconnectSettings(Struct, frozen=True, rename="camel"):
    initial_ms: Annotated[int, Meta(description="First wait before connecting again", ge=1)] = 2000
    max_ms: Annotated[int, Meta(description="Longest wait", ge=1)] = 30000
    factor: Annotated[float, Meta(description="Growth of the wait", ge=1, le=10)] = 1.8
    jitter: Annotated[float, Meta(description="Random part of the wait", ge=0, le=1)] = 0.25
    max_attempts: Annotated[
        int, Meta(description="Attempts before the relay stops; 0 for no limit", ge=0)
    ] = 12


class WebSettings(Struct, frozen=True, rename="camel"):
    heartbeat_seconds: Annotated[
        int, Meta(description="Uptime after which a connection counts as good", ge=1)
    ] = 60
    reconnect: ReconnectSettings = field(default_factory=ReconnectSettings)


class LimitSettings(Struct, frozen=True, rename="camel"):
    runs: Annotated[int, Meta(description="Runs at the same time", ge=1, le=64)] = 2
    queued: Annotated[
        int, Meta(description="Messages that wait per chat; later ones are declined", ge=1, le=1000)
    ] = 50
    live_agents: Annotated[int, Meta(description="Live agents at the same time", ge=1, le=64)] = 8
    live_idle_minutes: Annotated[int, Meta(description="Idle time after which a live agent exits", ge=1)] = 15
    output_bytes: Annotated[int, Meta(description="Output kept of a run", ge=1024)] = 8 * 1024 * 1024
    approval_seconds: Annotated[int, Meta(description="Time to answer an approval", ge=1)] = 300
    stale_minutes: Annotated[
        int, Meta(description="Messages older than this at start are not answered", ge=1)
    ] = 30


class RelayConfig(Struct, frozen=True, rename="camel"):
    inbound: InboundSettings
    logging: LoggingSettings = field(default_factory=LoggingSettings)
    web: WebSettings = field(default_factory=WebSettings)
    xmpp: XmppSettings = field(default_factory=XmppSettings)
    telegram: TelegramSettings = field(default_factory=TelegramSettings)
    twilio: TwilioSettings = field(default_factory=TwilioSettings)
    whatsapp: WhatsAppSettings = field(default_factory=WhatsAppSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    projects: Annotated[dict[str, str], Meta(description="Folders that /cwd may choose, by name")] = field(
        default_factory=dict
    )
    media_roots: Annotated[
        tuple[str, ...], Meta(description="Folders besides the agent's own from which files may be sent")
    ] = ()
