"""The first run, /login and /logout: a key is typed unseen and used at once."""

import json
import re
import stat
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.e2e.interactive.launcher import MODELS, OK, Launcher, User
from tests.support.fake_answers import Status
from tests.support.oauth_server import OAuthServer

KEY, OTHER_KEY = "sk-proof-0123456789abcdef", "sk-other-fedcba9876543210"
SETUP = "Welcome to tau: choose a model"


def know_provider(launcher: Launcher) -> None:
    """A provider that needs a key; its variable is not set."""
    provider = {
        "baseUrl": f"{launcher.tau.server.url}/v1",
        "api": "openai-completions",
        "apiKey": "PROOF_API_KEY",
        "models": MODELS,
    }
    launcher.tau.write("models.json", {"providers": {"fake": provider}})


def without_key(launcher: Launcher, *words: str) -> User:
    know_provider(launcher)
    launcher.settings(local__discover=False)
    user = launcher.start(*words, ready="")
    user.see(SETUP)
    return user


def with_key(launcher: Launcher, key: str) -> User:
    know_provider(launcher)
    launcher.tau.write("auth.json", {"fake": {"type": "api_key", "key": key}})
    (launcher.tau.home / "auth.json").chmod(0o600)
    return launcher.start()


def stored(launcher: Launcher) -> dict[str, Any]:
    path = launcher.tau.home / "auth.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def used(launcher: Launcher) -> str:
    return launcher.tau.server.requests[-1].headers["authorization"]


def paste(user: User, key: str) -> None:
    user.see("fake key")
    user.term.paste(key)
    user.until(lambda rows: any("•" * 8 in row or "*" * 8 in row for row in rows), "the hidden key")
    user.press("enter")


def choose(user: User, label: str) -> None:
    """By its number, like a user after reading the list."""
    rows = user.see(label)
    row = next(row for row in rows if label in row)
    user.press(row.partition(".")[0].strip(" ❯"))


def choose_provider(user: User) -> None:
    choose(user, "Paste an API key")
    user.see("Which provider is the key for?")
    user.term.type("fake")
    user.miss("Anthropic")
    user.press("enter")


def test_first_run_offers_and_explains_the_options(launcher: Launcher) -> None:
    (launcher.tau.home / "models.json").unlink()
    launcher.settings(local__discover=False)
    user = launcher.start(flags=(), ready="")
    rows = user.see(SETUP, "Paste an API key", "How this works", "Quit")
    assert not any("Traceback" in row or "went wrong" in row or "auth.json" in row for row in rows)
    choose(user, "How this works")
    user.see("Models and keys", "Back")
    user.press("enter").see(SETUP)
    choose(user, "Quit")
    assert user.term.wait() == 0


def test_escape_at_the_first_run_quits(launcher: Launcher) -> None:
    user = without_key(launcher)
    user.see(SETUP)
    user.press("escape")
    assert user.term.wait() == 0
    assert not (launcher.tau.home / "auth.json").exists()


def test_key_pasted_at_the_first_run_is_stored_used_and_never_shown(launcher: Launcher) -> None:
    user = without_key(launcher)
    choose_provider(user)
    paste(user, KEY)
    user.see("Saved the fake key")
    user.ask("hello", OK)
    assert used(launcher) == f"Bearer {KEY}"
    assert stored(launcher) == {"fake": {"type": "api_key", "key": KEY}}
    assert KEY.encode() not in bytes(user.term.output)
    assert user.leave() == 0
    launcher.start().ask("again", OK)
    assert used(launcher) == f"Bearer {KEY}"


@pytest.mark.parametrize("marked", [True, False])
def test_key_pasted_before_its_provider_is_chosen_is_not_shown(launcher: Launcher, marked: bool) -> None:
    key = "sk-ant-api03-" + "k3Y" * 20
    user = without_key(launcher)
    choose(user, "Paste an API key")
    user.see("Which provider is the key for?")
    (user.term.paste if marked else user.term.type)(key)
    user.see("A pasted key is not shown here.", "❯ Anthropic")
    user.press("enter").see("Paste the Anthropic key")
    user.press("escape").see(SETUP)
    assert key[20:40].encode() not in bytes(user.term.output)


def test_impossible_key_is_refused_in_a_sentence(launcher: Launcher) -> None:
    user = without_key(launcher)
    choose_provider(user)
    user.see("fake key")
    user.term.type("short")
    user.press("enter").see("Too short for a key")
    user.press("escape").see(SETUP)
    assert not (launcher.tau.home / "auth.json").exists()


def test_text_typed_before_the_first_run_is_sent_once_there_is_a_key(launcher: Launcher) -> None:
    user = without_key(launcher, "a question of mine")
    choose_provider(user)
    paste(user, KEY)
    user.see("a question of mine", OK)
    assert launcher.tau.user_messages() == ["a question of mine"]


class Ollama(BaseHTTPRequestHandler):
    """Answers like Ollama when asked for its models."""

    def do_GET(self) -> None:
        self._answer({"models": [{"name": "little:7b", "model": "little:7b"}]})

    def do_POST(self) -> None:
        self._answer(
            {"capabilities": ["completion", "tools"], "model_info": {"llama.context_length": 32_768}}
        )

    def log_message(self, format: str, *args: Any) -> None:
        """Not visible anywhere."""

    def _answer(self, content: Any) -> None:
        data = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def ollama() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Ollama)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_local_server_is_found_and_used(launcher: Launcher) -> None:
    (launcher.tau.home / "models.json").unlink()
    launcher.settings(local__discover=True, defaultProvider="anthropic")
    with ollama() as place:
        user = launcher.start(flags=(), env={"OLLAMA_HOST": place}, ready="")
        rows = user.see("How this works")
        while not any("Use Ollama" in row for row in rows):  # servers have little time to answer
            choose(user, "How this works")
            user.see("Models and keys")
            user.press("enter")
            rows = user.see("How this works")
        choose(user, "Use Ollama on this machine")
        user.see("Removed defaultProvider from", "─ little:7b")
        assert "defaultProvider" not in json.loads((launcher.tau.home / "settings.json").read_text())
        assert user.leave() == 0


def test_missing_configured_model_can_be_replaced(launcher: Launcher) -> None:
    launcher.settings(local__discover=False, defaultModel="gone-model")
    user = launcher.start(flags=(), ready="")
    user.see('No model matches "gone-model"')
    choose(user, "Use another model")
    user.see("Removed defaultModel from", "─ fake-model")
    user.ask("hello", OK)


def test_login_replaces_a_key_for_the_next_request(launcher: Launcher) -> None:
    user = with_key(launcher, OTHER_KEY)
    user.ask("one", OK)
    assert used(launcher) == f"Bearer {OTHER_KEY}"
    user.send("/login fake")
    paste(user, f'export FAKE_API_KEY="{KEY}"')
    user.see("Saved the fake key", "which", "only", "read")
    user.ask("two", OK)
    assert used(launcher) == f"Bearer {KEY}"
    assert stored(launcher)["fake"] == {"type": "api_key", "key": KEY}
    assert KEY.encode() not in bytes(user.term.output)
    user.press("up")
    user.editor_is("two")


def test_login_can_be_cancelled_without_a_change(launcher: Launcher) -> None:
    user = with_key(launcher, OTHER_KEY)
    user.send("/login").see("Which provider is the key for?", "Anthropic")
    user.press("escape").miss("Which provider is the key for?")
    user.send("/login fake").see("fake key")
    user.press("escape").miss("fake key")
    assert stored(launcher)["fake"] == {"type": "api_key", "key": OTHER_KEY}


def test_login_of_an_unknown_provider_lists_the_known_ones(launcher: Launcher) -> None:
    user = launcher.start().send("/login nobody")
    user.see('Unknown provider "nobody"; choose from')
    user.editor_is("/login nobody")


def test_logout_removes_the_key(launcher: Launcher) -> None:
    user = with_key(launcher, OTHER_KEY)
    user.send("/logout").see("Which key do you want to remove?", "Remove fake")
    user.press("2").see("Removed the fake key.")
    assert "fake" not in stored(launcher)
    user.send("/logout").see("No keys are stored")
    user.send("/logout fake").see('No key stored for "fake".')


def test_rejected_key_can_be_replaced_and_the_message_resent(launcher: Launcher) -> None:
    launcher.tau.script(Status(401, "Invalid key"), "Now it works.")
    user = with_key(launcher, OTHER_KEY)
    user.send("hello").see("Invalid key")
    user.rests().send("/login fake")
    paste(user, KEY)
    user.see("Saved the fake key")
    user.send("/retry").see("Now it works.")
    assert used(launcher) == f"Bearer {KEY}" and launcher.tau.user_messages() == ["hello"]


def add_server(user: User, launcher: Launcher, key: str) -> None:
    """Type the address of the fake server, then a key or none."""
    user.see("Server address")
    user.term.type("ftp://nonsense")
    user.press("enter").see("Type an address that starts with https://")
    for _ in "ftp://nonsense":
        user.press("backspace")
    user.term.type(f"{launcher.tau.server.url}/v1/")
    user.press("enter").see("needs none")
    if key:
        user.term.paste(key)
        user.until(lambda rows: any("•" * 8 in row for row in rows), "the hidden key")
    user.press("enter")  # it lists one model, so there is nothing to choose


def test_address_typed_at_the_first_run_is_used_and_saved(launcher: Launcher) -> None:
    (launcher.tau.home / "models.json").unlink()
    launcher.settings(local__discover=False)
    user = launcher.start(flags=(), ready="")
    user.see(SETUP)
    choose(user, "Enter a server address")
    add_server(user, launcher, KEY)
    user.see("─ fake-model")
    user.ask("hello", OK)
    assert used(launcher) == f"Bearer {KEY}"
    [(provider, entry)] = json.loads((launcher.tau.home / "models.json").read_text())["providers"].items()
    assert entry == {
        "baseUrl": f"{launcher.tau.server.url}/v1",
        "api": "openai-completions",
        "models": [{"id": "fake-model"}],
    }
    assert list(stored(launcher)) == [provider]
    assert KEY.encode() not in bytes(user.term.output)


def test_login_adds_a_server_that_needs_no_key(launcher: Launcher) -> None:
    user = with_key(launcher, OTHER_KEY)
    user.send("/login").see("Which provider is the key for?")
    user.term.type("another")
    user.miss("Anthropic")
    user.press("enter")
    add_server(user, launcher, "")
    user.see("Load it with")
    providers = json.loads((launcher.tau.home / "models.json").read_text())["providers"]
    [added] = [entry for id, entry in providers.items() if id != "fake"]
    assert added["apiKey"] == "none" and "fake" in providers
    assert list(stored(launcher)) == ["fake"]


def test_first_key_names_the_model_with_its_price_and_offers_a_cheaper_one(launcher: Launcher) -> None:
    (launcher.tau.home / "models.json").unlink()
    launcher.settings(local__discover=False)
    user = launcher.start(flags=(), ready="")
    user.see(SETUP)
    choose(user, "Paste an API key")
    user.see("Which provider is the key for?")
    user.term.type("anthropic")
    user.press("enter").see("Anthropic key")
    user.term.paste("sk-ant-api03-0123456789abcdefghijklmnop")
    user.press("enter")
    rows = user.see("per million tokens", "(cheaper)", "/model changes it")
    cheaper = next(row for row in rows if "(cheaper)" in row)
    name = cheaper.partition("Use ")[2].partition(",")[0]
    choose(user, "(cheaper)")
    model = "-".join(name.lower().split()[1:2])
    user.until(lambda shown: any(row.startswith("─ ") and model in row for row in shown), "the cheaper model")


def test_login_with_a_browser_closes_its_dialog_and_is_used(launcher: Launcher) -> None:
    with OAuthServer() as server:
        provider = {"baseUrl": f"{launcher.tau.server.url}/v1", "api": "openai-completions", "models": MODELS}
        launcher.tau.write("models.json", {"providers": {"fake": {**provider, "login": server.block()}}})
        launcher.tau.write("auth.json", {"fake": {"type": "api_key", "key": KEY}})
        (launcher.tau.home / "auth.json").chmod(0o600)
        user = launcher.start()
        user.send("/login fake")
        choose(user, "Log in with a browser")
        rows = user.see("Open this page in a browser")
        joined = "".join(row.strip(" │|") for row in rows)
        found = re.search(rf"{re.escape(server.url)}/auth\?[\w.~%&=+-]+?(?=If the browser)", joined)
        assert found, joined
        with urllib.request.urlopen(server.visit(found[0]), timeout=10) as answer:
            assert answer.status == 200
        user.see("Logged in to fake")
        user.ask("hello", OK)
        assert used(launcher) == f"Bearer {stored(launcher)['fake']['access']}"
        user.send("/login fake")
        choose(user, "Log in with a code")
        user.see("enter the code ABCD-EFGH")
        user.see("Logged in to fake")


def test_login_with_a_browser_can_be_canceled(launcher: Launcher) -> None:
    with OAuthServer() as server:
        provider = {"baseUrl": f"{launcher.tau.server.url}/v1", "api": "openai-completions", "models": MODELS}
        launcher.tau.write("models.json", {"providers": {"fake": {**provider, "login": server.block()}}})
        launcher.tau.write("auth.json", {"fake": {"type": "api_key", "key": KEY}})
        (launcher.tau.home / "auth.json").chmod(0o600)
        user = launcher.start()
        user.send("/login fake")
        choose(user, "Log in with a browser")
        user.see("Open this page in a browser")
        user.press("escape")
        user.miss("Open this page in a browser")
        user.ask("hello", OK)
        assert stored(launcher) == {"fake": {"type": "api_key", "key": KEY}}
