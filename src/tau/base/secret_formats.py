"""Formats of keys, and names whose values are secret.

A rule costs next to nothing unless its required substrings occur: only then is its expression compiled and
tried. Random values that are not secret (hashes, UUIDs, ids) stay, unless they follow a name such as
`api_key`.
"""

import errno
import os
import re
from collections.abc import Callable
from functools import cache

from msgspec import Struct

from tau.base.secrets import MIN_VALUE_CHARS

_PLACEHOLDER = (
    r"(?i)[$<{%@]|/[\w.-]+/|[.~]{1,2}/|\[masked|#SECRET-|\.\.\.|…|x{3}|\*{3}"
    r"|(?:your|my|the|some)[-_ ]|example|placeholder|change-?me|redacted|dummy"
    r"|process\.env|os\.(?:environ|getenv)|(?:env|secrets|self|this|args|config|settings)\.|import\.meta"
    r"|(?:true|false|none|null|str|string|bytes|optional|required|undefined|boolean|promise|secretstr|default)\b"
)


def is_placeholder(text: str) -> bool:
    """Whether this is a placeholder for a secret: a variable, a word in brackets, a type."""
    return re.match(_PLACEHOLDER, text) is not None or len(set(text)) < 4


def is_secret_value(value: str, name: str, *, quoted: bool = True) -> bool:
    """Whether the value of this name is a secret rather than code or prose."""
    if is_placeholder(value) or value.isdigit() or any(letter.isspace() for letter in value):
        return False
    looks_random = any(c.isdigit() for c in value) or (not value.islower() and not value.isupper())
    if "pass" in name or "pwd" in name:
        return quoted or looks_random or not re.fullmatch(r"[A-Za-z_][\w.]*", value)
    if re.fullmatch(r"[A-Za-z_][A-Za-z_.]*", value):  # an identifier or a word
        return False
    return looks_random and len(value) >= MIN_VALUE_CHARS


class SecretRule(Struct, frozen=True):
    """`hints` are substrings required for a match. The group `secret`, if any, is masked."""

    name: str
    hints: tuple[str, ...]
    pattern: str
    is_secret: Callable[[str], bool] | None = None
    any_case: bool = False


def _is_random(text: str) -> bool:
    """Whether it has a dozen letters and digits without a dash, unlike a name a person would choose."""
    runs = re.split(r"[-_]", text)
    longest = max(runs, key=len)
    return len(longest) >= 12 and any(c.isdigit() for c in text) and any(c.isalpha() for c in text)


def is_mixed(text: str) -> bool:
    kinds = (str.islower, str.isupper, str.isdigit)
    return all(any(kind(letter) for letter in text) for kind in kinds)


# A key starts at a word boundary, or after an escaped newline or a URL escape.
_B, _E = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))", r"(?![A-Za-z0-9])"

# Keys that are recognized by their form. Their hints are looked up in words with digits only.
KEY_RULES = (
    SecretRule("private key", ("AGE-SECRET-KEY-",), r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    SecretRule("Anthropic key", ("sk-ant-",), _B + r"sk-ant-[A-Za-z0-9_-]{12,}"),
    SecretRule("API key", ("sk-",), _B + r"sk-(?!ant-)[A-Za-z0-9_-]{18,}", _is_random),
    SecretRule("Stripe key", ("_live_", "_test_"), _B + r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    SecretRule("Google key", ("AIza",), _B + r"AIza[0-9A-Za-z_-]{35}"),
    SecretRule("Google token", ("ya29.",), _B + r"ya29\.[0-9A-Za-z_-]{20,}"),
    SecretRule("GitHub token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), _B + r"gh[pousr]_[A-Za-z0-9]{30,}"),
    SecretRule("GitHub token", ("github_pat_",), _B + r"github_pat_[A-Za-z0-9_]{22,}"),
    SecretRule(
        "GitLab token",
        ("glpat-", "gldt-", "glrt-", "glptt-", "glsoat-", "glcbt-", "glft-", "glagent-"),
        _B + r"gl(?:pat|dt|rt|ptt|soat|cbt|ft|agent)-[A-Za-z0-9_-]{20,}",
    ),
    SecretRule("Slack token", ("xox",), _B + r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}"),
    SecretRule("Slack token", ("xapp-",), _B + r"xapp-\d-[A-Za-z0-9-]{10,}"),
    SecretRule("AWS key", ("AKIA", "ASIA", "ABIA", "ACCA"), _B + r"(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}" + _E),
    SecretRule("Hugging Face token", ("hf_",), _B + r"hf_[A-Za-z0-9]{30,}"),
    SecretRule("Groq key", ("gsk_",), _B + r"gsk_[A-Za-z0-9]{30,}"),
    SecretRule("xAI key", ("xai-",), _B + r"xai-[A-Za-z0-9]{30,}"),
    SecretRule("Perplexity key", ("pplx-",), _B + r"pplx-[A-Za-z0-9]{30,}"),
    SecretRule("Replicate token", ("r8_",), _B + r"r8_[A-Za-z0-9]{30,}"),
    SecretRule("npm token", ("npm_",), _B + r"npm_[A-Za-z0-9]{30,}"),
    SecretRule("PyPI token", ("pypi-",), _B + r"pypi-[A-Za-z0-9_-]{40,}"),
    SecretRule("Docker token", ("dckr_",), _B + r"dckr_[a-z]{2,5}_[A-Za-z0-9_-]{20,}"),
    SecretRule("DigitalOcean token", ("doo_v1_", "dop_v1_", "dor_v1_"), _B + r"do[opr]_v1_[a-f0-9]{40,}"),
    SecretRule(
        "Shopify token", ("shpat_", "shpca_", "shppa_", "shpss_"), _B + r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{24,}"
    ),
    SecretRule("SendGrid key", ("SG.",), _B + r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    SecretRule("webhook secret", ("whsec_",), _B + r"whsec_[A-Za-z0-9+/=]{20,}"),
    SecretRule("Tailscale key", ("tskey-",), _B + r"tskey-[a-z]+-[A-Za-z0-9-]{16,}"),
    SecretRule("Vault token", ("hvs.", "hvb.", "hvr."), _B + r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    SecretRule(
        "JSON web token", ("eyJ",), _B + r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"
    ),
)
PRIVATE_KEY = SecretRule(
    "private key",
    ("PRIVATE KEY",),
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?P<secret>(?:(?!-----BEGIN )[\s\S]){1,20000}?)(?=-----END [A-Z0-9 ]{0,40}PRIVATE KEY|\Z)",
)
# Secrets that are recognized by what surrounds them.
CONTEXT_RULES = (
    PRIVATE_KEY,
    SecretRule(
        "webhook", ("hooks.slack.com",), r"hooks\.slack\.com/(?P<secret>(?:services|workflows)/[\w/-]{20,})"
    ),
    SecretRule("webhook", ("/api/webhooks/",), r"/api/webhooks/\d+/(?P<secret>[\w-]{40,})"),
    SecretRule("Telegram token", (":AA",), _B + r"\d{8,10}:AA[A-Za-z0-9_-]{33}"),
    SecretRule("storage key", ("AccountKey=",), r"AccountKey=(?P<secret>[A-Za-z0-9+/=]{40,})"),
    SecretRule(
        "token",
        ("bearer",),
        r"\bbearer[ \t]+(?P<secret>[A-Za-z0-9._~+/=-]{12,})",
        lambda text: is_secret_value(text, ""),
        any_case=True,
    ),
    SecretRule(
        "credentials",
        ("authorization",),
        r"\bauthorization[\"']?\s*[:=]\s*[\"']?(?:basic|token|digest|apikey|key)[ \t]+"
        r"(?P<secret>[^\s\"',;<>]{8,})",
        lambda text: not is_placeholder(text),
        any_case=True,
    ),
    SecretRule(
        "password",
        ("://",),
        r"://[^\s/:@\"'`<>\\]{0,256}:(?P<secret>[^\s/@\"'`<>\\]{3,256})@(?=[\w.\[-])",
        lambda text: not is_placeholder(text),
    ),
    SecretRule("token", ("://",), r"://(?P<secret>[A-Za-z0-9_-]{16,256})@(?=[\w.-])", _is_random),
    # Passwords on a command line.
    SecretRule(
        "password",
        ("password", "passphrase", "passwd", "-token", "-secret", "api-key", "apikey"),
        r"--[\w-]{0,40}(?:password|passphrase|passwd|token|secret|api-?key)[ \t]+"
        r"[\"']?(?P<secret>[^\s\"'`-][^\s\"'`]{5,200})",
        lambda text: is_secret_value(text, "pass", quoted=False),
        any_case=True,
    ),
    SecretRule(
        "password",
        (" -u", " --user"),
        r"\s(?:-u|--user)[ =]?[\"']?[^\s:\"'/]{1,100}:(?P<secret>[^\s\"']{4,200})",
        lambda text: not text.isdigit() and not is_placeholder(text),
    ),
    SecretRule("password", ("sshpass",), r"\bsshpass[ \t]+-p[ \t]*[\"']?(?P<secret>[^\s\"']{4,200})"),
    SecretRule(  # docker, podman, helm, az, oc and others
        "password",
        ("login",),
        r"\blogin\b[^\n|;&]{0,200}?\s-p[ =]?[\"']?(?P<secret>[^\s\"'$-][^\s\"']{3,200})",
        lambda text: not text.isdigit() and not is_placeholder(text),
    ),
    SecretRule(
        "password",
        ("redis-cli",),
        r"\bredis-cli\b[^\n|;&]{0,200}?\s-a[ \t]+[\"']?(?P<secret>[^\s\"'$-][^\s\"']{3,200})",
        lambda text: not is_placeholder(text),
    ),
    SecretRule(  # aws, npm, pip, gcloud and others
        "secret",
        ("config set ", "configure set "),
        r"\bconfig(?:ure)? set [\"']?\S{0,100}"
        r"(?:password|passwd|token|secret(?:[_-]\w{1,40})?|api[_-]?key)[\"']?[ \t=]+"
        r"[\"']?(?P<secret>[^\s\"'`-][^\s\"'`]{5,200})",
        lambda text: is_secret_value(text, "pass", quoted=False),
        any_case=True,
    ),
    SecretRule(  # docker, gh, npm, sudo and others that read it from a pipe
        "password",
        ("-stdin", "--with-token", "sudo -S"),
        r"\b(?:echo|printf)[ \t]+(?:-[neE]+[ \t]+|[\"']?%s(?:\\n)?[\"']?[ \t]+)?"
        r"[\"']?(?P<secret>[^\s\"'`|-][^\s\"'`|]{3,200})(?:\\n)?[\"']?[ \t]*\|[^\n;]{0,200}?"
        r"(?:(?:pass|token|key|secret)[\w-]{0,20}-stdin|--with-token|\bsudo -S)\b",
        lambda text: not is_placeholder(text),
    ),
    SecretRule(
        "password",
        ("-stdin", "--with-token", "sudo -S"),
        r"(?:(?:pass|token|key|secret)[\w-]{0,20}-stdin|--with-token|\bsudo -S)\b[^\n|;]{0,200}?<<<[ \t]*"
        r"[\"']?(?P<secret>[^\s\"'`|-][^\s\"'`|]{3,200})",
        lambda text: not is_placeholder(text),
    ),
    SecretRule(
        "password",
        ("openssl",),
        r"\bopenssl\b[^\n|;&]{0,200}?\s-[kK][ \t]+[\"']?(?P<secret>[^\s\"'$-][^\s\"']{3,200})",
        lambda text: not is_placeholder(text),
    ),
    SecretRule(
        "password",
        (" -pass",),
        r"\s-pass(?:in|out)?[ \t]+[\"']?pass:[\"']?(?P<secret>[^\s\"']{4,200})",
        lambda text: not is_placeholder(text),
    ),
    SecretRule("password", ("mysql",), r"\bmysql\w*[^\n|;&]{0,200}?\s-p(?P<secret>[^\s\"'-][^\s\"']{3,200})"),
)

# The last words of names of secrets.
_SECRET_NAMES = (
    r"pass(?:word|wd|phrase|code)|pwd|secret|token|credentials?|"
    r"(?:api|secret|access|private|signing|encryption|account|master|service|auth|license)[_-]?key"
)
_NAME = r"(?i)[\w.-]*(?:" + _SECRET_NAMES + r"|(?:\b|[_-])pass)\d{0,2}\Z"
_NAME_CHARS = 64
NAME_HINTS = ("pass", "pwd", "secret", "token", "key", "credential")
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
_ERRORS = tuple(map(os.strerror, errno.errorcode))


class FormatMask:
    """Masks what looks like a secret, and counts the masked places."""

    def __init__(self, mark: Callable[[str, str], str]) -> None:
        self.count = 0
        self._mark = mark

    def mask(self, text: str, words: str, *, context: bool = True) -> str:
        """`words` are the long words with digits of the text, which is where keys are."""
        if words:
            if "AKIA" in words or "ASIA" in words:
                text = re.sub(_AWS_PAIR, self._mask_aws_secret, text)
            for rule in KEY_RULES:
                if has_any(words, rule.hints):
                    text = self._apply(rule, text)
        if not context:
            return self._apply(PRIVATE_KEY, text) if "PRIVATE KEY" in text else text
        lower = ""
        for rule in CONTEXT_RULES:
            if rule.any_case:
                lower = lower or text.lower()
            if has_any(lower if rule.any_case else text, rule.hints):
                text = self._apply(rule, text)
        return self._mask_assignments(text)

    def _apply(self, rule: SecretRule, text: str) -> str:
        return _compiled(rule).sub(lambda match: self._mask_match(match, rule), text)

    def _mask_assignments(self, text: str) -> str:
        lower = text.lower()
        if not has_any(lower, NAME_HINTS):
            return text
        if len(lower) != len(text):  # a letter that becomes two in lowercase
            return re.sub("(?i)" + _ASSIGNMENT, self._mask_assignment, text)
        parts: list[str] = []
        done = 0
        assignment = re.compile("(?i)" + _ASSIGNMENT)
        for hint in re.finditer(_HINT, lower):
            match = assignment.match(text, hint.start())
            if match is not None and hint.start() >= done:
                parts += (text[done : match.start()], self._mask_assignment(match))
                done = match.end()
        return "".join((*parts, text[done:])) if parts else text

    def _mask_match(self, match: "re.Match[str]", rule: SecretRule) -> str:
        whole = match.group()
        secret = match.groupdict().get("secret", whole)
        if rule.is_secret is not None and not rule.is_secret(secret):
            return whole
        self.count += 1
        mark = self._mark(secret, rule.name)
        if secret is whole or secret == whole:
            return mark
        start = match.start("secret") - match.start()
        return f"{whole[:start]}{mark}{whole[start + len(secret) :]}"

    def _mask_assignment(self, match: "re.Match[str]") -> str:
        whole = match.group()
        before = match.string[max(0, match.start() - _NAME_CHARS) : match.start("is")]
        name = re.search(_NAME, before)
        if name is None:
            return whole
        quoted = match["quoted"] is not None
        value = match["quoted"] if quoted else match["bare"]
        spaced = match["is"] != match["is"].strip() or ":" in match["is"]
        if not quoted and (
            match["after"] in ("(", "[") or (match["after"] in (",", ")") and value.isidentifier())
        ):
            return whole  # code
        start = match.start("quoted" if quoted else "bare")
        is_path = before[: name.start()].endswith("/") and match["is"].endswith((" ", "\t"))
        if match.string.startswith(_ERRORS, start) or (is_path and value.isalpha()):
            return whole  # "/etc/passwd: Permission denied"
        if not is_secret_value(value, name.group().lower(), quoted=quoted or not spaced):
            return whole
        self.count += 1
        start -= match.start()
        return f"{whole[:start]}{self._mark(value, '')}{whole[start + len(value) :]}"

    def _mask_aws_secret(self, match: "re.Match[str]") -> str:
        """Forty characters near a key id; a SHA-1 has no capitals."""
        secret = match.group()
        near = match.string[max(0, match.start() - _AWS_NEAR_CHARS) : match.end() + _AWS_NEAR_CHARS]
        if not is_mixed(secret) or not re.search(r"(?:AKIA|ASIA)[0-9A-Z]{16}", near):
            return secret
        self.count += 1
        return self._mark(secret, "AWS secret")


def names_secret(name: str) -> bool:
    """Whether a field of this name holds a secret."""
    return len(name) <= _NAME_CHARS and re.match(_NAME, name) is not None


@cache
def _compiled(rule: SecretRule) -> "re.Pattern[str]":
    return re.compile(("(?i)" if rule.any_case else "") + rule.pattern)


def has_any(text: str, hints: tuple[str, ...]) -> bool:
    for hint in hints:  # noqa: SIM110  a generator is three times slower
        if hint in text:
            return True
    return False
