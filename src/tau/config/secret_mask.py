"""The mask for secrets known from the environment, `auth.json`, `models.json` and `secrets.json`."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from tau.base import secrets
from tau.base.errors import TauError
from tau.base.secrets import KnownSecrets, SecretMask
from tau.config.json_file import read_json
from tau.config.paths import Paths

_NO_SECRETS = ("type", "email", "expires", "account", "clientId")  # fields of `auth.json` that are not secret
_SECRET_HEADERS = ("authorization", "proxy-authorization", "cookie")
_KEY_FIELDS = ("apiKey", "key", "token", "secret", "password", "clientSecret")


def mask_known_secrets(environ: Mapping[str, str], paths: Paths) -> None:
    """Have this process mask the user's secrets in all it writes. They are read when first needed."""
    secrets.add_source(lambda: load_known_secrets(environ, paths))


def make_mask(environ: Mapping[str, str], paths: Paths, warn: Callable[[str], None]) -> SecretMask:
    """A mask for an export. An unreadable file is reported and otherwise ignored."""
    known = load_known_secrets(environ, paths)
    for problem in known.problems:
        warn(problem)
    mask = secrets.new_mask()
    mask.learn(known.values, known.patterns)
    return mask


def load_known_secrets(environ: Mapping[str, str], paths: Paths) -> KnownSecrets:
    values = secrets.secret_variables(environ)
    patterns: list[str] = []
    problems: list[str] = []
    try:
        values += _stored(read_json(paths.auth).content, environ)
    except (TauError, OSError) as error:
        problems.append(f"Keys from auth.json are not masked because it cannot be read: {error}")
    with suppress(OSError, ValueError):
        values.append(paths.serve_token.read_text().strip())
    with suppress(TauError, OSError):  # reported where the models are loaded
        values += _configured(read_json(paths.models).content, environ)
    try:
        own = read_json(paths.secrets).content
    except (TauError, OSError) as error:
        problems.append(f"The secrets in secrets.json are not masked because it cannot be read: {error}")
        own = {}
    values += _texts(own.get("values"))
    for pattern in _texts(own.get("patterns")):
        try:
            if re.compile(pattern).match(""):
                problems.append(f'The pattern "{pattern}" in secrets.json is ignored: it matches everything.')
                continue
        except re.error as error:
            problems.append(f'The pattern "{pattern}" in secrets.json is not valid: {error}.')
            continue
        patterns.append(pattern)
    return KnownSecrets(tuple(values), tuple(patterns), tuple(problems))


def _texts(value: object) -> list[str]:
    return [text for text in value if isinstance(text, str) and text] if isinstance(value, list) else []


def _stored(content: object, environ: Mapping[str, str]) -> Iterator[str]:
    """The values in `auth.json`; of a variable's name, the variable's value."""
    pending: list[object] = [content]
    while pending:
        match pending.pop():
            case dict() as part:
                pending += [value for key, value in part.items() if key not in _NO_SECRETS]
            case list() as part:
                pending += part
            case str() as text if not text.startswith("!"):
                yield from _value_of(text, environ)


def _value_of(text: str, environ: Mapping[str, str]) -> Iterator[str]:
    """The value itself, or that of the variable it names."""
    value = environ.get(text, text)
    if text not in environ or not value.startswith(("/", "~")):
        yield value


def _configured(content: object, environ: Mapping[str, str]) -> Iterator[str]:
    """Keys and headers in `models.json`."""
    pending: list[object] = [content]
    while pending:
        match pending.pop():
            case dict() as part:
                for name, value in part.items():
                    if name in _KEY_FIELDS and isinstance(value, str):
                        if not value.startswith("!"):
                            yield from _value_of(value, environ)
                    elif name == "headers" and isinstance(value, dict):
                        yield from _header_secrets(value, environ)
                    else:
                        pending.append(value)
            case list() as part:
                pending += part


def _header_secrets(headers: dict[str, object], environ: Mapping[str, str]) -> Iterator[str]:
    """Values of variables, and those written out in headers whose names say that they are secret."""
    for name, value in headers.items():
        if not isinstance(value, str) or value.startswith("!"):
            continue
        if value in environ:
            yield environ[value]
        elif name.lower() in _SECRET_HEADERS or secrets.is_secret_name(name):
            yield from {value, value.rpartition(" ")[2]}  # also without the scheme, such as Bearer
