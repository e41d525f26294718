"""The first run, /login and /logout: a key is typed where nobody can read it, and is used at once."""

import json
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.e2e.interactive.desk import MODELS, OK, Desk, Seat
from tests.support.fake_answers import Status

KEY, OTHER_KEY = "sk-proof-0123456789abcdef", "sk-other-fedcba9876543210"
SETUP = "Welcome to tau: choose a model"


def know_provider(desk: Desk) -> None:
    """A provider that wants a key; its variable is not set."""
    provider = {
        "baseUrl": f"{desk.tau.server.url}/v1",
        "api": "openai-completions",
        "apiKey": "PROOF_API_KEY",
        "models": MODELS,
    }
    desk.tau.write("models.json", {"providers": {"fake": provider}})


def without_key(desk: Desk, *words: str) -> Seat:
    know_provider(desk)
    desk.settings(local__discover=False)
    seat = desk.start(*words, ready="")
    seat.see(SETUP)
    return seat


def with_key(desk: Desk, key: str) -> Seat:
    know_provider(desk)
    desk.tau.write("auth.json", {"fake": {"type": "api_key", "key": key}})
    (desk.tau.home / "auth.json").chmod(0o600)
    return desk.start()


def stored(desk: Desk) -> dict[str, Any]:
    path = desk.tau.home / "auth.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def used(desk: Desk) -> str:
    return desk.tau.server.requests[-1].headers["authorization"]


def paste(seat: Seat, key: str) -> None:
    seat.see("fake key")
    seat.term.paste(key)
    seat.until(lambda rows: any("•" * 8 in row or "*" * 8 in row for row in rows), "the hidden key")
    seat.press("enter")


def choose(seat: Seat, label: str) -> None:
    """By its number, as a person does who has read the list."""
    rows = seat.see(label)
    row = next(row for row in rows if label in row)
    seat.press(row.partition(".")[0].strip(" ❯"))


def choose_provider(seat: Seat) -> None:
    choose(seat, "Paste an API key")
    seat.see("Which provider is the key for?")
    seat.term.type("fake")
    seat.miss("Anthropic")
    seat.press("enter")


def test_the_first_run_offers_what_can_be_done_and_explains_it(desk: Desk) -> None:
    (desk.tau.home / "models.json").unlink()
    desk.settings(local__discover=False)
    seat = desk.start(flags=(), ready="")
    rows = seat.see(SETUP, "Paste an API key", "How this works", "Quit")
    assert not any("Traceback" in row or "went wrong" in row or "auth.json" in row for row in rows)
    choose(seat, "How this works")
    seat.see("Models and keys", "Back")
    seat.press("enter").see(SETUP)
    choose(seat, "Quit")
    assert seat.term.wait() == 0


def test_escape_at_the_first_run_quits(desk: Desk) -> None:
    seat = without_key(desk)
    seat.see(SETUP)
    seat.press("escape")
    assert seat.term.wait() == 0
    assert not (desk.tau.home / "auth.json").exists()


def test_a_key_that_is_pasted_at_the_first_run_is_kept_and_used_and_never_shown(desk: Desk) -> None:
    seat = without_key(desk)
    choose_provider(seat)
    paste(seat, KEY)
    seat.see("Saved the fake key")
    seat.ask("hello", OK)
    assert used(desk) == f"Bearer {KEY}"
    assert stored(desk) == {"fake": {"type": "api_key", "key": KEY}}
    assert KEY.encode() not in bytes(seat.term.output)
    assert seat.leave() == 0
    desk.start().ask("again", OK)
    assert used(desk) == f"Bearer {KEY}"


def test_what_cannot_be_a_key_is_refused_in_a_sentence(desk: Desk) -> None:
    seat = without_key(desk)
    choose_provider(seat)
    seat.see("fake key")
    seat.term.type("short")
    seat.press("enter").see("Too short for a key")
    seat.press("escape").see(SETUP)
    assert not (desk.tau.home / "auth.json").exists()


def test_what_was_typed_before_the_first_run_is_sent_when_there_is_a_key(desk: Desk) -> None:
    seat = without_key(desk, "a question of mine")
    choose_provider(seat)
    paste(seat, KEY)
    seat.see("a question of mine", OK)
    assert desk.tau.said() == ["a question of mine"]


class Ollama(BaseHTTPRequestHandler):
    """Answers as Ollama does when it is asked for its models."""

    def do_GET(self) -> None:
        self._answer({"models": [{"name": "little:7b", "model": "little:7b"}]})

    def do_POST(self) -> None:
        self._answer(
            {"capabilities": ["completion", "tools"], "model_info": {"llama.context_length": 32_768}}
        )

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads it."""

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


def test_a_server_on_this_machine_is_found_and_used(desk: Desk) -> None:
    (desk.tau.home / "models.json").unlink()
    desk.settings(local__discover=True, defaultProvider="anthropic")
    with ollama() as place:
        seat = desk.start(flags=(), env={"OLLAMA_HOST": place}, ready="")
        rows = seat.see("How this works")
        while not any("Use Ollama" in row for row in rows):  # servers have little time to answer
            choose(seat, "How this works")
            seat.see("Models and keys")
            seat.press("enter")
            rows = seat.see("How this works")
        choose(seat, "Use Ollama on this machine")
        seat.see("Removed defaultProvider from", "─ little:7b")
        assert "defaultProvider" not in json.loads((desk.tau.home / "settings.json").read_text())
        assert seat.leave() == 0


def test_a_model_of_the_settings_that_is_not_there_can_be_left(desk: Desk) -> None:
    desk.settings(local__discover=False, defaultModel="gone-model")
    seat = desk.start(flags=(), ready="")
    seat.see('No model matches "gone-model"')
    choose(seat, "Use another model")
    seat.see("Removed defaultModel from", "─ fake-model")
    seat.ask("hello", OK)


def test_login_replaces_a_key_for_the_next_request(desk: Desk) -> None:
    seat = with_key(desk, OTHER_KEY)
    seat.ask("one", OK)
    assert used(desk) == f"Bearer {OTHER_KEY}"
    seat.send("/login fake")
    paste(seat, f'export FAKE_API_KEY="{KEY}"')
    seat.see("Saved the fake key", "which", "only", "read")
    seat.ask("two", OK)
    assert used(desk) == f"Bearer {KEY}"
    assert stored(desk)["fake"] == {"type": "api_key", "key": KEY}
    assert KEY.encode() not in bytes(seat.term.output)
    seat.press("up")
    seat.editor_is("two")


def test_login_can_be_left_without_a_change(desk: Desk) -> None:
    seat = with_key(desk, OTHER_KEY)
    seat.send("/login").see("Which provider is the key for?", "Anthropic")
    seat.press("escape").miss("Which provider is the key for?")
    seat.send("/login fake").see("fake key")
    seat.press("escape").miss("fake key")
    assert stored(desk)["fake"] == {"type": "api_key", "key": OTHER_KEY}


def test_login_of_an_unknown_provider_says_which_there_are(desk: Desk) -> None:
    seat = desk.start().send("/login nobody")
    seat.see('Unknown provider "nobody"; choose from')
    seat.editor_is("/login nobody")


def test_logout_forgets_the_key(desk: Desk) -> None:
    seat = with_key(desk, OTHER_KEY)
    seat.send("/logout").see("Which key do you want to remove?", "Remove fake")
    seat.press("2").see("Removed the fake key.")
    assert "fake" not in stored(desk)
    seat.send("/logout").see("No keys are stored")
    seat.send("/logout fake").see('No key stored for "fake".')


def test_a_key_that_is_refused_can_be_replaced_and_the_message_sent_again(desk: Desk) -> None:
    desk.tau.script(Status(401, "Invalid key"), "Now it works.")
    seat = with_key(desk, OTHER_KEY)
    seat.send("hello").see("Invalid key")
    seat.rests().send("/login fake")
    paste(seat, KEY)
    seat.see("Saved the fake key")
    seat.send("/retry").see("Now it works.")
    assert used(desk) == f"Bearer {KEY}" and desk.tau.said() == ["hello"]
