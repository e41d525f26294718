"""`tau login` for plans that vendors keep to their own programs, and with a client id of the user's own."""

import json

import pytest

from tests.e2e.program import Program
from tests.support.oauth_server import CLIENT, OAuthServer


@pytest.mark.parametrize("name", ["openai-codex", "chatgpt", "Codex"])
def test_login_to_a_chatgpt_plan_says_what_to_do(tau: Program, name: str) -> None:
    ran = tau.run("login", name)
    assert ran.returncode == 1
    assert "https://platform.openai.com/api-keys" in ran.stderr
    assert "tau login openai-codex --client-id ID" in ran.stderr
    assert "Unknown provider" not in ran.stderr


def test_chatgpt_plan_takes_the_users_client_id(tau: Program) -> None:
    with OAuthServer() as oauth:
        login = {"discovery": oauth.url, "scopes": ["openid"]}
        row = {
            "baseUrl": f"{oauth.url}/v1",
            "api": "openai-responses",
            "models": [{"id": "m"}],
            "login": login,
        }
        tau.write("models.json", {"providers": {"openai-codex": row}})
        missing = tau.run("login", "codex", "--device")
        assert missing.returncode == 1
        assert "with a client of your own, run tau login openai-codex --client-id ID" in missing.stderr
        ran = tau.run("login", "codex", "--device", "--client-id", CLIENT)
        assert ran.returncode == 0, ran.stderr
        assert {form["client_id"] for form in oauth.requests} == {CLIENT}
    stored = json.loads((tau.home / "auth.json").read_text())["openai-codex"]
    assert (stored["type"], stored["clientId"]) == ("oauth", CLIENT)
    assert stored["access"] not in ran.stdout + ran.stderr
