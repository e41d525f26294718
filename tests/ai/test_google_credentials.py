"""Access tokens of Google Cloud: from the user's credentials over our transport, else through google-auth."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from tau.ai import google_credentials
from tau.ai.google_credentials import GoogleCredentials
from tau.ai.http import HttpTransport
from tau.base import secrets
from tau.base.errors import ConfigError, ProviderError
from tau.base.late import late
from tests.support.fake_answers import Raw
from tests.support.raw_server import raw_server

ADDRESS = "https://aiplatform.googleapis.com/v1"


class TokenServer:
    """Answers each exchange with another token."""

    def __init__(self, answer: Raw | None = None) -> None:
        self.forms: list[dict[str, list[str]]] = []
        self._answer = answer

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        [length] = [
            line.split(":")[1] for line in head.lower().split("\r\n") if line.startswith("content-length")
        ]
        self.forms.append(parse_qs((await reader.readexactly(int(length))).decode()))
        token = {"access_token": f"ya29.{len(self.forms)}", "expires_in": 3600, "token_type": "Bearer"}
        answer = self._answer or Raw(json.dumps(token), 200)
        writer.write(
            f"HTTP/1.1 {answer.status} Fake\r\ncontent-type: application/json\r\nconnection: close\r\n"
            f"content-length: {len(answer.body)}\r\n\r\n{answer.body}".encode()
        )


def write(folder: Path, **values: Any) -> dict[str, str]:
    """The environment with these application default credentials."""
    place = folder / ".config" / "gcloud"
    place.mkdir(parents=True, exist_ok=True)
    (place / "application_default_credentials.json").write_text(json.dumps(values))
    return {"HOME": str(folder)}


def user(**more: Any) -> dict[str, Any]:
    known = {"type": "authorized_user", "client_id": "id", "client_secret": "secret", "refresh_token": "1//r"}
    return {**known, **more}


def exchange(folder: Path, server: TokenServer, ticks: list[float], **more: Any) -> list[str | None]:
    """The tokens at these times. A negative one asks for a fresh token."""

    async def main() -> list[str | None]:
        http = HttpTransport({})
        now = [0.0]
        async with raw_server(server.talk) as address:
            environ = write(folder, **user(token_uri=f"http://{address}/token", **more))
            known = GoogleCredentials(environ, http, lambda: now[0])
            found = []
            for tick in ticks:
                now[0] = abs(tick)
                found.append(await known.find(fresh=tick < 0))
            await http.close()
        return found

    return asyncio.run(main())


def test_nothing_is_configured(tmp_path: Path) -> None:
    known = GoogleCredentials({"HOME": str(tmp_path)}, None)
    assert not known.is_configured()
    assert asyncio.run(known.find()) is None


def test_users_refresh_token_is_exchanged_over_our_transport(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "google.auth", None)
    server = TokenServer()
    assert exchange(tmp_path, server, [0]) == ["ya29.1"]
    assert server.forms == [
        {
            "grant_type": ["refresh_token"],
            "client_id": ["id"],
            "client_secret": ["secret"],
            "refresh_token": ["1//r"],
        }
    ]


def test_token_is_kept_until_five_minutes_before_its_end(tmp_path: Path) -> None:
    tokens = exchange(tmp_path, TokenServer(), [0, 3_299, 3_300, -3_301])
    assert tokens == ["ya29.1", "ya29.1", "ya29.2", "ya29.3"]


def test_rejected_login_says_how_to_log_in_again(tmp_path: Path) -> None:
    revoked = Raw('{"error": "invalid_grant", "error_description": "Token has been revoked."}', 400)
    with pytest.raises(ConfigError) as caught:
        exchange(tmp_path, TokenServer(revoked), [0])
    message = str(caught.value)
    assert "Token has been revoked." in message and "gcloud auth application-default login" in message
    assert "1//r" not in message and "secret" not in message


def test_token_server_that_repeats_the_refresh_token_does_not_show_it(tmp_path: Path) -> None:
    repeated = Raw('{"error": "invalid_grant", "error_description": "Bad token 1//refresh-token"}', 400)
    with pytest.raises(ConfigError) as caught:
        exchange(tmp_path, TokenServer(repeated), [0], refresh_token="1//refresh-token")
    assert "Bad token [masked]" in str(caught.value)


def test_access_tokens_are_masked_everywhere(tmp_path: Path) -> None:
    given = Raw('{"access_token": "opaque-access-token", "expires_in": 3600}', 200)
    assert exchange(tmp_path, TokenServer(given), [0]) == ["opaque-access-token"]
    assert secrets.mask("the opaque-access-token") == "the [masked]"


def test_program_that_a_file_of_the_repository_names_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = {"executable": {"command": f"touch {tmp_path}/ran"}}
    (tmp_path / "key.json").write_text(json.dumps({"type": "external_account", "credential_source": source}))
    monkeypatch.chdir(tmp_path)
    known = GoogleCredentials({"GOOGLE_APPLICATION_CREDENTIALS": "key.json"}, None)
    with pytest.raises(ConfigError, match="move the file out of the repository"):
        asyncio.run(known.find())


def test_failing_token_server_is_retried(tmp_path: Path) -> None:
    with pytest.raises(ProviderError) as caught:
        exchange(tmp_path, TokenServer(Raw("oops", 503)), [0])
    assert caught.value.retryable


def test_refresh_token_is_not_sent_unencrypted(tmp_path: Path) -> None:
    environ = write(tmp_path, **user(token_uri="http://tokens.example.com/"))
    with pytest.raises(ConfigError, match="not encrypted"):
        asyncio.run(GoogleCredentials(environ, HttpTransport({})).find())


def test_broken_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{")
    known = GoogleCredentials({"GOOGLE_APPLICATION_CREDENTIALS": str(tmp_path / "x.json")}, None)
    with pytest.raises(ConfigError, match=r"x\.json cannot be read"):
        asyncio.run(known.find())


def test_service_account_without_the_extra_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "google.auth", None)
    monkeypatch.setattr(google_credentials, "google_auth", late("google.auth"))
    environ = write(tmp_path, type="service_account")
    with pytest.raises(ConfigError, match=r"pip install 'tau-agent\[vertex\]'"):
        asyncio.run(GoogleCredentials(environ, None).find())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.holds_loop
def test_google_auth_serves_service_accounts(tmp_path: Path) -> None:
    pytest.importorskip("google.auth", reason="needs the extra `vertex`")
    pytest.importorskip("requests", reason="needs the extra `vertex`")
    key = subprocess.run(
        ["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    server = TokenServer()

    async def main() -> str | None:
        async with raw_server(server.talk) as address:
            environ = write(
                tmp_path,
                type="service_account",
                project_id="p",
                private_key=key,
                client_email="tau@p.iam.gserviceaccount.com",
                token_uri=f"http://{address}/token",
            )
            return await GoogleCredentials(environ, None).find()

    assert asyncio.run(main()) == "ya29.1"
    assert server.forms[0]["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, "https://aiplatform.googleapis.com/v1/publishers/google"),
        (
            {"GOOGLE_CLOUD_PROJECT": "p"},
            "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google",
        ),
        (
            {"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "europe-west4"},
            "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4"
            "/publishers/google",
        ),
    ],
)
def test_address_has_project_and_location(tmp_path: Path, environ: dict[str, str], expected: str) -> None:
    assert GoogleCredentials({"HOME": str(tmp_path), **environ}, None).address(ADDRESS) == expected


def test_project_comes_from_the_credentials_last(tmp_path: Path) -> None:
    environ = write(tmp_path, **user(quota_project_id="theirs"))
    assert "/projects/theirs/" in GoogleCredentials(environ, None).address(ADDRESS)
    environ["GOOGLE_CLOUD_PROJECT"] = "mine"
    assert "/projects/mine/" in GoogleCredentials(environ, None).address(ADDRESS)


def test_address_of_a_gateway_is_unchanged(tmp_path: Path) -> None:
    own = "https://gateway.example.com/v1/projects/p/locations/eu/publishers/google"
    assert GoogleCredentials({"HOME": str(tmp_path)}, None).address(own) == own
