"""The one place that masks secrets in what tau records or shows: known values and common key formats.

What a tool or a model server gets is never masked. A text without anything that could be a secret, which is
the usual case, costs a few searches: the formats load with the first text that needs them.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from tau.base.late import late
from tau.base.sizes import KIB

formats = late("tau.base.secret_formats")
parse = late("urllib.parse")

MIN_VALUE_CHARS = 8  # of a known secret; masking shorter ones would hide ordinary words
MIN_TEXT_CHARS = 8  # shorter texts cannot hold a secret
MIN_KEY_CHARS = 16  # of a key that is recognized by its format
_SHORT_CHARS = 100
_MIN_PASSWORD_CHARS = 6
_MAX_HELD_BYTES = 64 * KIB
_MIN_HELD_BYTES = 8 * KIB
_PEM = b"PRIVATE KEY"
_BEGIN_KEY, _END_KEY = b"-----BEGIN ", b"-----END "
_CLEAN_TEXTS = 10_000

_WORD = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."
_SHAPE = bytes(b"a"[0] if code in _WORD else b" "[0] for code in range(256))
_RUN = b"a" * MIN_KEY_CHARS
_DIGITS = b"0123456789"
_UNRESERVED = {ord(sign): None for sign in "-_.~"}
# A key has one of these; `KEY_RULES` has the rest of its form. Grouped by a sign that all of a group have.
_HINTS_BY_SIGN: tuple[tuple[bytes, tuple[bytes, ...]], ...] = (
    (
        b"_",
        (
            *(b"_live_", b"_test_", b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_", b"hf_"),
            *(b"gsk_", b"r8_", b"npm_", b"dckr_", b"doo_v1_", b"dop_v1_", b"dor_v1_", b"shpat_"),
            *(b"shpca_", b"shppa_", b"shpss_", b"whsec_"),
        ),
    ),
    (
        b"-",
        (
            *(b"AGE-SECRET-KEY-", b"sk-ant-", b"sk-", b"glpat-", b"gldt-", b"glrt-", b"glptt-"),
            *(b"glsoat-", b"glcbt-", b"glft-", b"glagent-", b"xapp-", b"xai-", b"pplx-", b"pypi-"),
            b"tskey-",
        ),
    ),
    (b".", (b"ya29.", b"SG.", b"hvs.", b"hvb.", b"hvr.")),
    (b"", (b"AIza", b"xox", b"AKIA", b"ASIA", b"ABIA", b"ACCA", b"eyJ")),
)
KEY_HINTS = tuple(hint for _, hints in _HINTS_BY_SIGN for hint in hints)
# What a secret needs around it if its own form does not tell.
_CONTEXT = (
    *("PRIVATE KEY", " -u", " --user", "sshpass", "login", "mysql", "redis-cli", "config set "),
    *("configure set ", ":AA", "AccountKey=", "-stdin", "--with-token", "sudo -S", "openssl"),
    " -pass",
)
# Each of these hints, and what else gives a secret away, has one of these or one of the signs -:=@.
_WORDS = ("login", "mysql", "sshpass", "openssl", "set ", "ate key", "bearer", "authorization")
_HINT_CHARS = 16
WINDOW_CHARS = 300  # before a word, where what gives a secret away is looked for
_MAX_SECRET_CHARS = 20_000
_NAMES = ("pass", "pwd", "secret", "token", "key", "credential")
_NAME_END = (
    r"(?:pass(?:word|wd|phrase|code)?|pwd|secret|token|credentials?|key)\d{0,2}\\*[\"'`]?\]?\\?[nrt]?\s?[=:]"
)
# Fields that are data, not text: masking would damage them.
_OPAQUE = frozenset(("thinkingSignature", "textSignature", "thoughtSignature", "encryptedContent"))


class KnownSecrets(Struct, frozen=True):
    """Secrets of this user. `patterns` are regular expressions; `problems` say what could not be read."""

    values: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


class SecretMask:
    """Masks texts and counts the masked places. `values` are known secrets, `patterns` match further ones."""

    def __init__(self, values: Iterable[str] = (), patterns: Iterable[str] = ()) -> None:
        self.count = 0
        self._clean: set[str] = set()  # short texts without a secret: names and kinds recur
        self._values: list[str] = []
        self._encoded: list[bytes] = []
        self._patterns: list[str] = []
        self.ends: list[str] = []  # of the known values
        self.learn(values, patterns)

    def learn(self, values: Iterable[str] = (), patterns: Iterable[str] = ()) -> None:
        """Mask these from now on, too."""
        known = set(self._values)
        forms = {form for value in values if len(value) >= MIN_VALUE_CHARS for form in _encodings(value)}
        self._patterns += [pattern for pattern in patterns if pattern not in self._patterns]
        if forms <= known and not self._patterns:
            return
        self._values = sorted(known | forms, key=len, reverse=True)
        self._encoded = [msgspec.json.encode(value)[1:-1] for value in map(_encodable, self._values)]
        self.ends = [value[-_HINT_CHARS:] for value in self._values]
        self._clean.clear()

    def mark(self, secret: str, name: str) -> str:
        """What replaces a secret; `name` says what kind it is, if that is known."""
        return f"[masked {name}]" if name else "[masked]"

    def mask(self, text: str, *, context: bool = True) -> str:
        """The text with every secret replaced by `[masked ...]`.

        Without `context`, only known values and keys with a format are secrets.
        """
        if len(text) < MIN_TEXT_CHARS or text in self._clean:
            return text
        masked = self._mask(text, context=context)
        if context and masked is text and len(text) <= _SHORT_CHARS and len(self._clean) < _CLEAN_TEXTS:
            self._clean.add(text)
        return masked

    def mask_line(self, line: bytes) -> bytes:
        """A line of JSON with the secrets in its strings masked."""
        if not self._may_hold_secret(line):
            return line
        value = msgspec.json.decode(line)
        masked = self.mask_value(value)
        return line if masked == value else msgspec.json.encode(masked)

    def mask_value(self, value: object) -> object:
        """Mask all strings of a JSON value, except image and document data."""
        match value:
            case str():
                return self.mask(value)
            case list():
                return [self.mask_value(item) for item in value]
            case dict():
                return self._mask_object(value)
        return value

    def may_hold(self, text: str) -> bool:
        """Whether a text could have a secret in it; never a wrong no."""
        return self._may_hold_secret(text.encode("utf-8", "replace")) or any(
            value in text for value in self._values
        )

    def may_complete(self, text: str, new: int) -> bool:
        """Whether the last `new` characters could make `may_hold` true; never a wrong no."""
        near = text[-new - _HINT_CHARS :]
        word = max(text.rfind(" ", 0, -new), text.rfind("\n", 0, -new))  # before the one that it continues
        if len(text) - word > MIN_KEY_CHARS or " --" in text:
            return True
        if "-" in near or ":" in near or "=" in near or "@" in near:
            return True
        for end in self.ends:
            if end in near:
                return True
        near = near.lower()
        for hint in _WORDS:
            if hint in near:
                return True
        return bool(self._patterns)

    def _mask(self, text: str, *, context: bool) -> str:
        for value in self._values:
            if value in text:
                self.count += text.count(value)
                text = text.replace(value, self.mark(value, ""))
        for pattern in self._patterns:
            text, places = re.subn(pattern, lambda match: self.mark(match[0], ""), text)
            self.count += places
        data = text.encode("utf-8", "replace")
        words = _words_with_digits(data)
        if not _has_key_hint(words) and not (_has_context(text) if context else _PEM in data):
            return text
        mask = formats.FormatMask(self.mark)
        text = mask.mask(text, words.decode("ascii"), context=context)
        self.count += mask.count
        return text

    def _mask_object(self, value: dict[object, object]) -> dict[object, object]:
        masked = {self._key(key): self._field(key, item, value) for key, item in value.items()}
        signature = value.get("thinkingSignature")
        if signature and masked.get("thinking") != value.get("thinking"):
            masked.pop("thinkingSignature", None)  # a server rejects a signature of another text
        return masked

    def _key(self, key: object) -> object:
        return self.mask(key) if isinstance(key, str) and len(key) >= MIN_VALUE_CHARS else key

    def _field(self, key: Any, item: Any, holder: dict[Any, Any]) -> Any:
        if isinstance(item, str) and isinstance(key, str):
            if key in _OPAQUE or (key in ("data", "content") and "mimeType" in holder):
                return item
            if (
                len(item) >= _MIN_PASSWORD_CHARS
                and formats.names_secret(key)
                and formats.is_secret_value(item, key.lower())
            ):
                self.count += 1
                return self.mark(item, "")
        return self.mask_value(item)

    def _may_hold_secret(self, line: bytes) -> bool:
        return (
            bool(self._patterns)
            or any(value in line for value in self._encoded)
            or _has_context(line.decode("latin-1"))  # bytes take longer to search
            or _has_key_hint(_words_with_digits(line))
        )


def _words_with_digits(data: bytes) -> bytes:
    """The long words that have digits: all keys are among them, and most texts have few or none."""
    shape = data.translate(_SHAPE)
    at = shape.find(_RUN)
    if at < 0:
        return b""
    words: list[bytes] = []
    while at >= 0:
        end = shape.find(b" ", at)
        word = data[at:] if end < 0 else data[at:end]
        if len(word.translate(None, _DIGITS)) < len(word):
            words.append(word)
        at = -1 if end < 0 else shape.find(_RUN, end)
    return b" ".join(words)


def _has_key_hint(words: bytes) -> bool:
    if words:
        for sign, hints in _HINTS_BY_SIGN:
            if sign in words:
                for hint in hints:
                    if hint in words:
                        return True
    return False


def _has_context(text: str) -> bool:
    for hint in _CONTEXT:
        if hint in text:
            return True
    if "@" in text and "://" in text:
        return True
    lower = text.lower()
    if "bearer" in lower or "authorization" in lower:
        return True
    for name in _NAMES:
        if name in lower:
            return " --" in lower or re.search(_NAME_END, lower) is not None
    return False


def _encodings(value: str) -> set[str]:
    """A value plain, URL-encoded and JSON-escaped."""
    if value.isascii() and value.translate(_UNRESERVED).isalnum():
        return {value}
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return {value, parse.quote(value, safe="", errors="replace"), escaped}


def _encodable(value: str) -> str:
    return value.encode("utf-8", "replace").decode()


def masked_text(mask: SecretMask | None) -> str:
    """A sentence about what was masked."""
    if mask is None:
        return "Nothing was masked."
    if mask.count == 0:
        return "Nothing unmasked looked like a secret."  # the session may have been stored masked
    places = "One place" if mask.count == 1 else f"{mask.count:,} places"
    return f"{places} that looked like a secret {'was' if mask.count == 1 else 'were'} masked."


# Names of variables.
_NAME_PARTS = (
    *("SECRET", "TOKEN", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "APIKEY", "PRIVATE", "OAUTH"),
)
_NAME_ENDS = ("KEY", "KEYS", "PASS", "AUTH")
_PLAIN_VALUES = frozenset(
    ("true", "false", "yes", "no", "on", "off", "auto", "none", "disabled", "required", "optional")
)


_PATH_STARTS = ("/", "~", "./", "../")
_MAX_NUMBER_CHARS = 5  # a longer number may be a password


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name holds a secret: `OPENAI_API_KEY`, `NPM_TOKEN`, `DB_PASS`."""
    name = name.upper()
    if any(part in name for part in _NAME_PARTS):
        return True
    parts = [part.rstrip("0123456789") for part in name.replace("-", "_").split("_")]
    return any(part.endswith(_NAME_ENDS) or part == "PAT" for part in parts) or (
        parts[-1] == "PWD" and len(parts) > 1
    )


def is_secret_variable(name: str, value: str) -> bool:
    """Whether a variable holds a secret, and not a switch, a number or a path, as SSH_AUTH_SOCK does."""
    if not is_secret_name(name):
        return False
    if not value or value.lower() in _PLAIN_VALUES:
        return False
    if value.isdigit() and (len(value) <= _MAX_NUMBER_CHARS or "TOKENS" in name.upper()):
        return False
    return not (value.startswith(_PATH_STARTS) and os.path.exists(os.path.expanduser(value)))  # noqa: PTH110, PTH111


def secret_variables(environ: Mapping[str, str]) -> list[str]:
    """The secrets in an environment that are worth masking: paths and numbers occur elsewhere."""
    return [
        value
        for name, value in environ.items()
        if len(value) >= MIN_VALUE_CHARS
        and is_secret_name(name)
        and not value.startswith(_PATH_STARTS)
        and not value.isdigit()
        and value.lower() not in _PLAIN_VALUES
    ]


class _Shared:
    """What this process knows: the sources are read when the first text is masked."""

    def __init__(self) -> None:
        self.sources: list[Callable[[], KnownSecrets]] = []
        self.values: set[str] = set()
        self.patterns: list[str] = []
        self.own = SecretMask()

    def load(self) -> SecretMask:
        while self.sources:
            known = self.sources.pop()()
            self.learn(known.values, known.patterns)
        return self.own

    def learn(self, values: Iterable[str], patterns: Iterable[str] = ()) -> None:
        new = {value for value in values if len(value) >= MIN_VALUE_CHARS} - self.values
        more = [pattern for pattern in patterns if pattern not in self.patterns]
        if new or more:
            self.values |= new
            self.patterns += more
            self.own.learn(new, more)


_shared = _Shared()


def add_source(source: Callable[[], KnownSecrets]) -> None:
    """Have known secrets read before the first text is masked."""
    _shared.sources.append(source)


def learn(*values: str) -> None:
    """Mask these values from now on: a key that a command printed, or that the user just typed."""
    _shared.learn(values)


def mask(text: str) -> str:
    """The text with every secret masked, for logs, errors and files."""
    return _shared.load().mask(text)


def mask_keys(text: str) -> str:
    """The text without known secrets and keys; passwords that only their context gives away stay.

    For what a user asked for: an answer may well have a new password in it.
    """
    return _shared.load().mask(text, context=False)


def mask_line(line: bytes) -> bytes:
    """A line of JSON with every secret masked."""
    return _shared.load().mask_line(line)


def new_mask() -> SecretMask:
    """A mask of all known secrets that counts separately, for an export."""
    known = known_secrets()
    return SecretMask(known.values, known.patterns)


def known_secrets() -> KnownSecrets:
    """All secrets that this process knows by now."""
    _shared.load()
    return KnownSecrets(tuple(_shared.values), tuple(_shared.patterns))


def knows(value: str) -> bool:
    """Whether exactly this is a known secret."""
    _shared.load()
    return value in _shared.values


class SecretWatch:
    """Notices secrets in a text that arrives in pieces, as `mask` does in the whole of it.

    Most pieces cost a few searches: only those that could complete or continue a secret are looked at with
    what is before them, back to the beginning of their word or key and a bit further.
    """

    __slots__ = ("_is_hot", "_known", "_masked", "_window")

    def __init__(self) -> None:
        self._window = ""
        self._masked: str | None = ""  # the window with its secrets masked; None if not known
        self._known: list[str] = []
        self._is_hot = False  # the window has something that could belong to a secret

    def hides(self, piece: str) -> bool:
        """Whether masking the text up to here hides some of this piece, or of what is before it."""
        own = _shared.load()
        before, self._window = self._window, self._window + piece
        is_new = own.ends is not self._known  # what was learned since may be in the window
        if not self._is_hot and piece and (is_new or own.may_complete(self._window, len(piece))):
            self._is_hot, self._known = own.may_hold(self._window), own.ends
        seen = False
        if self._is_hot:
            last = own.mask(before) if self._masked is None else self._masked
            self._masked = own.mask(self._window)
            seen = self._masked != last + piece
        else:
            self._masked = None
        if len(self._window) > 2 * WINDOW_CHARS:
            self._trim(own)
        return seen

    def _trim(self, own: SecretMask) -> None:
        text = self._window
        word = max(text.rfind(" "), text.rfind("\n")) + 1
        keep = min(len(text), word) - WINDOW_CHARS
        key = text.rfind(_BEGIN_KEY.decode())
        end = text.find(_END_KEY.decode(), key)
        if key >= 0 and (end < 0 or text.find(_PEM.decode(), end) < 0):
            keep = min(keep, key)
        keep = max(keep, len(text) - _MAX_SECRET_CHARS)
        if keep > 0:
            self._window, self._masked = text[keep:], None
            self._is_hot = own.may_hold(self._window)


class StreamMask:
    """Masks bytes that arrive in pieces: a piece is held back until its last line is complete."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """What is complete by now, masked."""
        data = self._held + data
        end = data.rfind(b"\n") + 1
        if (begin := data.rfind(_BEGIN_KEY)) >= 0 and data.find(_END_KEY, begin) < 0:
            end = min(end, begin)
        if len(data) - end > _MAX_HELD_BYTES:  # one endless line
            end = len(data) - _MIN_HELD_BYTES
        self._held = data[end:]
        return _mask_bytes(data[:end])

    def end(self) -> bytes:
        """The rest."""
        data, self._held = self._held, b""
        return _mask_bytes(data)


def _mask_bytes(data: bytes) -> bytes:
    if len(data) < MIN_TEXT_CHARS:
        return data
    text = data.decode("utf-8", "surrogateescape")
    masked = mask(text)
    return data if masked is text else masked.encode("utf-8", "surrogateescape")


def forget() -> None:
    """Forget what this process knows, for tests."""
    global _shared
    _shared = _Shared()
