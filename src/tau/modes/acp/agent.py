"""The methods that an editor calls. What is not here is answered with -32601."""

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from acp import PROTOCOL_VERSION, RequestError
from acp import schema as a
from acp.interfaces import Client
from msgspec.structs import replace

from tau.base.errors import SessionError, UsageError
from tau.base.tasks import spawn
from tau.base.version import VERSION
from tau.coding.session_index.index import SessionIndex
from tau.coding.session_index.labels import sessions_in, title_of
from tau.config.paths import user_paths
from tau.modes.acp.content import PromptBlock
from tau.modes.acp.errors import INVALID_PARAMS, request_errors
from tau.modes.acp.mcp_servers import McpServer, definition_of
from tau.modes.acp.session import AcpSession
from tau.modes.acp.transport import LineTransport
from tau.modes.model_list import known_models
from tau.sdk import SessionOptions, session_store

AGENT_AUTH, TERMINAL_AUTH = "agent", "terminal"
AUTH_REQUIRED = -32000
MAX_SESSIONS = 64
PAGE = 50

AuthMethod: TypeAlias = a.EnvVarAuthMethod | a.TerminalAuthMethod | a.AuthMethodAgent
NO_KEY = "No provider has a key; run tau login, or set a variable such as ANTHROPIC_API_KEY."


class AcpAgent:
    """Implements `acp`'s Agent. `options` are those of the command line, for every session."""

    def __init__(self, options: SessionOptions, transport: LineTransport, tasks: asyncio.TaskGroup) -> None:
        self._options = options
        self._transport = transport
        self._tasks = tasks
        self._client: Client | None = None
        self._sessions: dict[str, AcpSession] = {}
        self._reopening = asyncio.Lock()
        self._capabilities = a.ClientCapabilities()

    def on_connect(self, conn: Client) -> None:
        self._client = conn

    async def close(self) -> None:
        """Stop all work and record it."""
        for session in self._sessions.values():
            await session.close()
        self._sessions.clear()

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: a.ClientCapabilities | None = None,
        client_info: a.Implementation | None = None,
        **_: Any,
    ) -> a.InitializeResponse:
        self._capabilities = client_capabilities or a.ClientCapabilities()
        return a.InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_info=a.Implementation(name="tau", title="tau", version=VERSION),
            auth_methods=_auth_methods(self._capabilities),
            agent_capabilities=a.AgentCapabilities(
                load_session=True,
                prompt_capabilities=a.PromptCapabilities(image=True, audio=False, embedded_context=True),
                mcp_capabilities=a.McpCapabilities(http=True, sse=True),
                session_capabilities=a.SessionCapabilities(
                    list=a.SessionListCapabilities(),
                    fork=a.SessionForkCapabilities(),
                    resume=a.SessionResumeCapabilities(),
                    close=a.SessionCloseCapabilities(),
                    additional_directories=a.SessionAdditionalDirectoriesCapabilities(),
                ),
            ),
        )

    async def authenticate(self, method_id: str, **_: object) -> a.AuthenticateResponse:
        if method_id not in (AGENT_AUTH, TERMINAL_AUTH):
            raise RequestError(INVALID_PARAMS, f'There is no authentication method "{method_id}".')
        with request_errors():
            found = await asyncio.to_thread(known_models, user_paths(os.environ), None)
            if not found.usable and self._options.api_key is None:
                raise RequestError(AUTH_REQUIRED, NO_KEY)
        return a.AuthenticateResponse()

    async def new_session(
        self,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: list[McpServer] | None = None,
        **_: Any,
    ) -> a.NewSessionResponse:
        with request_errors():
            session = await self._open(self._options.next(), cwd, additional_directories, mcp_servers)
        return a.NewSessionResponse(
            session_id=session.id, modes=session.modes, config_options=session.config_options
        )

    async def load_session(
        self,
        cwd: str,
        session_id: str,
        mcp_servers: list[McpServer] | None = None,
        additional_directories: list[str] | None = None,
        **_: object,
    ) -> a.LoadSessionResponse:
        with request_errors():
            session = await self._reopen(cwd, session_id, additional_directories, mcp_servers)
            session.replay()
        return a.LoadSessionResponse(modes=session.modes, config_options=session.config_options)

    async def resume_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: list[McpServer] | None = None,
        **_: object,
    ) -> a.ResumeSessionResponse:
        with request_errors():
            session = await self._reopen(cwd, session_id, additional_directories, mcp_servers)
        return a.ResumeSessionResponse(modes=session.modes, config_options=session.config_options)

    async def fork_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: list[McpServer] | None = None,
        **_: object,
    ) -> a.ForkSessionResponse:
        with request_errors():
            path = self._stored(session_id, _folder(cwd))
            options = self._options.next(fork=str(path))
            session = await self._open(options, cwd, additional_directories, mcp_servers)
        return a.ForkSessionResponse(
            session_id=session.id, modes=session.modes, config_options=session.config_options
        )

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_: object
    ) -> a.ListSessionsResponse:
        with request_errors():
            if cursor is not None and not cursor.isdecimal():
                raise UsageError(f'Unknown cursor "{cursor}".')
            start = int(cursor or 0)
            found = await asyncio.to_thread(_stored_sessions, None if cwd is None else _folder(cwd))
        page = found[start : start + PAGE]
        more = str(start + PAGE) if len(found) > start + PAGE else None
        return a.ListSessionsResponse(sessions=page, next_cursor=more)

    async def close_session(self, session_id: str, **_: object) -> a.CloseSessionResponse:
        with request_errors():
            session = self._session(session_id)
            del self._sessions[session_id]
            await session.close()
        return a.CloseSessionResponse()

    async def set_session_mode(self, session_id: str, mode_id: str, **_: object) -> a.SetSessionModeResponse:
        with request_errors():
            await self._session(session_id).set_mode(mode_id)
        return a.SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: object
    ) -> a.SetSessionConfigOptionResponse:
        with request_errors():
            session = self._session(session_id)
            await session.set_option(config_id, value)
            return a.SetSessionConfigOptionResponse(config_options=session.config_options)

    async def prompt(self, session_id: str, prompt: list[PromptBlock], **_: Any) -> a.PromptResponse:
        with request_errors():
            return await self._session(session_id).prompt(prompt)

    async def cancel(self, session_id: str, **_: object) -> None:
        if (session := self._sessions.get(session_id)) is not None:
            await session.cancel()

    def _session(self, id: str) -> AcpSession:
        if (session := self._sessions.get(id)) is None:
            raise UsageError(f'The session "{id}" is not open; create, load or resume it first.')
        return session

    def _stored(self, id: str, cwd: Path) -> Path:
        """The file of a session that this or an earlier program stored. Raises UsageError."""
        if "/" in id or id.endswith(".jsonl"):
            raise UsageError(f'"{id}" is not a session id.')
        return session_store(os.environ, cwd).find_path(id)

    async def _reopen(
        self,
        cwd: str,
        id: str,
        folders: list[str] | None,
        mcp_servers: list[McpServer] | None,
    ) -> AcpSession:
        path = self._stored(id, _folder(cwd))
        async with self._reopening:
            # The start of an id names the same file, which only one session may write.
            for known, opened in list(self._sessions.items()):
                if known == id or opened.host.session.log.path == path:
                    del self._sessions[known]
                    await opened.close()
            return await self._open(self._options.next(resume=str(path)), cwd, folders, mcp_servers, id)

    async def _open(
        self,
        options: SessionOptions,
        cwd: str,
        folders: list[str] | None,
        mcp_servers: list[McpServer] | None,
        id: str = "",
    ) -> AcpSession:
        """Open a session; its first updates are sent after the answer to the request."""
        assert self._client is not None
        if len(self._sessions) >= MAX_SESSIONS:
            raise SessionError(f"{MAX_SESSIONS} sessions are open; close one first.")
        add_dirs = (*options.add_dirs, *(_folder(folder) for folder in folders or ()))
        servers = {server.name: definition_of(server) for server in mcp_servers or ()}
        chosen = replace(options, cwd=_folder(cwd), add_dirs=add_dirs, mcp_servers=servers)
        session = AcpSession(
            chosen,
            self._client,
            self._transport.notify,
            self._tasks,
            self._capabilities,
        )
        await session.open(id)
        self._sessions[session.id] = session
        # The library answers without waiting for anything, so before this callback gets its turn.
        asyncio.get_running_loop().call_soon(lambda: spawn(self._tasks, session.begin()))
        return session


def _auth_methods(capabilities: a.ClientCapabilities) -> list[AuthMethod]:
    found: list[AuthMethod] = [
        a.AuthMethodAgent(
            id=AGENT_AUTH,
            name="Keys of this machine",
            description="Use the logins and keys that tau has, and those in environment variables",
        )
    ]
    if capabilities.auth is not None and capabilities.auth.terminal:
        found.append(
            a.TerminalAuthMethod(
                type="terminal", id=TERMINAL_AUTH, name="Log in with tau login", args=["login"]
            )
        )
    return found


def _folder(path: str) -> Path:
    """Raises UsageError if it is not an absolute path of a folder."""
    folder = Path(path)
    if not folder.is_absolute() or "\0" in path or not folder.is_dir():
        raise UsageError(f'"{path}" is not the absolute path of a folder.')
    return folder


def _stored_sessions(cwd: Path | None) -> list[a.SessionInfo]:
    """The user's sessions, the latest first: those of a folder, or all."""
    paths = user_paths(os.environ)
    store = session_store(os.environ, cwd or paths.home)
    with SessionIndex(paths.index, store.root, flat=store.flat) as index:
        rows = index.sessions(store.folder if cwd is not None and not store.flat else None)
    if cwd is not None:
        rows = sessions_in(rows, str(cwd))
    return [
        a.SessionInfo(
            session_id=row.id,
            cwd=row.summary.cwd,
            title=title_of(row.summary) or None,
            updated_at=datetime.fromtimestamp(row.changed_ms / 1000, UTC).isoformat(),
        )
        for row in rows
    ]
