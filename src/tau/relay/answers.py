"""Turns messages of a chat into the parts of an answer, by running the agent."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from tau.base.clock import now_ms
from tau.base.files import typed_path
from tau.base.run import LocalRunner
from tau.base.text import shortened
from tau.relay.agent_run import RunOutput, inherited_by_agents, run_agent
from tau.relay.agents import AGENTS
from tau.relay.agents.invocation import AgentTurn, with_identity
from tau.relay.agents.output import AgentMeta, AgentReply
from tau.relay.config import CHAT_TEXT, VARIABLE, RelayHome
from tau.relay.live_agents import AgentGone, Ask, LiveAgent, LiveAgents
from tau.relay.message import InboundMessage
from tau.relay.prompt import build_prompt, template_values
from tau.relay.sessions import ChatSession, ChatSessions, per_message
from tau.relay.settings import RelayConfig
from tau.relay.template import fill, fill_all

PARTIAL_CHARS = 800
NEW_NOTICE = "The agent no longer has the earlier conversation; this is a new one."
NO_OUTPUT = "(The agent answered without text.)"


class Answer(Struct, frozen=True, kw_only=True):
    texts: list[str]
    meta: AgentMeta = AgentMeta()
    media_url: str = ""
    ok: bool = True
    cwd: Path = Path()
    notices: list[str] = field(default_factory=list)


class Answerer:
    """Runs the configured agent for one session at a time."""

    def __init__(
        self,
        config: RelayConfig,
        home: RelayHome,
        sessions: ChatSessions,
        runner: LocalRunner,
        live: LiveAgents,
        secret_names: Sequence[str],
    ) -> None:
        self._config = config
        self._reply = config.inbound.reply
        self._home = home
        self._sessions = sessions
        self._runner = runner
        self._live = live
        self._inherit = inherited_by_agents(secret_names)
        self._cli = AGENTS[self._reply.agent.kind]
        self.is_live = (
            self._cli.rpc_args is not None and self._reply.agent.live and self._reply.agent.format == "json"
        )

    def cwd(self, session: ChatSession) -> Path:
        folder = self._config.projects.get(session.project) or self._reply.cwd
        return typed_path(folder) if folder else self._home.workspace

    def fixed(self, message: InboundMessage) -> Answer:
        """The answer of mode text."""
        values = template_values(message, message.body, ChatSession("", 0))
        media_url = fill(self._reply.media_url or "", values)
        return Answer(
            texts=[fill(self._reply.text or "", values)], media_url=media_url, cwd=self._home.workspace
        )

    async def answer(
        self,
        key: str,
        session: ChatSession,
        messages: Sequence[InboundMessage],
        body: str,
        ask: Ask,
        *,
        transcript: str = "",
        history: Sequence[str] = (),
        may_start_over: bool = True,
    ) -> Answer:
        """Run the agent, at most twice: a session id that is unusable is replaced once."""
        values = template_values(messages[-1], body, session, transcript)
        notices: list[str] = []
        reply, output = await self._run(key, session, messages, body, values, ask, history)
        if reply.session == "in use" and not session.started:
            session.started = True
            reply, output = await self._run(key, session, messages, body, values, ask, history)
        elif reply.session == "missing" and session.started and may_start_over:
            notices.append(NEW_NOTICE)
            session.start_over()
            reply, output = await self._run(key, session, messages, body, values, ask, history)
        meta = per_message(reply.meta, session)
        if meta.session_id:
            session.session_id = meta.session_id
        if not reply.session and (meta.session_id or not (reply.error or self._cli.chooses_id)):
            session.started = True
        session.system_sent = session.system_sent or not reply.error
        session.aborted_last_run = False
        texts, ok = self._texts(reply, output, session)
        media_url = fill(self._reply.media_url or "", values)
        return Answer(
            texts=texts, meta=meta, ok=ok, media_url=media_url, cwd=self.cwd(session), notices=notices
        )

    def _texts(self, reply: AgentReply, output: RunOutput, session: ChatSession) -> tuple[list[str], bool]:
        if output.timed_out:
            where = f" (cwd: {self.cwd(session)})" if self._reply.cwd or session.project else ""
            text = (
                f"Command timed out after {self._reply.timeout_seconds}s{where}. "
                "Try a shorter prompt or split the request."
            )
            partial = "\n".join(reply.texts)
            if partial:
                text += f"\n\nPartial output before timeout:\n{shortened(partial, PARTIAL_CHARS)}"
            return [text], False
        if reply.error:
            return [*reply.texts, f"⚠️ {reply.error}"], False
        return reply.texts or [NO_OUTPUT], True

    def _turn(self, session: ChatSession, values: dict[str, str]) -> AgentTurn:
        settings, agent = self._reply.session, self._reply.agent
        own = settings.session_arg_resume if session.started else settings.session_arg_new
        known = session.started or not self._cli.chooses_id
        return AgentTurn(
            session_id=session.session_id if known else "",
            is_new=not session.started,
            send_system_once=settings.send_system_once,
            system_sent=session.system_sent,
            identity_prefix=agent.identity_prefix,
            format=agent.format,
            prompt_via=agent.prompt_via,
            session_args=None if own is None else tuple(fill_all(own, values)),
            session_args_first=settings.session_arg_before_body,
            thinking=session.thinking_level,
        )

    async def _run(
        self,
        key: str,
        session: ChatSession,
        messages: Sequence[InboundMessage],
        body: str,
        values: dict[str, str],
        ask: Ask,
        history: Sequence[str],
    ) -> tuple[AgentReply, RunOutput]:
        text = build_prompt(self._config.inbound, messages, body, session, values, history)
        values = {**values, "SessionId": session.session_id}
        command = list(self._reply.command or self._cli.program)
        if CHAT_TEXT & set(VARIABLE.findall(command[-1])):
            text = fill(command.pop(), {**values, "Body": text, "BodyStripped": text})
        argv = fill_all(command or self._cli.program, values)
        turn = self._turn(session, values)
        if self.is_live:
            return await self._run_live(key, session, argv, text, turn, ask)
        invocation = self._cli.build_args(argv, text, turn)
        try:
            output = await run_agent(
                self._runner,
                invocation.argv,
                invocation.stdin,
                cwd=self.cwd(session),
                timeout_s=self._reply.timeout_seconds,
                max_bytes=self._config.limits.output_bytes,
                inherit=self._inherit,
            )
        except OSError as error:
            return _unstartable(argv, error), RunOutput(stdout="", stderr="", exit=None)
        reply = self._cli.parse(output.stdout, output.stderr, None if output.timed_out else output.exit)
        return reply, output

    async def _run_live(
        self, key: str, session: ChatSession, argv: list[str], text: str, turn: AgentTurn, ask: Ask
    ) -> tuple[AgentReply, RunOutput]:
        done = RunOutput(stdout="", stderr="", exit=0)
        agent: LiveAgent | None = None
        try:
            async with asyncio.timeout(self._reply.timeout_seconds):
                agent = await self._live.get(key, session.session_id)
                if agent is not None:
                    try:
                        return await agent.prompt(with_identity(text, turn), ask), done
                    except AgentGone as gone:
                        if gone.reply.texts:
                            return gone.reply, done
                        agent = None  # it died while idle: start it again
                agent = await self._open_live(key, session, argv, turn)
                reply = await agent.prompt(with_identity(text, turn), ask)
                return replace(reply, meta=replace(reply.meta, session_id=session.session_id)), done
        except AgentGone as gone:
            return gone.reply, done
        except OSError as error:
            if isinstance(error, TimeoutError):
                partial = agent.partial if agent is not None else ""
                await self._live.close(key)
                return AgentReply(texts=[partial] if partial else []), replace(done, timed_out=True)
            return _unstartable(argv, error), done
        except BaseException:
            await self._live.close(key)
            raise

    async def _open_live(self, key: str, session: ChatSession, argv: list[str], turn: AgentTurn) -> LiveAgent:
        assert self._cli.rpc_args is not None
        agent = await self._live.open(key, self._cli.rpc_args(argv, turn), self.cwd(session))
        session.session_id = await agent.session_id() or session.session_id
        session.started = True
        self._live.bind(key, session.session_id)
        session.updated_at = now_ms()
        return agent


def _unstartable(argv: Sequence[str], error: OSError) -> AgentReply:
    return AgentReply(error=f"The agent {argv[0]} cannot be started: {error.strerror or error}.")
