"""Finds out how to log in to a server: its own metadata, then that of its authorization server."""

import re
import socket
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct, json

from tau.ai.http_connect import Address, Dial, dial_addresses, look_up
from tau.ai.oauth.tokens import LoginError, require_encryption, send
from tau.ai.proxy import is_loopback, parse_url
from tau.ai.transport import Transport
from tau.base.addresses import is_public
from tau.base.errors import ProviderError, TauError
from tau.base.text import clean_line, shortened
from tau.ext.mcp.messages import text_at

MAX_SCOPES = 50
RESOURCE = "/.well-known/oauth-protected-resource"
SERVER, OIDC = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"


class Challenge(Struct, frozen=True):
    """What a refusal said: where the metadata are, and which scopes are missing."""

    metadata: str = ""
    scopes: tuple[str, ...] = ()
    error: str = ""


class LoginServer(Struct, frozen=True, kw_only=True):
    """An authorization server, and what a login there needs to name."""

    issuer: str
    authorization: str
    token: str
    registration: str = ""
    resource: str = ""
    scopes: tuple[str, ...] = ()
    auth_methods: tuple[str, ...] = ()
    grants: tuple[str, ...] = ()
    takes_documents: bool = False  # a client is identified by the URL of its metadata
    requires_iss: bool = False


def parse_challenge(header: str) -> Challenge:
    """A WWW-Authenticate header; one of another scheme says nothing."""
    found = re.search(r"(?:^|,\s*)bearer\b(.*)", header, re.IGNORECASE | re.DOTALL)
    if found is None:
        return Challenge()
    fields = {
        name.lower(): quoted or plain
        for name, quoted, plain in re.findall(r'([\w-]+)\s*=\s*(?:"([^"]*)"|([^\s,"]+))', found[1])
    }
    return Challenge(
        fields.get("resource_metadata", ""),
        tuple(fields.get("scope", "").split())[:MAX_SCOPES],
        fields.get("error", ""),
    )


async def find_login_server(http: Transport, url: str, challenge: Challenge) -> LoginServer:
    """Raises LoginError and ProviderError."""
    place = urlsplit(url)
    origin, path = f"{place.scheme}://{place.netloc}", place.path.rstrip("/")
    resource = await _resource(http, url, origin, path, challenge)
    scopes = challenge.scopes or _strings(resource, "scopes_supported")
    issuers = _strings(resource, "authorization_servers")
    named = text_at(resource, "resource", 2000) or url
    if resource and not _is_same_resource(named, url):
        raise LoginError(f"{origin} describes another resource, {shortened(clean_line(named), 100)}.")
    issuer = issuers[0] if issuers else origin
    _check_address(issuer, url)
    document = await _document(http, issuer, url)
    if document is None:
        if issuers:
            raise LoginError(
                f"The login server {shortened(clean_line(issuer), 100)} does not describe itself."
            )
        return LoginServer(
            issuer="",
            authorization=f"{origin}/authorize",
            token=f"{origin}/token",
            registration=f"{origin}/register",
            resource=named if resource else "",
            scopes=scopes,
        )
    methods = document.get("code_challenge_methods_supported")
    if not isinstance(methods, list) or "S256" not in methods:
        raise LoginError("Its login server does not support PKCE with S256, so a login there is not safe.")
    found = LoginServer(
        issuer=issuer if issuers else text_at(document, "issuer", 2000),
        authorization=text_at(document, "authorization_endpoint", 2000),
        token=text_at(document, "token_endpoint", 2000),
        registration=text_at(document, "registration_endpoint", 2000),
        resource=named,
        scopes=scopes,
        auth_methods=_strings(document, "token_endpoint_auth_methods_supported"),
        grants=_strings(document, "grant_types_supported"),
        takes_documents=document.get("client_id_metadata_document_supported") is True,
        requires_iss=document.get("authorization_response_iss_parameter_supported") is True,
    )
    for address in (found.authorization, found.token, found.registration):
        if address:
            _check_address(address, url)
    if not found.token:
        raise LoginError("Its login server names no address for tokens.")
    return found


async def _resource(
    http: Transport, url: str, origin: str, path: str, challenge: Challenge
) -> dict[str, object]:
    """The metadata of the server: where the challenge says, else below its path, else of the host."""
    if challenge.metadata:
        _check_address(challenge.metadata, url)
    places = (challenge.metadata,) if challenge.metadata else (origin + RESOURCE + path, origin + RESOURCE)
    for address in dict.fromkeys(places):
        found = await _fetch(http, address)
        if found is not None:
            return found
    return {}


async def _document(http: Transport, issuer: str, url: str) -> dict[str, object] | None:
    place = urlsplit(issuer)
    origin, path = f"{place.scheme}://{place.netloc}", place.path.rstrip("/")
    for address in dict.fromkeys((origin + SERVER + path, origin + OIDC + path, issuer.rstrip("/") + OIDC)):
        found = await _fetch(http, address)
        if found is not None and text_at(found, "token_endpoint"):
            said = text_at(found, "issuer", 2000)
            if said.rstrip("/") != issuer.rstrip("/"):
                shown = shortened(clean_line(said), 100) or "nobody"
                raise LoginError(f"The login server {clean_line(issuer)} says that it is {shown}.")
            return found
    return None


async def _fetch(http: Transport, url: str) -> dict[str, Any] | None:
    try:
        status, body = await send(http, "GET", url)
        value = json.decode(body) if status == 200 else None
    except (ProviderError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _check_address(url: str, server: str) -> None:
    """A server elsewhere must not make us look at this machine or its network. Raises LoginError."""
    try:
        place = parse_url(url)
    except TauError as error:
        raise LoginError(f"It names an invalid address: {error}") from None
    require_encryption(url)
    own = parse_url(server)
    if place.host == own.host or is_loopback(own):
        return
    try:
        is_inside = not ip_address(place.host.strip("[]")).is_global
    except ValueError:
        is_inside = is_loopback(place) or place.host.endswith((".local", ".internal", ".localhost"))
    if is_inside:
        raise LoginError(f"It names {place.host}, an address on this network.")


def dial_for(url: str) -> Dial:
    """Connects for the login of a server: one elsewhere cannot name what leads to this network."""
    own = parse_url(url)

    async def dial(host: str, port: int) -> socket.socket:
        found = await look_up(host, port)
        if host != own.host and not _are_public(found) and _are_public(await look_up(own.host, own.port)):
            raise LoginError(f"It names {clean_line(host)}, which leads to an address on this network.")
        return await dial_addresses(found)

    return dial


def _are_public(found: Sequence[Address]) -> bool:
    return all(is_public(str(place[4][0])) for place in found)


def _is_same_resource(named: str, url: str) -> bool:
    one, other = urlsplit(named), urlsplit(url)
    same = (one.scheme.lower(), one.netloc.lower()) == (other.scheme.lower(), other.netloc.lower())
    base = one.path.rstrip("/")
    return same and (other.path.rstrip("/") == base or other.path.startswith(f"{base}/"))


def _strings(fields: Mapping[str, object], name: str) -> tuple[str, ...]:
    value = fields.get(name)
    if not isinstance(value, Sequence) or isinstance(value, str):
        return ()
    return tuple(one for one in value if isinstance(one, str))[:MAX_SCOPES]
