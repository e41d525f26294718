"""Logs in to servers with OAuth, keeps the tokens in auth.json, and renews them once for all running taus."""

import asyncio
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import quote

from msgspec import DecodeError, Raw, Struct, ValidationError, json
from msgspec.structs import replace

from tau.ai.auth import Login, LoginTokens
from tau.ai.oauth import tokens as token_server
from tau.ai.oauth.browser_flow import browser_login
from tau.ai.oauth.tokens import Endpoints, LoginError
from tau.ai.transport import Transport
from tau.base import secrets
from tau.base.clock import now_ms
from tau.base.errors import ProviderError
from tau.base.tasks import shielded
from tau.base.text import sentence
from tau.config.auth_file import PRIVATE
from tau.config.json_file import change_json, read_json
from tau.config.login_renewal import renewal_lock
from tau.config.paths import Paths
from tau.ext.mcp.config import OAuthOptions
from tau.ext.mcp.messages import McpError
from tau.ext.mcp.oauth_discovery import Challenge, LoginServer, find_login_server, parse_challenge

MAX_STEP_UPS = 3
RENEW_S = 20.0
OpenPage = Callable[[str], Awaitable[None]]


class ClientIdentity(Struct, frozen=True, kw_only=True, rename="camel"):
    """How the login server knows us. `issued_by` it, so that it is of no use elsewhere."""

    id: str
    secret: str = ""
    method: str = "none"
    redirect: str = ""
    issued_by: str = ""
    registered: bool = False


class StoredLogin(Struct, frozen=True, kw_only=True, rename="camel"):
    """An entry of auth.json. `resource` and `scopes` are what the tokens are for."""

    type: str = "oauth"
    access: str = ""
    refresh: str = ""
    expires: int = 0
    renew_at: int = 0
    client: ClientIdentity | None = None
    token_url: str = ""
    resource: str = ""
    scopes: tuple[str, ...] = ()

    @property
    def tokens(self) -> LoginTokens:
        return LoginTokens(self.access, self.refresh, self.expires, "", self.renew_at)

    def with_tokens(self, new: LoginTokens) -> "StoredLogin":
        refresh = new.refresh or self.refresh
        return replace(self, access=new.access, refresh=refresh, expires=new.expires, renew_at=new.renew_at)


class LoginStore(Struct, frozen=True):
    """The login of one server in auth.json, under its URL."""

    paths: Paths
    url: str

    @property
    def key(self) -> str:
        return f"mcp:{self.url}"

    def read(self) -> StoredLogin | None:
        entry = read_json(self.paths.auth).content.get(self.key)
        try:
            found = json.decode(json.encode(entry), type=StoredLogin) if isinstance(entry, dict) else None
        except (ValidationError, DecodeError):
            return None
        if found is not None:
            client = "" if found.client is None else found.client.secret
            secrets.learn(*(text for text in (found.access, found.refresh, client) if text))
        return found

    def write(self, login: StoredLogin | None) -> None:
        def change(members: dict[str, Raw]) -> None:
            members.pop(self.key, None)
            if login is not None:
                members[self.key] = Raw(json.encode(login))

        change_json(self.paths.auth, change, mode=PRIVATE)


class McpLogin:
    """Implements `Authorizer`: sends the stored token, renews it, and says when a person has to log in.

    With `open_page`, it logs in when the server asks for it.
    """

    def __init__(
        self,
        paths: Paths,
        url: str,
        options: OAuthOptions,
        http: Transport,
        open_page: OpenPage | None = None,
    ) -> None:
        self.store = LoginStore(paths, url)
        self.challenge = Challenge()
        self._paths, self._url, self._options, self._http = paths, url, options, http
        self._open_page = open_page
        self._stored: StoredLogin | None = None
        self._is_read = False
        self._step_ups = 0

    async def header(self) -> str | None:
        if not self._is_read:
            self._stored = await asyncio.to_thread(self.store.read)
            self._is_read = True
        stored = self._stored
        if stored is None or not stored.access:
            return None
        if stored.refresh and stored.tokens.is_due(now_ms()):
            stored = await self._renewed(stored, rejected="")
        return f"Bearer {stored.access}"

    async def refused(self, status: int, challenge: str, used: str | None) -> bool:
        self.challenge = parse_challenge(challenge)
        if status == 403 and self.challenge.error != "insufficient_scope":
            return False
        stored = self._stored
        if status == 401 and stored is not None and stored.refresh and used == f"Bearer {stored.access}":
            try:
                await self._renewed(stored, rejected=stored.access)
                return True
            except McpError as error:
                if not error.needs_login:
                    raise
        if self._options.grant != "client_credentials" and self._open_page is None:
            reason = "It needs more rights" if status == 403 else "It asks for a login"
            raise McpError(f"{reason}.", needs_login=True)
        self._step_ups += 1
        if self._step_ups > MAX_STEP_UPS:
            raise McpError("It refuses the login that it just gave.", needs_login=True)
        try:
            await self.log_in(self._open_page or _no_page)
        except (LoginError, ProviderError) as error:
            raise McpError(sentence(str(error)), needs_login=True) from None
        return True

    async def log_in(
        self, open_page: OpenPage, pasted: Callable[[Callable[[str], str | None]], None] | None = None
    ) -> None:
        """Log in as the last challenge asks. Raises LoginError and ProviderError."""
        server = await find_login_server(self._http, self._url, self.challenge)
        stored = await asyncio.to_thread(self.store.read)
        scopes = tuple(self._options.scope.split()) or server.scopes
        if self.challenge.error == "insufficient_scope" and stored is not None:
            scopes = tuple(dict.fromkeys((*stored.scopes, *scopes)))
        if self._options.grant == "client_credentials":
            client = ClientIdentity(id=self._options.client_id, secret=self._options.client_secret)
            client = replace(client, method=_method(server, client))
            form = {"grant_type": "client_credentials", **_scope(scopes), **_resource(server.resource)}
            tokens = await self._exchange(server.token, client, form)
        else:
            client, tokens = await self._in_browser(server, stored, scopes, open_page, pasted)
        login = StoredLogin(client=client, token_url=server.token, resource=server.resource, scopes=scopes)
        self._stored = login.with_tokens(tokens)
        self._is_read = True
        await asyncio.to_thread(self.store.write, self._stored)

    async def log_out(self) -> bool:
        """Forget the tokens and the client; returns whether there were any."""
        known = await asyncio.to_thread(self.store.read)
        await asyncio.to_thread(self.store.write, None)
        self._stored, self._is_read = None, True
        return known is not None

    async def _in_browser(
        self,
        server: LoginServer,
        stored: StoredLogin | None,
        scopes: tuple[str, ...],
        open_page: OpenPage,
        pasted: Callable[[Callable[[str], str | None]], None] | None,
    ) -> tuple[ClientIdentity, LoginTokens]:
        if not server.authorization:
            raise LoginError("Its login server has no page to log in with.")
        known = stored.client if stored is not None else None
        if known is not None and known.issued_by != server.issuer:
            known = None
        redirect = known.redirect if known is not None and known.registered else self._redirect()
        params = {
            **_resource(server.resource),
            **({"prompt": self._options.prompt} if self._options.prompt else {}),
        }
        if "offline_access" in server.scopes and "offline_access" not in scopes:
            scopes = (*scopes, "offline_access")
        endpoints = Endpoints(
            server.token, server.authorization, "", server.issuer, requires_iss=server.requires_iss
        )
        client = known or ClientIdentity(id="")

        async def exchange(form: Mapping[str, str]) -> LoginTokens:
            return await self._exchange(server.token, client, {**form, **_resource(server.resource)})

        login = Login(client_id=client.id, scopes=scopes, params=params, redirect=redirect)
        try:
            opened = browser_login(login, endpoints, self._http, exchange)
            async with opened as flow:
                client = await self._identity(server, known, flow.redirect, scopes)
                flow.use_client(client.id)
                if pasted is not None:
                    pasted(flow.paste)
                await open_page(flow.url)
                return client, await flow.finish()
        except LoginError as error:
            if (
                error.code == "invalid_client"
                and known is not None
                and known.registered
                and stored is not None
            ):
                await asyncio.to_thread(self.store.write, replace(stored, client=None))
                return await self._in_browser(server, replace(stored, client=None), scopes, open_page, pasted)
            raise

    def _redirect(self) -> str:
        options = self._options
        return options.redirect_uri or f"http://127.0.0.1:{options.callback_port}{options.callback_path}"

    async def _identity(
        self, server: LoginServer, known: ClientIdentity | None, redirect: str, scopes: tuple[str, ...]
    ) -> ClientIdentity:
        """In order: the configured client, the stored one, a metadata document, a new registration."""
        options = self._options
        if options.client_id:
            own = ClientIdentity(id=options.client_id, secret=options.client_secret, issued_by=server.issuer)
            return replace(own, method=_method(server, own))
        if known is not None and known.redirect == redirect:
            return known
        if server.takes_documents and options.client_metadata_url:
            return ClientIdentity(id=options.client_metadata_url, redirect=redirect, issued_by=server.issuer)
        if not server.registration:
            raise LoginError("Its login server registers no clients: set oauth.clientId to one of yours.")
        return await self._register(server, redirect, scopes)

    async def _register(self, server: LoginServer, redirect: str, scopes: tuple[str, ...]) -> ClientIdentity:
        methods = server.auth_methods
        method = "none" if not methods or "none" in methods else methods[0]
        body = {
            "client_name": "tau",
            "redirect_uris": [redirect],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": method,
            "application_type": "native",
            **_scope(scopes),
        }
        status, content = await token_server.send(
            self._http, "POST", server.registration, body=json.encode(body)
        )
        if status not in (200, 201):
            token_server.fail(status, content, server.registration)
        try:
            answer = json.decode(content, type=dict[str, Any])
        except (DecodeError, ValidationError):
            answer = {}
        id, secret = answer.get("client_id"), answer.get("client_secret")
        if not isinstance(id, str) or not id:
            raise LoginError("Its login server registered us without a client id.")
        if isinstance(secret, str) and secret:
            secrets.learn(secret)
        given = answer.get("token_endpoint_auth_method")
        identity = ClientIdentity(
            id=id,
            secret=secret if isinstance(secret, str) else "",
            redirect=redirect,
            issued_by=server.issuer,
            registered=True,
        )
        return replace(identity, method=given if isinstance(given, str) else _method(server, identity))

    async def _exchange(self, url: str, client: ClientIdentity, form: Mapping[str, str]) -> LoginTokens:
        body, headers = dict(form), {}
        match client.method:
            case "client_secret_basic":
                pair = f"{quote(client.id, safe='')}:{quote(client.secret, safe='')}"
                headers["authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
            case "client_secret_post":
                body |= {"client_id": client.id, "client_secret": client.secret}
            case _:
                body["client_id"] = client.id
        status, content = await token_server.send(self._http, "POST", url, form=body, headers=headers)
        if status != 200:
            token_server.fail(status, content, url)
        return token_server.read_tokens(content, url)

    async def _renewed(self, old: StoredLogin, *, rejected: str) -> StoredLogin:
        """New tokens, or those that another tau has got meanwhile. Raises McpError."""
        async with renewal_lock(self._paths.auth.with_name(f"login-{_file_name(self._url)}.lock")):
            stored = await asyncio.to_thread(self.store.read)
            if stored is None or not stored.access:
                self._stored = None
                raise McpError("You logged out.", needs_login=True)
            if stored.access in (rejected, old.access) or stored.tokens.is_due(now_ms()):
                # Once the server has rotated the token, it must be written, whoever stops waiting for it.
                stored = await shielded(self._refresh(stored))
            self._stored = stored
            return stored

    async def _refresh(self, stored: StoredLogin) -> StoredLogin:
        if not stored.refresh or stored.client is None:
            raise McpError("The login has expired.", needs_login=True)
        form = {"grant_type": "refresh_token", "refresh_token": stored.refresh, **_resource(stored.resource)}
        try:
            async with asyncio.timeout(RENEW_S):
                tokens = await self._exchange(stored.token_url, stored.client, form)
        except LoginError as error:
            if error.code == "invalid_client":
                await asyncio.to_thread(self.store.write, replace(stored, client=None, refresh=""))
            raise McpError(sentence(str(error)), needs_login=error.over) from None
        except (ProviderError, TimeoutError) as error:
            raise McpError(f"The login could not be renewed yet: {error}") from None
        renewed = stored.with_tokens(tokens)
        await asyncio.to_thread(self.store.write, renewed)
        return renewed


async def _no_page(url: str) -> None:
    raise LoginError("A login needs a browser.")


def _method(server: LoginServer, client: ClientIdentity) -> str:
    """How we prove who we are: basic unless the server does not take it."""
    if not client.secret:
        return "none"
    methods = server.auth_methods or ("client_secret_basic",)
    usable = ("client_secret_basic", "client_secret_post")
    return next((one for one in usable if one in methods), "client_secret_post")


def _resource(resource: str) -> dict[str, str]:
    return {"resource": resource} if resource else {}


def _scope(scopes: tuple[str, ...]) -> dict[str, str]:
    return {"scope": " ".join(scopes)} if scopes else {}


def _file_name(url: str) -> str:
    return "mcp-" + "".join(letter if letter.isalnum() else "-" for letter in url)[-80:]
