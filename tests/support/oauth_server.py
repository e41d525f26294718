"""A login server: codes with PKCE, refresh tokens that rotate, device codes, and lies on demand."""

import base64
import hashlib
import json
import secrets
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlencode, urlsplit

Answer = tuple[int, bytes]
CLIENT = "the-client"


class OAuthServer:
    """`requests` are the forms that the token address got. A refresh token that comes twice ends the login.

    `lie` replaces the next answers of the token address, `keys` are those of the OpenRouter kind.
    """

    def __init__(self) -> None:
        self.requests: list[dict[str, str]] = []
        self.lie: list[Answer] = []
        self.codes: dict[str, dict[str, str]] = {}
        self.refreshable: set[str] = set()
        self.used: set[str] = set()
        self.valid: set[str] = set()
        self.ended = False
        self.lifetime_s: float = 3600
        self.device_answers: list[str] = []
        self.document: Callable[[dict[str, Any]], object] = lambda usual: usual
        self.delay_s = 0.0
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                place = urlsplit(self.path)
                if place.path == "/.well-known/openid-configuration":
                    self.reply(200, json.dumps(outer.document(outer.discovery())).encode())
                elif place.path == "/v1/models":
                    key = self.headers.get("authorization", "").removeprefix("Bearer ")
                    self.reply(200 if key in outer.valid else 401, b'{"data": []}')
                else:
                    self.reply(404, b"{}")

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                if self.headers.get("content-type") == "application/json":
                    form = json.loads(body)
                else:
                    form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
                if self.path == "/device":
                    self.reply(200, json.dumps(outer.start_device()).encode())
                    return
                with outer._lock:
                    self.reply(*outer.token(form))

            def reply(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def discovery(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/auth",
            "token_endpoint": f"{self.url}/token",
            "device_authorization_endpoint": f"{self.url}/device",
        }

    def block(self, **more: object) -> dict[str, object]:
        """The `login` of a provider in models.json."""
        return {"discovery": self.url, "clientId": CLIENT, "scopes": ["openid", "offline_access"], **more}

    def visit(self, page: str) -> str:
        """Log in as the user of a browser would; returns where it is sent."""
        fields = {name: values[0] for name, values in parse_qs(urlsplit(page).query).items()}
        code = f"code-{secrets.token_urlsafe(9)}"
        self.codes[code] = fields
        back = fields.get("redirect_uri") or fields["callback_url"]
        answer = {"code": code} | ({"state": fields["state"]} if "state" in fields else {})
        return f"{back}?{urlencode(answer)}"

    def issue(self) -> dict[str, Any]:
        access, refresh = (f"{kind}-{secrets.token_urlsafe(12)}" for kind in ("access", "refresh"))
        self.valid.add(access)
        self.refreshable.add(refresh)
        return {
            "access_token": access,
            "refresh_token": refresh,
            "expires_in": self.lifetime_s,
            "token_type": "Bearer",
        }

    def start_device(self) -> dict[str, Any]:
        page = f"{self.url}/activate"
        return {
            "device_code": "device-secret-code",
            "user_code": "ABCD-EFGH",
            "verification_uri": page,
            "verification_uri_complete": f"{page}?user_code=ABCD-EFGH",
            "expires_in": 60,
            "interval": 1,
        }

    def token(self, form: dict[str, str]) -> Answer:
        self.requests.append(form)
        if self.lie:
            return self.lie.pop(0)
        if "grant_type" not in form:
            return self._redeem_code(form, lambda: {"key": self._key()})
        match form["grant_type"]:
            case "authorization_code":
                return self._redeem_code(form, self.issue)
            case "refresh_token":
                token = form["refresh_token"]
                if token in self.used:
                    self.ended = True
                    self.refreshable.clear()
                if token not in self.refreshable:
                    return _refuse("invalid_grant")
                self.refreshable.discard(token)
                self.used.add(token)
                return 200, json.dumps(self.issue()).encode()
            case _:
                error = self.device_answers.pop(0) if self.device_answers else ""
                return _refuse(error) if error else (200, json.dumps(self.issue()).encode())

    def _key(self) -> str:
        key = f"sk-or-{secrets.token_urlsafe(12)}"
        self.valid.add(key)
        return key

    def _redeem_code(self, form: dict[str, str], issue: Callable[[], dict[str, Any]]) -> Answer:
        asked = self.codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if asked is None or asked["code_challenge"] != challenge:
            return _refuse("invalid_grant")
        if asked.get("redirect_uri", "") != form.get("redirect_uri", ""):
            return _refuse("invalid_grant")
        return 200, json.dumps(issue()).encode()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _refuse(error: str) -> Answer:
    return 400, json.dumps({"error": error, "error_description": f"refused: {error}"}).encode()
