"""Who may use the server: token, cookie, Host, Origin, limits."""

import os
import stat
from pathlib import Path

import pytest

from tau.base.errors import ConfigError
from tau.config.paths import user_paths
from tau.modes.serve.access import MAX_BODY_BYTES, MAX_FAILURES, load_token
from tests.modes.serve.rig import TOKEN, HttpClient, Served, drive


def logged() -> str:
    return "".join(path.read_text() for path in user_paths(os.environ).logs.glob("*"))


def test_request_without_the_token_is_refused_and_logged(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        await served.session()  # opens the log
        for token in ("", "wrong"):
            client = HttpClient(served.client.port, token)
            for method, path in (("GET", "/v1/sessions"), ("POST", "/v1/sessions"), ("GET", "/v1/nothing")):
                answer = await client.send(method, path, None)
                assert (answer.status, answer.code) == (401, "unauthorized")
        assert (await HttpClient(served.client.port, "").get("/v1/health")).status == 200
        assert "Refused GET /v1/sessions: no token" in logged()
        assert "Refused POST /v1/sessions: wrong token" in logged()

    drive(tmp_path, [], work)


def test_wrong_host_and_wrong_origin_are_refused_and_logged(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        await served.session()
        client, port = served.client, served.client.port
        rebound = await client.get("/v1/sessions", host="evil.example")
        assert (rebound.status, rebound.code) == (421, "wrong_host")
        assert (await client.get("/", host="evil.example")).status == 421
        for origin in ("https://evil.example", "null", f"http://127.0.0.1:{port + 1}", "http://[::"):
            refused = await client.post("/v1/sessions", {}, origin=origin)
            assert (refused.status, refused.code) == (403, "wrong_origin"), origin
            assert "access-control-allow-origin" not in refused.headers
        assert (await client.get("/v1/sessions", origin=f"http://127.0.0.1:{port}")).status == 200
        assert (await client.get("/v1/sessions", host="localhost:1")).status == 200  # a tunnel
        assert "Host evil.example" in logged() and "Origin https://evil.example" in logged()

    drive(tmp_path, [], work)


def test_allowed_host_and_origin_are_served(tmp_path: Path) -> None:
    page = "https://editor.example"

    async def work(served: Served) -> None:
        client = served.client
        assert (await client.get("/v1/sessions", host="tau.example")).status == 200
        asked = await client.send("OPTIONS", "/v1/sessions", None, origin=page, authorization="")
        assert asked.status == 204
        assert asked.headers["access-control-allow-origin"] == page
        assert "Authorization" in asked.headers["access-control-allow-headers"]
        answer = await client.get("/v1/sessions", origin=page)
        assert (answer.status, answer.headers["access-control-allow-origin"]) == (200, page)

    drive(tmp_path, [], work, hosts=["tau.example"], origins=[page])


def test_token_is_traded_for_a_cookie_that_scripts_cannot_read(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        client = HttpClient(served.client.port, "")
        answer = await client.post("/v1/auth", {"token": TOKEN})
        assert answer.status == 204
        cookie = answer.headers["set-cookie"]
        assert all(word in cookie for word in ("HttpOnly", "SameSite=strict", "Path=/"))
        assert (await client.get("/v1/sessions", cookie=f"a=b; {cookie.split(';')[0]}")).status == 200
        assert (await client.get("/v1/sessions", cookie="tau_token=wrong")).status == 401

    drive(tmp_path, [], work)


def test_ten_wrong_tokens_lock_guesses_out_but_not_those_who_have_the_token(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        client = HttpClient(served.client.port, "")
        for _ in range(MAX_FAILURES):
            assert (await client.post("/v1/auth", {"token": "guess"})).status == 401
        answer = await client.post("/v1/auth", {"token": TOKEN})
        assert (answer.status, answer.code) == (429, "too_many_failures")
        assert 1 <= int(answer.headers["retry-after"]) <= 61
        assert (await HttpClient(served.client.port, "guess").get("/v1/sessions")).status == 429
        assert (await client.get("/v1/sessions")).status == 401  # no guess
        assert (await served.client.get("/v1/sessions")).status == 200

    drive(tmp_path, [], work)


def test_body_over_the_limit_is_refused_without_reading_it(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        client = served.client
        size = str(MAX_BODY_BYTES + 1)
        answer = await client.send("POST", "/v1/sessions", b"", content_length=size)
        assert (answer.status, answer.code) == (413, "too_large")

    drive(tmp_path, [], work)


def test_every_answer_forbids_scripts_of_others(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        for path in ("/", "/v1/health", "/v1/sessions", "/missing.js", "/../server.py", "/__init__.py"):
            answer = await served.client.get(path)
            assert answer.status == (404 if path[1:2] in ("m", ".", "_") else 200), path
            assert answer.headers["content-security-policy"].startswith(
                "default-src 'none'; script-src 'self';"
            )
            assert answer.headers["x-content-type-options"] == "nosniff"

    drive(tmp_path, [], work)


def test_token_is_made_once_and_only_its_user_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "home" / "serve_token"
    token = load_token(path)
    assert len(token) == 64
    path.chmod(0o644)
    assert load_token(path) == token
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_text("short")
    with pytest.raises(ConfigError, match="delete the file"):
        load_token(path)
