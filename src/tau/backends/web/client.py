"""The guarded HTTP client: it checks the address of every hop and connects to the one it checked."""

import asyncio
import errno
import os
import socket
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from tau.ai.http import HttpTransport
from tau.ai.http_connect import Address, dial_addresses, look_up
from tau.ai.proxy import parse_url, proxy_for
from tau.ai.transport import Timeouts
from tau.backends.sandbox.network.targets import RefusedTargetError, parse_host
from tau.backends.web.addresses import AllowedHosts, WebError, WebUrl, check_addresses, parse_web_url
from tau.base.addresses import is_public
from tau.base.errors import ProviderError
from tau.base.sizes import MIB, format_bytes

SECONDS = 20.0
MAX_REDIRECTS = 10
MAX_BODY_BYTES = 50 * MIB
RATIO_FREE_BYTES, MAX_RATIO = 4 * MIB, 200  # decoded bytes for each received one
REDIRECTS = (301, 302, 303, 307, 308)
_PRIVATE_HEADERS = ("authorization", "cookie", "x-api-key")
_TIMEOUTS = Timeouts(connect=10, first_byte=SECONDS, idle=SECONDS)


class WebResponse(Struct, frozen=True, kw_only=True):
    """`url` is where redirects led; `truncated` says why the body is not complete."""

    url: WebUrl
    status: int
    headers: Mapping[str, str]
    body: bytes
    truncated: str = ""

    @property
    def content_type(self) -> str:
        """In lower case, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300


class GuardedRequest(Struct, frozen=True, kw_only=True):
    method: str = "GET"
    headers: Mapping[str, str] = {}
    body: bytes | None = None
    max_bytes: int = MAX_BODY_BYTES


_GET = GuardedRequest()


class WebClient:
    """`may_connect` says whether a redirect may lead to another host. Close it after use."""

    def __init__(
        self,
        allowed: AllowedHosts | None = None,
        may_connect: Callable[[str], bool] = lambda host: True,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.allowed = allowed or AllowedHosts()
        self._may_connect = may_connect
        self._environ = os.environ if environ is None else environ
        self._http = HttpTransport(self._environ, _TIMEOUTS, dial=self._dial)

    async def close(self) -> None:
        await self._http.close()

    async def fetch(
        self, url: WebUrl, request: GuardedRequest = _GET, *, seconds: float = SECONDS
    ) -> WebResponse:
        """Follow redirects. Raises WebError."""
        try:
            async with asyncio.timeout(seconds):
                return await self._follow(url, request)
        except TimeoutError:
            raise WebError(f"{url.authority} did not answer completely within {seconds:g} s.") from None
        except ProviderError as error:
            raise WebError(str(error)) from error

    async def _follow(self, url: WebUrl, request: GuardedRequest) -> WebResponse:
        headers = {"accept-encoding": "gzip, deflate", "accept-language": "en"}
        headers |= {name.lower(): value for name, value in request.headers.items()}
        method, body = request.method, request.body
        for _ in range(MAX_REDIRECTS + 1):
            response = await self._hop(url, method, headers, body, request.max_bytes)
            location = response.headers.get("location")
            if response.status not in REDIRECTS or location is None:
                return response
            target = parse_web_url(location, url)
            if url.scheme == "https" and target.scheme == "http":
                raise WebError(f"{url} redirects from https to http, to {target}; this is not followed.")
            if target.host != url.host and not self._may_connect(target.host):
                raise WebError(f"{url} redirects to another host; to follow, read {target}.")
            if target.origin != url.origin:
                headers = {name: value for name, value in headers.items() if name not in _PRIVATE_HEADERS}
            if response.status == 303 or (response.status in (301, 302) and method == "POST"):
                method, body = "GET", None
            url = WebUrl(*target.origin, target.target, target.fragment or url.fragment)
        raise WebError(f"{url} redirects more than {MAX_REDIRECTS} times.")

    async def _hop(
        self, url: WebUrl, method: str, headers: Mapping[str, str], body: bytes | None, most: int
    ) -> WebResponse:
        place = parse_url(str(url))
        if proxy_for(place, self._environ) is not None:
            await self._check_proxied(url)
        async with self._http.open(method, str(url), headers=headers, body=body) as response:
            received, truncated = bytearray(), ""
            is_redirect = response.status in REDIRECTS and "location" in response.headers
            try:
                async for chunk in response.chunks():
                    if is_redirect:
                        break
                    received += chunk
                    if len(received) >= most:
                        truncated = f"only the first {format_bytes(most)} were read"
                        break
                    if len(received) > max(RATIO_FREE_BYTES, MAX_RATIO * response.body_bytes):
                        raise WebError(f"{url} sent a compression bomb; it was not read.")
                    await asyncio.sleep(0)  # decompression alone would not let others run
            except ProviderError as error:
                if not received:
                    raise
                truncated = f"only a part arrived: {error}"
            return WebResponse(
                url=url,
                status=response.status,
                headers=dict(response.headers),
                body=bytes(memoryview(received)[:most]),
                truncated=truncated,
            )

    async def _dial(self, host: str, port: int) -> socket.socket:
        found = await look_up(host, port)
        check_addresses(host, port, _texts(found), self.allowed)
        sock = await dial_addresses(found)
        try:
            own, peer = sock.getsockname()[0], sock.getpeername()[0]
            if own == peer and is_public(peer) and not self.allowed.allows(host, port, [peer]):
                raise WebError(f"{host} is this machine; it is not fetched.")
        except OSError:
            sock.close()
            raise OSError(errno.ECONNRESET, "it closed the connection") from None
        except WebError:
            sock.close()
            raise
        return sock

    async def _check_proxied(self, url: WebUrl) -> None:
        """The proxy looks names up itself; names that this machine cannot look up are left to it."""
        try:
            found = _texts(await look_up(url.host, url.port))
        except OSError:
            try:
                parse_host(url.host)
            except RefusedTargetError as error:
                if not self.allowed.allows(url.host, url.port):
                    raise WebError(f"{url.authority} is not fetched through the proxy: {error}.") from error
            return
        check_addresses(url.host, url.port, found, self.allowed)


def _texts(found: Sequence[Address]) -> list[str]:
    return [str(place[4][0]) for place in found]
