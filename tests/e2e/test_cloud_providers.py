"""`tau -p` with the providers of Google and Amazon, configured as their users do."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tau.ai.aws_credentials import AwsCredentials
from tests.e2e.program import Program

ID, SECRET = "AKIA" + "B" * 16, "s" * 40


def serve(tau: Program, provider: str, path: str = "") -> None:
    tau.write("models.json", {"providers": {provider: {"baseUrl": f"{tau.server.url}{path}"}}})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def test_gemini_with_a_key_in_a_variable(tau: Program) -> None:
    serve(tau, "google", "/v1beta")
    tau.script("Hello.")
    ran = tau.run("--provider", "google", "-p", "hi", GEMINI_API_KEY="AIza-test-key")
    assert (ran.returncode, ran.stdout) == (0, "Hello.\n")
    [request] = tau.server.requests
    assert request.path == "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse"
    assert request.key == "AIza-test-key"
    assert tau.server.problems == []


class TokenPage(BaseHTTPRequestHandler):
    """Exchanges anything for an access token."""

    def do_POST(self) -> None:
        body = json.dumps({"access_token": "ya29.test", "expires_in": 3600}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_vertex_with_the_users_own_login(tau: Program, home: Path) -> None:
    place = home / ".config" / "gcloud"
    place.mkdir(parents=True)
    serve(tau, "google-vertex", "/v1/projects/p/locations/global/publishers/google")
    tau.script("Hello.")
    with HTTPServer(("127.0.0.1", 0), TokenPage) as tokens:
        thread = threading.Thread(target=tokens.serve_forever, args=(0.01,))
        thread.start()
        url = f"http://127.0.0.1:{tokens.server_port}/token"
        values = {"type": "authorized_user", "refresh_token": "r", "token_uri": url}
        (place / "application_default_credentials.json").write_text(json.dumps(values))
        ran = tau.run("--provider", "google-vertex", "-p", "hi", HOME=str(home))
        tokens.shutdown()
        thread.join()
    assert (ran.returncode, ran.stdout) == (0, "Hello.\n")
    [request] = tau.server.requests
    assert request.headers["authorization"] == "Bearer ya29.test"
    assert request.path.startswith("/v1/projects/p/locations/global/publishers/google/models/gemini-")


@pytest.mark.parametrize("way", ["variables", "profile", "token"])
def test_bedrock_without_any_extra(tau: Program, home: Path, way: str) -> None:
    serve(tau, "amazon-bedrock")
    tau.script("Hello.")
    environ = {"HOME": str(home)}
    if way == "variables":
        environ |= {"AWS_ACCESS_KEY_ID": ID, "AWS_SECRET_ACCESS_KEY": SECRET}
    elif way == "profile":
        (home / ".aws").mkdir()
        keys = f"[work]\naws_access_key_id={ID}\naws_secret_access_key={SECRET}\n"
        (home / ".aws" / "credentials").write_text(keys)
        environ["AWS_PROFILE"] = "work"
    else:
        environ["AWS_BEARER_TOKEN_BEDROCK"] = "bedrock-token"
    ran = tau.run("--provider", "amazon-bedrock", "-p", "hi", **environ)
    assert (ran.returncode, ran.stdout) == (0, "Hello.\n")
    [request] = tau.server.requests
    assert request.path == "/model/us.anthropic.claude-opus-4-6-v1/converse-stream"
    expected = "Bearer bedrock-token" if way == "token" else f"AWS4-HMAC-SHA256 Credential={ID}/"
    assert request.headers["authorization"].startswith(expected)
    assert tau.server.problems == []


@pytest.mark.skipif(AwsCredentials({"HOME": "/none"}).is_configured(), reason="runs on a machine of Amazon's")
def test_missing_credentials_say_how_to_configure_them(tau: Program, home: Path) -> None:
    ran = tau.run("--provider", "amazon-bedrock", "-p", "hi", HOME=str(home))
    assert ran.returncode != 0
    assert "AWS_BEARER_TOKEN_BEDROCK" in ran.stderr and "AWS_PROFILE" in ran.stderr
    ran = tau.run("--provider", "google-vertex", "-p", "hi", HOME=str(home))
    assert ran.returncode != 0
    assert "gcloud auth application-default login" in ran.stderr


def test_secret_access_key_appears_nowhere(tau: Program, home: Path) -> None:
    serve(tau, "amazon-bedrock")
    environ = {"HOME": str(home), "AWS_ACCESS_KEY_ID": ID, "AWS_SECRET_ACCESS_KEY": SECRET}
    ran = tau.run("--provider", "amazon-bedrock", "-p", f"My secret is {SECRET}.", **environ)
    files = [path.read_text(errors="replace") for path in tau.home.rglob("*") if path.is_file()]
    assert SECRET not in ran.stdout + ran.stderr
    assert all(SECRET not in text for text in files)
