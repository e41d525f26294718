"""Secrets are found everywhere in a session, and merely random-looking text is left alone."""

import json
import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.ai.wire import ImageContent, TextContent, ThinkingContent, ToolCall, ToolResultMessage, UserMessage
from tau.base.secrets import SecretMask, secret_variables
from tau.coding.export.files import ExportFormat, exported
from tau.coding.session import entries as s
from tau.coding.session.storage.log import SessionLog
from tau.config.paths import Paths
from tau.config.secret_mask import load_known_secrets
from tests.coding.export.sample import TIME, answer, picture, result

# Assembled at runtime so that secret scanners ignore this file. None of them is real.
ANTHROPIC = "sk-ant-" + "api03-Qw3rTy7UiOp_AsDfGhJkL-ZxCvBnM0123456789abcdAA"
OPENAI = "sk-" + "proj-Zx9Yw8Vu7Ts6Rq5Po4Nm3Lk2Ji1Hg0FeDcBa"
OLD_OPENAI = "sk-" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V2w3X4"
GOOGLE = "AIza" + "SyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY"
GITHUB = "ghp_" + "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
GITHUB_FINE = "github_pat_" + "11ABCDEFG0aBcDeFgHiJkL_mNoPqRsTuVwXyZ0123456789"
GITLAB = "glpat-" + "Ab1Cd2Ef3Gh4Ij5Kl6Mn"
SLACK = "xoxb-" + "123456789012-1234567890123-AbCdEfGhIjKlMnOp"
AWS_ID = "AKIA" + "Z7VRSQ5TJN2XMPLQ"
AWS_SECRET = "k3Xw9" + "ZqLr7Tn2Vb5Ym8Cd1Fg4Hj6Kp0Sa+Df/GhJ"
JWT = "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
KEY_LINES = "MIIEpAIBAAKCAQEA7Jx0planted\nkFq3Zt9planted==\n"
BEARER = "b7Tg5Rd3Wq1Zx9Cv8Nm6Lk4Jh2Gf0"
PASSWORD = "c0rrect-horse!battery"
DATABASE = "pg:s3cr3t.Pa55"
TOKEN_VALUE = "deadbeefcafe4711deadbeefcafe4711"
QUOTED = "p4ss phrase-less"
DOTENV = "hunter2hunter2"
HUGGING = "hf_" + "QwErTyUiOpAsDfGhJkLzXcVbNm12345678"
STRIPE = "sk_live_" + "51HxYzAbCdEfGhIjKlMnOpQr"
OWN_KEY = "my own key: no pattern knows it"
STORED = "stored-in-auth-json-4711"

PLANTED = (
    *(ANTHROPIC, OPENAI, OLD_OPENAI, GOOGLE, GITHUB, GITHUB_FINE, GITLAB, SLACK, AWS_ID, AWS_SECRET, JWT),
    *(
        *KEY_LINES.split(),
        BEARER,
        PASSWORD,
        "s3cr3t.Pa55",
        TOKEN_VALUE,
        DOTENV,
        HUGGING,
        STRIPE,
        OWN_KEY,
        STORED,
    ),
)
HARMLESS = (
    "d41d8cd98f00b204e9800998ecf8427e",
    "da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "550e8400-e29b-41d4-a716-446655440000",
    "sk-learn-like-names-are-not-keys-at-all",
    "max_tokens = 16384; totalTokens: 123456789",
    "token = get_token(request)",
    "def login(password: str | None = None, *, api_key: SecretStr) -> Token:",
    "const token = req.headers.authorization",
    "password=password, secret=self._secret",
    "API_KEY=$API_KEY TOKEN=${TOKEN} SECRET=<your-secret> KEY={{ key }}",
    "The token: it is what a model counts.",
    "keyboard: querty12345678",
    "https://example.com/a:b@c/path?x=1",
    "git@github.com:owner/repository.git",
    "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
    "toolu_01AbCdEfGhIjKlMnOpQrStUv",
    "echo $TOKEN | docker login --password-stdin",
    'echo "${REGISTRY_TOKEN}" | gh auth login --with-token',
    "echo logged-in | tee log; docker login --password-stdin < file",
    "openssl enc -k $KEY -pass env:KEY; openssl req -key server.key -passin file:pass.txt",
)


def planted_session(folder: Path | None = None) -> SessionLog:
    """Every secret once, in as many kinds of places as exist."""
    log = SessionLog.new(folder, Path("/home/me"), title=f"Deploy with {GITHUB}")
    first = log.append_message(UserMessage(f"use {ANTHROPIC}, please\nor {OPENAI}.", TIME))
    log.append(s.LabelEntry(target_id=first, label=f"the key {HUGGING}"))
    log.append_message(
        answer(
            ThinkingContent(f"The user gave me {OLD_OPENAI}; I must not repeat it."),
            f"Done: `{GOOGLE}` works, see https://bob:{DATABASE.partition(':')[2]}@db.example.com/x.",
            ToolCall("c1", "bash", {"command": f"curl -H 'Authorization: Bearer {BEARER}' https://x.test"}),
            ToolCall("c2", "write", {"path": ".env", "content": f"DB_PASSWORD={DOTENV}\nSTRIPE={STRIPE}\n"}),
            ToolCall(
                "c3", "login", {"user": "bob", "password": PASSWORD, "nested": [{"api_key": TOKEN_VALUE}]}
            ),
            stop="toolUse",
        )
    )
    pem = f"-----BEGIN RSA PRIVATE KEY-----\n{KEY_LINES}-----END RSA PRIVATE KEY-----"
    log.append_message(result("c1", "bash", f"{GITHUB_FINE}\n{GITLAB}\n{pem}\nexit 0"))
    details = {
        "path": ".env",
        "diff": f"--- a\n+++ b\n@@ -1 +1 @@\n-{SLACK}\n+{JWT}\n",
        "added": 1,
        "removed": 1,
    }
    log.append_message(result("c2", "write", "Written.", details=details))
    log.append_message(
        ToolResultMessage("c3", "login", [TextContent(f"token: '{TOKEN_VALUE}'"), picture(8, 8)], True, TIME)
    )
    log.append(s.CustomMessageEntry(custom_type="note", content=f"id {AWS_ID}\nsecret {AWS_SECRET}"))
    log.append(s.CompactionEntry(summary=f"The user's own is {OWN_KEY}.", first_kept_entry_id=first))
    log.append_message(answer(stop="error", error_message=f"401 for the key {STORED}"))
    return log


def text_of(log: SessionLog, format: ExportFormat, masker: SecretMask | None) -> str:
    return b"".join(exported(log, format, masker)).decode()


@pytest.mark.parametrize("format", ["html", "markdown", "json", "pi"])
def test_every_planted_secret_is_masked_and_counted(format: ExportFormat) -> None:
    assert len(PLANTED) >= 20
    masker = SecretMask([OWN_KEY, STORED])
    shown = text_of(planted_session(), format, masker)
    assert [secret for secret in PLANTED if secret in shown] == []
    assert masker.count >= 20
    if format in ("html", "markdown"):
        assert "places that looked like a secret were masked." in shown
    assert picture(8, 8).data in shown or format == "markdown"


def test_without_masking_everything_is_included() -> None:
    shown = msgspec.json.decode(text_of(planted_session(), "json", None))
    found = msgspec.json.encode(shown).decode()
    for secret in PLANTED:
        assert secret in found


def test_secrets_on_other_branches_are_masked_too() -> None:
    log = SessionLog.new(None, Path("/"))
    first = log.append_message(UserMessage("hello", TIME))
    log.append_message(UserMessage(f"left behind: {GITHUB}", TIME))
    log.move(first)
    log.append_message(UserMessage("go on", TIME))
    shown = text_of(log, "html", SecretMask())
    assert "left behind: [masked GitHub token]" in shown
    assert GITHUB not in shown


def test_secret_interrupted_by_terminal_colors_is_masked() -> None:
    log = SessionLog.new(None, Path("/"))
    log.append_message(UserMessage(f"{ANTHROPIC[:20]}\x1b[31m{ANTHROPIC[20:]}\x1b[0m", TIME))
    for format in ("html", "markdown"):
        assert ANTHROPIC[20:] not in text_of(log, format, SecretMask())


@pytest.mark.parametrize("text", HARMLESS)
def test_random_looking_text_is_kept(text: str) -> None:
    masker = SecretMask()
    assert masker.mask(text) == text
    assert masker.count == 0


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f'{{"api_key": "{TOKEN_VALUE}"}}', TOKEN_VALUE),
        (f'{{\\"token\\": \\"{TOKEN_VALUE}\\"}}', TOKEN_VALUE),
        (f"export MY_TOKEN={TOKEN_VALUE}", TOKEN_VALUE),
        (f"os.environ['SECRET'] = '{TOKEN_VALUE}'", TOKEN_VALUE),
        (f"  password: {PASSWORD}", PASSWORD),
        (f"mysql -u root -p{PASSWORD} shop", PASSWORD),
        (f"docker login -u bob -p {PASSWORD} registry.test", PASSWORD),
        (f"podman login registry.test -p '{PASSWORD}' -u bob", PASSWORD),
        (f"az login --service-principal -u app -p={PASSWORD}", PASSWORD),
        (f"curl -u bob:{PASSWORD} https://x.test", PASSWORD),
        (f"redis-cli -h db.test -a {PASSWORD} ping", PASSWORD),
        (f"aws configure set aws_secret_access_key {PASSWORD}", PASSWORD),
        (f"npm config set //registry.test/:_authToken {PASSWORD}", PASSWORD),
        (f"pip config set 'global.password' '{PASSWORD}'", PASSWORD),
        (f"echo {PASSWORD} | docker login -u bob --password-stdin registry.test", PASSWORD),
        (f"printf '%s' '{PASSWORD}' | podman login --password-stdin registry.test", PASSWORD),
        (f'echo -n "{PASSWORD}" | helm registry login --password-stdin registry.test', PASSWORD),
        (f"docker login -u bob --password-stdin <<< '{PASSWORD}'", PASSWORD),
        (f"echo {PASSWORD} | gh auth login --with-token", PASSWORD),
        (f"echo {PASSWORD} | sudo -S apt-get update", PASSWORD),
        (f"openssl enc -aes-256-cbc -k {PASSWORD} -in a -out b", PASSWORD),
        (f"openssl enc -d -K {TOKEN_VALUE} -iv 0 -in a", TOKEN_VALUE),
        (f"openssl enc -pass pass:{PASSWORD} -in a", PASSWORD),
        (f"openssl enc -pass 'pass:{PASSWORD}' -in a", PASSWORD),
        ("openssl enc -pass pass:hunter -in a", "hunter"),
        ("openssl rsa -passin env:KEY_PASS -passout pass:horses -in a", "horses"),
        (f"tool --password {PASSWORD} --verbose", PASSWORD),
        (f"proxy-authorization: Basic {TOKEN_VALUE}", TOKEN_VALUE),
        (f"https://{TOKEN_VALUE}@github.com/x/y.git", TOKEN_VALUE),
        (f"aws_secret_access_key = {AWS_SECRET}", AWS_SECRET),
        (f'"line\\n{OPENAI}\\nnext"', OPENAI),
        (f"?key%3D{ANTHROPIC}", ANTHROPIC),
        ("12:-----BEGIN PRIVATE KEY-----\n13:MIIplantedplanted\n14:more", "MIIplantedplanted"),
    ],
)
def test_secrets_are_found_by_the_words_around_them(text: str, secret: str) -> None:
    masker = SecretMask()
    assert secret not in masker.mask(text)
    assert masker.count == 1


def test_images_and_documents_are_left_alone() -> None:
    data = "AKIA" + "ABCDEFGHIJKLMNOP" * 4
    image = msgspec.to_builtins(ImageContent(data, "image/png"))
    assert SecretMask([data[:20]]).mask_value({"content": [image]}) == {"content": [image]}


def test_values_of_user_variables_are_known_secrets() -> None:
    environ = {
        "ACME_API_KEY": "abcdefgh",
        "ACME_TOKEN": "short",
        "SSH_AUTH_SOCK": "/tmp/agent",
        "GIT_AUTH": "/usr/bin/askpass",
        "MAX_TOKENS": "123456789",
        "SECRET": "12345678",
        "HOME": "/home/somebody",
        "DB_PASSWORD": "correct horse",
    }
    assert secret_variables(environ) == ["abcdefgh", "correct horse"]
    os.environ["ACME_API_KEY"] = "abcdefgh"
    assert SecretMask(secret_variables(os.environ)).mask("say abcdefgh!") == "say [masked]!"


def test_a_known_value_is_found_in_a_url_and_in_json() -> None:
    masker = SecretMask(['top "secret"/value'])
    assert masker.mask("?k=top%20%22secret%22%2Fvalue") == "?k=[masked]"
    assert masker.mask('{"k":"top \\"secret\\"/value"}') == '{"k":"[masked]"}'


@given(st.text(max_size=300))
def test_masking_never_fails_and_is_idempotent(text: str) -> None:
    once = SecretMask()
    masked = once.mask(text)
    assert SecretMask().mask(masked) == masked or once.count > 0


@given(
    st.lists(st.sampled_from([*PLANTED[:11], *HARMLESS[:4]]), min_size=1, max_size=6),
    st.sampled_from([" ", "\n", '","', " = "]),
)
def test_every_key_is_found_whatever_surrounds_it(parts: list[str], between: str) -> None:
    shown = SecretMask().mask(between.join(parts))
    alone = [part for part in parts if part in PLANTED and part != AWS_SECRET]
    assert [part for part in alone if part in shown] == []


def test_long_hostile_texts_stay_fast() -> None:
    """A backtracking pattern would not finish within the time limit of a test."""
    masker = SecretMask()
    for piece in (
        "password=",
        "://a:",
        "sk-",
        "-----BEGIN PRIVATE KEY-----",
        "eyJ.",
        "token: '",
        "authorization: ",
        "a" * 40,
    ):
        assert masker.mask(piece * (100_000 // len(piece)))


def test_auth_json_values_are_known_secrets_but_not_its_commands_and_names(tmp_path: Path) -> None:
    paths = Paths(tmp_path)
    environ = {"ACME_API_KEY": "acme-0123456789", "HOME": "/home/me"}
    assert load_known_secrets(environ, paths).values == ("acme-0123456789",)
    stored = {"type": "api_key", "email": "me@example.com", "key": "stored-0123456789"}
    paths.auth.write_text(json.dumps({"acme": stored, "other": [{"key": "!pass show"}, {"key": "HOME"}]}))
    known = load_known_secrets(environ, paths)
    assert set(known.values) == {"acme-0123456789", "stored-0123456789"}
    assert known.problems == ()
    paths.auth.write_text("{broken")
    known = load_known_secrets(environ, paths)
    assert known.values == ("acme-0123456789",)
    assert known.problems[0].startswith("Keys from auth.json are not masked")


def test_own_secrets_and_patterns_come_from_a_file(tmp_path: Path) -> None:
    paths = Paths(tmp_path)
    own = {"values": ["the staging phrase"], "patterns": ["acme-[0-9]{4}", "(broken", ".*"]}
    paths.secrets.write_text(json.dumps(own))
    known = load_known_secrets({}, paths)
    mask = SecretMask(known.values, known.patterns)
    assert mask.mask("use the staging phrase with acme-4711") == "use [masked] with [masked]"
    assert [problem.partition('" in')[0] for problem in known.problems] == [
        'The pattern "(broken',
        'The pattern ".*',
    ]
