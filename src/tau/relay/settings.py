"""The declared structure of relay.json: every key with its type, rule, default and description."""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct, field

from tau.relay.channel_settings import TelegramSettings, TwilioSettings, WhatsAppSettings, XmppSettings, about

AgentKind: TypeAlias = Literal["claude", "codex", "pi", "opencode", "gemini", "tau"]


class LoggingSettings(Struct, frozen=True, rename="camel"):
    level: Annotated[
        Literal["silent", "fatal", "error", "warn", "info", "debug", "trace"],
        about("Least severe level to log"),
    ] = "info"
    file: Annotated[str | None, about("Log file; by default relay.log in the state folder")] = None
    bodies: Annotated[bool, about("Log message bodies too")] = False


class TranscribeSettings(Struct, frozen=True, rename="camel"):
    command: Annotated[tuple[str, ...], about("Program that prints the transcript of {{MediaPath}}")] = ()
    timeout_seconds: Annotated[int, about("Time limit for a transcription", ge=1)] = 45


class GroupSettings(Struct, frozen=True, rename="camel"):
    require_mention: Annotated[bool, about("Answer in a group only when mentioned")] = True
    mention_patterns: Annotated[tuple[str, ...], about("Regular expressions that count as a mention")] = ()
    history_limit: Annotated[int, about("Earlier group messages passed to the agent", ge=0, le=500)] = 50


class AgentSettings(Struct, frozen=True, rename="camel"):
    kind: Annotated[AgentKind, about("Agent CLI that answers; required")]
    format: Annotated[Literal["text", "json"], about("Output format of the CLI")] = "json"
    identity_prefix: Annotated[str | None, about("Text in front of each prompt; empty for none")] = None
    prompt_via: Annotated[Literal["stdin", "arg"], about("How the CLI receives the prompt")] = "stdin"
    live: Annotated[bool, about("Keep pi and tau running between messages")] = True
    while_busy: Annotated[
        Literal["join", "steer"],
        about("Messages during a run: joined to one for the next run, or sent into it (pi, tau)"),
    ] = "join"


class SessionSettings(Struct, frozen=True, rename="camel"):
    scope: Annotated[Literal["per-sender", "global"], about("Who shares a conversation")] = "per-sender"
    reset_triggers: Annotated[tuple[str, ...], about("Messages that start a new conversation")] = ("/new",)
    idle_minutes: Annotated[int, about("Idle time after which a conversation starts over", ge=1)] = 60
    heartbeat_idle_minutes: Annotated[
        Annotated[int, Meta(ge=1)] | None, about("The same for heartbeats; unset means idleMinutes")
    ] = None
    store: Annotated[str | None, about("Session file; by default sessions.json in the state folder")] = None
    session_arg_new: Annotated[tuple[str, ...] | None, about("Arguments of a new session")] = None
    session_arg_resume: Annotated[tuple[str, ...] | None, about("Arguments of a resumed session")] = None
    session_arg_before_body: Annotated[bool, about("Whether session arguments precede the body")] = True
    send_system_once: Annotated[bool, about("Send identityPrefix and bodyPrefix only once")] = False
    session_intro: Annotated[str | None, about("Text in front of the first message of a session")] = None
    typing_interval_seconds: Annotated[
        Annotated[int, Meta(ge=1)] | None, about("Older place of reply.typingIntervalSeconds")
    ] = None


class ReplySettings(Struct, frozen=True, rename="camel"):
    agent: AgentSettings
    mode: Annotated[Literal["text", "command"], about("Fixed text, or the agent")] = "command"
    text: Annotated[str | None, about("Answer of mode text; templated")] = None
    command: Annotated[tuple[str, ...], about("Command line of the agent; templated")] = ()
    cwd: Annotated[str | None, about("Folder the agent works in; by default a folder of the relay")] = None
    template: Annotated[str | None, about("Text in front of the prompt; templated")] = None
    body_prefix: Annotated[str | None, about("Text directly in front of the body; templated")] = None
    media_url: Annotated[str | None, about("File or URL sent with answers that have none; templated")] = None
    timeout_seconds: Annotated[int, about("Time limit for a run", ge=1)] = 600
    media_max_mb: Annotated[float, about("Largest file to send, in MB", ge=0.001)] = 5
    typing_interval_seconds: Annotated[int, about("Time between typing signals", ge=1)] = 8
    heartbeat_minutes: Annotated[int, about("Time between heartbeats; 0 for none", ge=0)] = 30
    session: SessionSettings = field(default_factory=SessionSettings)


class InboundSettings(Struct, frozen=True, rename="camel"):
    reply: ReplySettings
    allow_from: Annotated[tuple[str, ...], about('Senders to answer; "*" for everyone, none by default')] = ()
    pairing: Annotated[bool, about("Answer unknown senders with a code for tau relay allow")] = False
    message_prefix: Annotated[str, about("Text in front of each message for the agent")] = ""
    response_prefix: Annotated[str, about("Text in front of each answer")] = ""
    timestamp_prefix: Annotated[bool | str, about("Time in front of messages: true for UTC, or a zone")] = (
        True
    )
    transcribe_audio: TranscribeSettings = field(default_factory=TranscribeSettings)
    group_chat: GroupSettings = field(default_factory=GroupSettings)


class ReconnectSettings(Struct, frozen=True, rename="camel"):
    initial_ms: Annotated[int, about("First wait before connecting again", ge=1)] = 2000
    max_ms: Annotated[int, about("Longest wait", ge=1)] = 30000
    factor: Annotated[float, about("Growth of the wait", ge=1, le=10)] = 1.8
    jitter: Annotated[float, about("Random part of the wait", ge=0, le=1)] = 0.25
    max_attempts: Annotated[int, about("Attempts before the relay stops; 0 for no limit", ge=0)] = 12


class WebSettings(Struct, frozen=True, rename="camel"):
    heartbeat_seconds: Annotated[int, about("Uptime after which a connection counts as good", ge=1)] = 60
    reconnect: ReconnectSettings = field(default_factory=ReconnectSettings)


class LimitSettings(Struct, frozen=True, rename="camel"):
    runs: Annotated[int, about("Runs at the same time", ge=1, le=64)] = 2
    queued: Annotated[int, about("Messages that wait per chat; later ones are declined", ge=1, le=1000)] = 50
    live_agents: Annotated[int, about("Live agents at the same time", ge=1, le=64)] = 8
    live_idle_minutes: Annotated[int, about("Idle time after which a live agent exits", ge=1)] = 15
    output_bytes: Annotated[int, about("Output kept of a run", ge=1024)] = 8 * 1024 * 1024
    approval_seconds: Annotated[int, about("Time to answer an approval", ge=1)] = 300
    stale_minutes: Annotated[int, about("Messages older than this at start are not answered", ge=1)] = 30


class RelayConfig(Struct, frozen=True, rename="camel"):
    inbound: InboundSettings
    logging: LoggingSettings = field(default_factory=LoggingSettings)
    web: WebSettings = field(default_factory=WebSettings)
    xmpp: XmppSettings = field(default_factory=XmppSettings)
    telegram: TelegramSettings = field(default_factory=TelegramSettings)
    twilio: TwilioSettings = field(default_factory=TwilioSettings)
    whatsapp: WhatsAppSettings = field(default_factory=WhatsAppSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    projects: Annotated[dict[str, str], about("Folders that /cwd may choose, by name")] = field(
        default_factory=dict
    )
    media_roots: Annotated[tuple[str, ...], about("More folders from which files may be sent")] = ()
