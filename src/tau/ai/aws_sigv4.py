"""Signs requests to Amazon Web Services (Signature Version 4, in headers)."""

import hmac
import re
from collections.abc import Mapping
from hashlib import sha256
from time import gmtime, strftime
from urllib.parse import parse_qsl, quote

from msgspec import Struct

from tau.ai.proxy import Url, parse_url

ALGORITHM = "AWS4-HMAC-SHA256"
# Proxies change these on the way.
UNSIGNED = frozenset({"connection", "expect", "keep-alive", "transfer-encoding", "user-agent"})

_KEY = re.compile(r"([A-Z0-9]{16,128}):([^:\s]+)(?::(\S+))?")
_REGION = re.compile(r"(?:^|[.-])((?:[a-z]{2}|us-gov|us-isob?|eu-isoe)-[a-z]+-\d)(?:\.|$)")


class AwsKey(Struct, frozen=True):
    """An access key. `session_token` is empty for one that does not expire."""

    access_key_id: str
    secret: str
    session_token: str = ""

    def joined(self) -> str:
        """In one line, as `auth.json` and credentials have it."""
        return ":".join(filter(None, (self.access_key_id, self.secret, self.session_token)))


def parse_key(text: str) -> AwsKey | None:
    """The key in `ACCESS_KEY_ID:SECRET[:SESSION_TOKEN]`; None for a bearer token."""
    found = _KEY.fullmatch(text)
    return None if found is None else AwsKey(found[1], found[2], found[3] or "")


def region_of(host: str, fallback: str) -> str:
    """The region in the name of an AWS server, such as bedrock-runtime.eu-west-1.amazonaws.com."""
    found = _REGION.search(host)
    return found[1] if found else fallback


def sign(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    key: AwsKey,
    region: str,
    service: str,
    now: float,
) -> dict[str, str]:
    """The headers with the signature and what belongs to it. `now` is Unix time in seconds."""
    place = parse_url(url)
    date = strftime("%Y%m%dT%H%M%SZ", gmtime(now))
    sent = {name.lower(): value.strip() for name, value in headers.items()}
    sent.pop("authorization", None)
    sent["x-amz-date"] = date
    if key.session_token:
        sent["x-amz-security-token"] = key.session_token
    signed = {"host": place.authority, **{name: sent[name] for name in sent if name not in UNSIGNED}}
    names = ";".join(sorted(signed))
    request = "\n".join((_canonical_start(method, place), _canonical_headers(signed), names, _hash(body)))
    scope = f"{date[:8]}/{region}/{service}/aws4_request"
    text = "\n".join((ALGORITHM, date, scope, _hash(request.encode())))
    seal = f"AWS4{key.secret}".encode()
    for part in (*scope.split("/"), text):
        seal = hmac.digest(seal, part.encode(), "sha256")
    credential = f"Credential={key.access_key_id}/{scope}"
    sent["authorization"] = f"{ALGORITHM} {credential}, SignedHeaders={names}, Signature={seal.hex()}"
    return sent


def _canonical_start(method: str, url: Url) -> str:
    path, _, query = url.target.partition("?")
    pairs = sorted(
        (quote(name, safe="-_.~"), quote(value, safe="-_.~"))
        for name, value in parse_qsl(query, keep_blank_values=True)
    )
    # Encoded once more than in the URL.
    return "\n".join((method, quote(_resolved(path), safe="/~"), "&".join("=".join(pair) for pair in pairs)))


def _resolved(path: str) -> str:
    """The path without `.`, `..` and empty segments."""
    kept: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del kept[-1:]
        elif part and part != ".":
            kept.append(part)
    end = "/" if path.endswith("/") and kept else ""
    return f"/{'/'.join(kept)}{end}"


def _canonical_headers(headers: Mapping[str, str]) -> str:
    return "".join(f"{name}:{' '.join(headers[name].split())}\n" for name in sorted(headers))


def _hash(data: bytes) -> str:
    return sha256(data).hexdigest()
