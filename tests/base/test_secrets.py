"""The quick checks before masking miss nothing that the rules would mask."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.base import secrets
from tau.base.secret_formats import KEY_RULES, is_secret_value
from tau.base.secrets import KEY_HINTS, KnownSecrets, SecretMask, StreamMask, is_secret_variable

KEY = "sk-ant-" + "api03-Qw3rTy7UiOp_AsDfGhJkL-ZxCvBnM0123456789abcdAA"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBplanted\nkFq3Zt9planted\n-----END RSA PRIVATE KEY-----\n"


def test_the_quick_check_knows_all_hints() -> None:
    assert {hint.encode() for rule in KEY_RULES for hint in rule.hints} == set(KEY_HINTS)


def test_a_line_without_secrets_is_not_decoded() -> None:
    line = b'{ "a" : "odd   spacing stays" }'
    assert SecretMask(["unrelated-value"]).mask_line(line) is line


def test_only_strings_with_secrets_change_in_a_line() -> None:
    line = msgspec.json.encode({"n": 1.5, "text": f"export X={KEY}", "list": [None, True, "ä\u2028"]})
    masked = msgspec.json.decode(SecretMask().mask_line(line))
    assert masked == {"n": 1.5, "text": "export X=[masked Anthropic key]", "list": [None, True, "ä\u2028"]}


def test_masked_thinking_loses_its_signature() -> None:
    """A server rejects a signature that belongs to another text."""
    block = {"type": "thinking", "thinking": f"the key is {KEY}", "thinkingSignature": "c2ln" * 20}
    other = {"type": "thinking", "thinking": "nothing", "thinkingSignature": f"{KEY}"}
    assert SecretMask().mask_value([block, other]) == [
        {"type": "thinking", "thinking": "the key is [masked Anthropic key]"},
        other,
    ]


@given(st.lists(st.integers(1, 60), max_size=20))
def test_a_secret_is_masked_however_its_bytes_arrive(cuts: list[int]) -> None:
    data = f"first\nkey {KEY} end\n{PEM}last".encode()
    stream, stored = StreamMask(), b""
    for size in cuts:
        stored += stream.feed(data[:size])
        data = data[size:]
    stored += stream.feed(data) + stream.end()
    assert KEY.encode() not in stored
    assert b"planted" not in stored
    assert stored.startswith(b"first\nkey [masked Anthropic key] end\n")
    assert stored.endswith(b"last")


@pytest.mark.parametrize(
    "text",
    [
        "cat: /etc/passwd: Permission denied",
        "ls: cannot open directory 'private_key': Operation not permitted",
        "/home/u/.ssh/private_key: OpenSSH private key",
        "rm: secrets/token: Directory not empty",
        "passwd: Permission denied",
    ],
)
def test_an_error_about_a_file_is_not_a_secret(text: str) -> None:
    assert SecretMask().mask(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "password: Tr0ub4dor",
        "/run/secrets/db_password:Hunter2x",
        "/db/password: Hunter2x9",
        "PASSWORD=Permission",
    ],
)
def test_a_password_after_a_path_is_masked(text: str) -> None:
    assert "[masked]" in SecretMask().mask(text)


@pytest.mark.parametrize("value", ["${API_KEY}", "<your-key>", "aaaa1111", "31415926535", "two words 1"])
def test_placeholder_number_or_prose_is_not_a_secret(value: str) -> None:
    assert not is_secret_value(value, "api_key")
    assert is_secret_value("x7Qm2pLw9", "api_key")


def test_complete_lines_pass_at_once_and_an_endless_one_from_64_kib_on() -> None:
    assert StreamMask().feed(b"a line\nhalf a l") == b"a line\n"
    endless = StreamMask()
    assert endless.feed(b"-" * 65_536) == b""
    assert len(endless.feed(b"-")) == 65_537 - 8_192 and len(endless.end()) == 8_192


def test_sources_are_read_when_first_needed() -> None:
    read: list[int] = []

    def source() -> KnownSecrets:
        read.append(1)
        return KnownSecrets(("the-known-value",))

    secrets.add_source(source)
    assert read == []
    assert secrets.mask("it is the-known-value.") == "it is [masked]."
    secrets.learn("learned-later")
    assert secrets.mask("learned-later, the-known-value") == "[masked], [masked]"
    assert read == [1]


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("OPENAI_API_KEY", "x", True),
        ("AWS_SECRET_ACCESS_KEY", "/starts/like+a/path", True),
        ("npm_config__authToken", "abc", True),
        ("PGPASSWORD", "hunter2", True),
        ("DB_PASS", "12345678", True),
        ("MYSQL_PWD", "hunter2", True),
        ("GITHUB_PAT", "abc", True),
        ("CLIENT_PRIVATE", "abc", True),
        ("REGISTRY_AUTH", "abc", True),
        ("KEY2", "abc", True),
        ("PWD", "/home/me", False),
        ("OLDPWD", "/", False),
        ("SSH_AUTH_SOCK", "/dev/null", False),
        ("TOKENIZERS_PARALLELISM", "false", False),
        ("MAX_OUTPUT_TOKENS", "128000", False),
        ("GIT_AUTHOR_NAME", "me", False),
        ("KEYBOARD", "de", False),
        ("PATH", "/bin", False),
    ],
)
def test_name_and_value_show_which_variables_hold_secrets(name: str, value: str, secret: bool) -> None:
    assert is_secret_variable(name, value) is secret


def test_a_text_that_was_masked_before_is_not_called_free_of_secrets() -> None:
    mask = secrets.SecretMask(())
    assert (
        mask.mask("my password=[masked] and [masked AWS key]") == "my password=[masked] and [masked AWS key]"
    )
    assert secrets.masked_text(mask) == "Nothing unmasked looked like a secret."
