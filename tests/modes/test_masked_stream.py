"""Secrets in a text that streams are masked in each update as in the whole text, however it is split."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.agent.events import MessageStart, MessageUpdate
from tau.ai import stream_events as s
from tau.ai.assembler import Assembler
from tau.ai.faux import FAUX_MODEL
from tau.base import secrets
from tau.modes.event_json import EventEncoder

KNOWN = ("kn0wn-s3cret-of-this-user", "correct horse battery")
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{'MIIEpAIBAAKCAQEA7bq2xCz9' * 40}\n-----END RSA PRIVATE KEY-----"
LONG = "eyJ" + "hbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9" * 20
PARTS = (
    *KNOWN,
    PEM,
    f"Authorization: Bearer {LONG}",
    "ghp_abcdefghij0123456789abcdefghij012345",
    "sk-ant-REDACTED",
    "AKIAIOSFODNN7QWERTYU",
    "password = 'hunter2-and-more'",
    "postgres://admin:s3cr3tPassw0rd@db.corp/x",
    "mysql -u root -pTopSecret99 db",
    "curl --user bob:Swordfish1234 https://example.com",
    "--token abcDEF123456789xyz",
    "word " * 80,
    "The token of a lexer: name, key and value. ",
    "x" * 700,
    "- item: one\n- item: two\n",
    " ",
    "\n",
    "\u00e9\U0001f600",
    "\\",
    '"',
)


@pytest.fixture(autouse=True)
def known_secrets() -> None:
    secrets.forget()
    secrets.learn(*KNOWN)


class Block:
    """The text block of a message while it streams."""

    def __init__(self) -> None:
        self.encoder = EventEncoder()
        self.encoder.encode(MessageStart(Assembler(FAUX_MODEL, 1).message("stop")))
        self.encoder.encode(MessageUpdate(s.TextStart(0)))

    def feed(self, piece: str) -> tuple[str, str]:
        """The delta, and the text of the snapshot."""
        line = msgspec.json.decode(self.encoder.encode(MessageUpdate(s.TextDelta(0, piece))))
        update = line["assistantMessageEvent"]
        assert line["message"] == update["partial"]
        return update["delta"], line["message"]["content"][0]["text"]


@given(st.lists(st.sampled_from(PARTS), max_size=6), st.lists(st.integers(1, 90), min_size=1, max_size=60))
def test_each_snapshot_is_masked_as_the_text_so_far(parts: list[str], sizes: list[int]) -> None:
    text, block, at, turn = "".join(parts), Block(), 0, 0
    while at < len(text):
        piece = text[at : at + sizes[turn % len(sizes)]]
        at, turn = at + len(piece), turn + 1
        delta, shown = block.feed(piece)
        assert shown == secrets.mask(text[:at])
        assert delta in ("", piece)


@pytest.mark.parametrize("secret", PARTS[:12])
@pytest.mark.parametrize("size", [1, 3, 9, 40, 2_000])
def test_deltas_and_snapshots_never_have_the_secret(secret: str, size: int) -> None:
    text = f"Here it is: {secret} and so on, at length. " + "More words. " * 60
    block, sent = Block(), ""
    for at in range(0, len(text), size):
        delta, shown = block.feed(text[at : at + size])
        sent += delta
        assert shown == secrets.mask(text[: at + size])
    assert sent.endswith("More words. " * 30) or size > 100  # what follows is sent again
    if len(secret) > 900:
        middle = secret[len(secret) // 2 :][:100]
        assert middle not in sent


def test_secret_that_was_learned_while_it_streamed_is_masked() -> None:
    block = Block()
    block.feed("It is blue-Elephant-7")
    secrets.learn("blue-Elephant-77")
    assert block.feed("7 now")[1] == "It is [masked] now"
