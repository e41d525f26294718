"""Access tokens for Google Cloud: the user's application default credentials, else google-auth."""

import asyncio
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from tau.ai.cloud_credentials import expand_address, home, is_in_repository
from tau.ai.proxy import is_loopback, parse_url
from tau.ai.transport import Transport
from tau.base import secrets
from tau.base.errors import ConfigError, ProviderError
from tau.base.late import late
from tau.base.text import sentence, shortened

parse = late("urllib.parse")
google_auth = late("google.auth")
google_requests = late("google.auth.transport.requests")

TOKEN_URL = "https://oauth2.googleapis.com/token"
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
RENEW_EARLY_S = 300
PROJECTS = ("GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT", "GCP_PROJECT")
LOCATIONS = ("GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_REGION")
EXTRA = "install tau's extra for it: pip install 'tau-agent[vertex]'"


class _Token(msgspec.Struct, frozen=True):
    access_token: str = ""
    expires_in: float = 3600
    error_description: str = ""
    error: str = ""


class GoogleCredentials:
    """Implements `CloudCredentials`."""

    hint = "run gcloud auth application-default login and set GOOGLE_CLOUD_PROJECT"

    def __init__(
        self, environ: Mapping[str, str], http: Transport | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._environ = environ
        self._http = http
        self._clock = clock
        self._token = ""
        self._valid_until = 0.0

    @property
    def file(self) -> Path:
        """Application default credentials."""
        if named := self._environ.get("GOOGLE_APPLICATION_CREDENTIALS"):
            return Path(named).expanduser()
        folder = self._environ.get("CLOUDSDK_CONFIG") or str(home(self._environ) / ".config" / "gcloud")
        return Path(folder) / "application_default_credentials.json"

    def is_configured(self) -> bool:
        return self.file.is_file()

    async def find(self, *, fresh: bool = False) -> str | None:
        if not self.is_configured():
            return None
        if fresh or self._clock() >= self._valid_until:
            values = self._values()
            if values.get("type") == "authorized_user":
                token, lifetime_s = await self._exchange(values)
            else:
                token, lifetime_s = await asyncio.to_thread(self._google_auth_token)
            secrets.learn(token)
            self._token = token
            self._valid_until = self._clock() + lifetime_s - RENEW_EARLY_S
        return self._token

    def address(self, base_url: str) -> str:
        """The default address becomes that of the project; with an API key alone, none is needed."""
        base_url = expand_address(base_url, self._environ, "Google Vertex AI")
        project = self._first(PROJECTS) or self._file_project()
        if "/publishers/" in base_url or "/projects/" in base_url:
            return base_url
        location = self._first(LOCATIONS) or "global"
        host = "" if location == "global" else f"{location}-"
        base_url = base_url.replace("://aiplatform.", f"://{host}aiplatform.")
        scope = f"/projects/{project}/locations/{location}" if project else ""
        return f"{base_url.rstrip('/')}{scope}/publishers/google"

    def _first(self, names: tuple[str, ...]) -> str:
        return next((self._environ[name].strip() for name in names if self._environ.get(name)), "")

    def _file_project(self) -> str:
        values = self._values() if self.is_configured() else {}
        return str(values.get("quota_project_id") or values.get("project_id") or "")

    def _values(self) -> dict[str, object]:
        try:
            return msgspec.json.decode(self.file.read_bytes(), type=dict[str, Any])
        except (OSError, msgspec.DecodeError) as error:
            raise ConfigError(
                f"{self.file} cannot be read: run gcloud auth application-default login."
            ) from error

    async def _exchange(self, values: Mapping[str, object]) -> tuple[str, float]:
        """Exchange the user's refresh token, over our transport."""
        if self._http is None:
            raise ConfigError("There is no connection to exchange Google's credentials.")
        url = str(values.get("token_uri") or TOKEN_URL)
        place = parse_url(url)
        if place.scheme != "https" and not is_loopback(place):
            raise ConfigError(f"{self.file} names a token_uri that is not encrypted: {place.host}.")
        secrets.learn(str(values.get("client_secret", "")), str(values.get("refresh_token", "")))
        names = ("client_id", "client_secret", "refresh_token")
        form = {"grant_type": "refresh_token", **{name: str(values.get(name, "")) for name in names}}
        headers = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
        async with self._http.open(
            "POST", url, headers=headers, body=parse.urlencode(form).encode()
        ) as response:
            body = await response.read()
            try:
                token = msgspec.json.decode(body, type=_Token)
            except msgspec.DecodeError:
                token = _Token(error=f"status {response.status}")
        if response.status >= 500:
            raise ProviderError(f"Google's token server answered {response.status}.", retryable=True)
        if response.status >= 300 or not token.access_token:
            why = secrets.mask(token.error_description or token.error or f"status {response.status}")
            raise ConfigError(
                f"Google rejects the credentials in {self.file} ({shortened(why, 200)}):"
                " run gcloud auth application-default login."
            )
        return token.access_token, token.expires_in

    def _google_auth_token(self) -> tuple[str, float]:
        """In a thread: it asks Google's servers, and may run a program that the file names."""
        if b"executable" in self.file.read_bytes() and is_in_repository(str(self.file)):
            raise ConfigError(
                f"{self.file} names a program, and the agent could change it: move the file out of the"
                " repository."
            )
        try:
            credentials, _ = google_auth.load_credentials_from_file(str(self.file), scopes=[SCOPE])
            credentials.refresh(google_requests.Request())
        except ImportError as error:
            raise ConfigError(f"{self.file} is not of a user, but of a service account: {EXTRA}.") from error
        except Exception as error:  # google-auth has no common base for what can fail here
            raise ConfigError(sentence(f"No credentials for Google Cloud: {error}")) from error
        expiry = credentials.expiry
        lifetime_s = 3600.0 if expiry is None else expiry.timestamp() - time.time()
        return str(credentials.token), lifetime_s
