"""Masks likely secrets in text of unknown origin.

A rule costs next to nothing unless its required substrings occur: only then is the regular expression tried.
Random values that are not secret (hashes, UUIDs, ids) stay, unless they follow a name such as `api_key`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tau.base.errors import TauError
from tau.coding.export.secret_rules import MIN_VALUE_CHARS, RULES, SecretRule, is_mixed, is_named
from tau.config.json_file import read_json

MIN_TEXT_CHARS = 8  # shorter texts cannot hold a secret

# The last words of names of secrets.
_SECRET_NAMES = (
    r"pass(?:word|wd|phrase|code)|pwd|secret|token|credentials?|"
    r"(?:api|secret|access|private|signing|encryption|account|master|service|auth|license)[_-]?key"
)
_NAME = re.compile(r"(?i)[\w.-]*(?:" + _SECRET_NAMES + r"|(?:\b|[_-])pass)\d{0,2}\Z")
_NAME_CHARS = 64
_SHORT_CHARS = 100
_CLEAN_TEXTS = 10_000
_TELLS = ("pass", "pwd", "secret", "token", "key", "credential")
# Starts at the end of the name: matching its beginning would try every position of the text.
_ASSIGNMENT = (
    r"(?:p(?:ass(?:word|wd|phrase|code)?|wd)|secret|token|credentials?|key)\d{0,2}"
    r"(?P<is>\\?[\"']?\]?\s?(?:=>|:=|==|=|:)\s?)"
    r"(?:(?P<quote>\\?[\"'`])(?P<quoted>(?:(?!(?P=quote))[^\n]){6,500}?)(?P=quote)"
    r"|(?P<bare>[^\s\"'`,;<>(){}\[\]\\]{6,500})(?P<after>.?))"
)
# Ends of such names in lowercase text: faster to find than the whole.
_HINT = r"(?:p(?:ass(?:word|wd|phrase|code)?|wd)|secret|token|credentials?|key)\d{0,2}\\?[\"']?\]?\s?[=:]"
_AWS_PAIR = r"(?<![A-Za-z0-9/+=_-])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])"
_AWS_NEAR_CHARS = 300
_NO_SECRETS = ("type", "email", "expires")  # fields of `auth.json` that are not secret


class Masker:
    """Masks texts and counts the masked places. `values` are known secrets."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self.count = 0
        self._clean: set[str] = set()  # short texts without a secret: names and kinds recur
        self._values = _forms(values)
        self._rules = [(rule, re.compile(("(?i)" if rule.any_case else "") + rule.pattern)) for rule in RULES]
        self._assignment = re.compile("(?i)" + _ASSIGNMENT)
        self._hint = re.compile(_HINT)
        self._aws = re.compile(_AWS_PAIR)

    def text(self, text: str) -> str:
        """The text with every secret replaced by `[masked ...]`."""
        if len(text) < MIN_TEXT_CHARS or text in self._clean:
            return text
        masked = self._masked_text(text)
        if masked is text and len(text) <= _SHORT_CHARS and len(self._clean) < _CLEAN_TEXTS:
            self._clean.add(text)
        return masked

    def _masked_text(self, text: str) -> str:
        for value in self._values:
            if value in text:
                self.count += text.count(value)
                text = text.replace(value, "[masked]")
        near_aws = "AKIA" in text or "ASIA" in text
        if near_aws:
            text = self._aws.sub(self._aws_secret, text)
        lower = ""
        for rule, pattern in self._rules:
            where = text
            if rule.any_case:
                where = lower = lower or text.lower()
            if _has_any(where, rule.tells):
                text = pattern.sub(lambda match, rule=rule: self._masked(match, rule), text)  # type: ignore[misc]
        return self._assignments(text)

    def _assignments(self, text: str) -> str:
        lower = text.lower()
        if not _has_any(lower, _TELLS):
            return text
        if len(lower) != len(text):  # a letter that becomes two in lowercase
            return self._assignment.sub(self._assigned, text)
        parts: list[str] = []
        done = 0
        for hint in self._hint.finditer(lower):
            match = self._assignment.match(text, hint.start())
            if match is not None and hint.start() >= done:
                parts += (text[done : match.start()], self._assigned(match))
                done = match.end()
        return "".join((*parts, text[done:])) if parts else text

    def value(self, value: Any) -> Any:
        """Mask all strings of a JSON value, except image and document data."""
        match value:
            case str():
                return self.text(value)
            case list():
                return [self.value(item) for item in value]
            case dict():
                return {self._key(key): self._field(key, item, value) for key, item in value.items()}
        return value

    def _key(self, key: Any) -> Any:
        return self.text(key) if isinstance(key, str) and len(key) >= MIN_VALUE_CHARS else key

    def _field(self, key: Any, item: Any, holder: dict[Any, Any]) -> Any:
        if isinstance(item, str) and isinstance(key, str):
            if key in ("data", "content") and "mimeType" in holder:
                return item
            if len(key) <= 64 and _NAME.match(key) and is_named(item, key.lower()):
                self.count += 1
                return "[masked]"
        return self.value(item)

    def _masked(self, match: "re.Match[str]", rule: SecretRule) -> str:
        whole = match.group()
        secret = match.groupdict().get("secret", whole)
        if rule.holds is not None and not rule.holds(secret):
            return whole
        self.count += 1
        mark = f"[masked {rule.name}]"
        if secret is whole or secret == whole:
            return mark
        start = match.start("secret") - match.start()
        return f"{whole[:start]}{mark}{whole[start + len(secret) :]}"

    def _assigned(self, match: "re.Match[str]") -> str:
        whole = match.group()
        before = match.string[max(0, match.start() - _NAME_CHARS) : match.start("is")]
        name = _NAME.search(before)
        if name is None:
            return whole
        quoted = match["quoted"] is not None
        value = match["quoted"] if quoted else match["bare"]
        spaced = match["is"] != match["is"].strip() or ":" in match["is"]
        if not quoted and (
            match["after"] in ("(", "[") or (match["after"] in (",", ")") and value.isidentifier())
        ):
            return whole  # code
        if not is_named(value, name.group().lower(), quoted=quoted or not spaced):
            return whole
        self.count += 1
        start = match.start("quoted" if quoted else "bare") - match.start()
        return f"{whole[:start]}[masked]{whole[start + len(value) :]}"

    def _aws_secret(self, match: "re.Match[str]") -> str:
        """Forty characters near a key id; a SHA-1 has no capitals."""
        secret = match.group()
        near = match.string[max(0, match.start() - _AWS_NEAR_CHARS) : match.end() + _AWS_NEAR_CHARS]
        if not is_mixed(secret) or not re.search(r"(?:AKIA|ASIA)[0-9A-Z]{16}", near):
            return secret
        self.count += 1
        return "[masked AWS secret]"


def _has_any(text: str, tells: tuple[str, ...]) -> bool:
    for tell in tells:  # noqa: SIM110  a generator is three times slower
        if tell in text:
            return True
    return False


def masked_text(masker: Masker | None) -> str:
    """A sentence about what was masked."""
    if masker is None:
        return "Nothing was masked."
    if masker.count == 0:
        return "Nothing looked like a secret."
    places = "One place" if masker.count == 1 else f"{masker.count:,} places"
    return f"{places} that looked like a secret {'was' if masker.count == 1 else 'were'} masked."


def _forms(values: Iterable[str]) -> list[str]:
    """Each value plain, URL-encoded and JSON-escaped; longest first."""
    forms = set()
    for value in values:
        if len(value) >= MIN_VALUE_CHARS:
            forms |= {value, quote(value, safe=""), value.replace("\\", "\\\\").replace('"', '\\"')}
    return sorted(forms, key=len, reverse=True)


_VARIABLE = re.compile(
    r"(?:.*_)?(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASS|PASSPHRASE|CREDENTIALS?|PAT|AUTH)(?:_?\d+)?\Z"
)


def secret_variables(environ: Mapping[str, str]) -> list[str]:
    """The values of variables with secret-sounding names, except paths and numbers."""
    return [
        value
        for name, value in environ.items()
        if _VARIABLE.match(name.upper())
        and len(value) >= MIN_VALUE_CHARS
        and not value.startswith(("/", "~", "."))
        and not value.isdigit()
        and value.lower() not in ("disabled", "required", "optional")
    ]


def known_secrets(environ: Mapping[str, str], auth: Path, tell: Callable[[str], None]) -> list[str]:
    """Secrets from the user's environment and `auth.json`, to be masked everywhere.

    An unreadable file is reported and otherwise ignored.
    """
    values = secret_variables(environ)
    try:
        waiting: list[object] = [read_json(auth).content]
    except (TauError, OSError) as error:
        tell(f"Keys from auth.json are not masked because it cannot be read: {error}")
        return values
    while waiting:
        match waiting.pop():
            case dict() as part:
                waiting += [value for key, value in part.items() if key not in _NO_SECRETS]
            case list() as part:
                waiting += part
            case str() as text if not text.startswith("!") and text not in environ:
                values.append(text)  # neither a command nor a variable name
    return values
