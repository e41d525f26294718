"""Patterns of secrets: keys of known vendors, and places that hold passwords."""

import re
from collections.abc import Callable

from msgspec import Struct

MIN_VALUE_CHARS = 8  # of a known secret; masking shorter ones would hide ordinary words

_PLACEHOLDER = re.compile(
    r"[$<{%@]|/[\w.-]+/|[.~]{1,2}/|\[masked|\.\.\.|…|x{3}|\*{3}"
    r"|(?:your|my|the|some)[-_ ]|example|placeholder|change-?me|redacted|dummy"
    r"|process\.env|os\.(?:environ|getenv)|(?:env|secrets|self|this|args|config|settings)\.|import\.meta"
    r"|(?:true|false|none|null|str|string|bytes|optional|required|undefined|boolean|promise|secretstr|default)\b",
    re.IGNORECASE,
)


def is_placeholder(text: str) -> bool:
    """Whether this is a placeholder for a secret: a variable, a word in brackets, a type."""
    return _PLACEHOLDER.match(text) is not None or len(set(text)) < 4


def is_named(value: str, name: str, *, quoted: bool = True) -> bool:
    """Whether the value of this name is a secret rather than code or prose."""
    if is_placeholder(value) or value.isdigit() or any(letter.isspace() for letter in value):
        return False
    telling = any(c.isdigit() for c in value) or (not value.islower() and not value.isupper())
    if "pass" in name or "pwd" in name:
        return quoted or telling or not re.fullmatch(r"[A-Za-z_][\w.]*", value)
    if re.fullmatch(r"[A-Za-z_][A-Za-z_.]*", value):  # an identifier or a word
        return False
    return telling and len(value) >= MIN_VALUE_CHARS


class SecretRule(Struct, frozen=True):
    """`tells` are substrings required for a match. The group `secret`, if any, is masked."""

    name: str
    tells: tuple[str, ...]
    pattern: str
    holds: Callable[[str], bool] | None = None
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

RULES = (
    SecretRule(
        "private key",
        ("PRIVATE KEY",),
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?P<secret>(?:(?!-----BEGIN )[\s\S]){1,20000}?)(?=-----END [A-Z0-9 ]{0,40}PRIVATE KEY|\Z)",
    ),
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
    SecretRule(
        "webhook", ("hooks.slack.com",), r"hooks\.slack\.com/(?P<secret>(?:services|workflows)/[\w/-]{20,})"
    ),
    SecretRule("webhook", ("/api/webhooks/",), r"/api/webhooks/\d+/(?P<secret>[\w-]{40,})"),
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
    SecretRule("Telegram token", (":AA",), _B + r"\d{8,10}:AA[A-Za-z0-9_-]{33}"),
    SecretRule("storage key", ("AccountKey=",), r"AccountKey=(?P<secret>[A-Za-z0-9+/=]{40,})"),
    SecretRule(
        "JSON web token", ("eyJ",), _B + r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"
    ),
    SecretRule(
        "token",
        ("bearer",),
        r"\bbearer[ \t]+(?P<secret>[A-Za-z0-9._~+/=-]{12,})",
        lambda text: is_named(text, ""),
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
        lambda text: is_named(text, "pass", quoted=False),
        any_case=True,
    ),
    SecretRule(
        "password",
        (" -u", " --user"),
        r"\s(?:-u|--user)[ =]?[\"']?[^\s:\"'/]{1,100}:(?P<secret>[^\s\"']{4,200})",
        lambda text: not text.isdigit() and not is_placeholder(text),
    ),
    SecretRule("password", ("sshpass",), r"\bsshpass[ \t]+-p[ \t]*[\"']?(?P<secret>[^\s\"']{4,200})"),
    SecretRule("password", ("mysql",), r"\bmysql\w*[^\n|;&]{0,200}?\s-p(?P<secret>[^\s\"'-][^\s\"']{3,200})"),
)
