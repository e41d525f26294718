"""Copies of the user's settings files for commands: registries and options are shown, passwords are not.

Package managers and Git need these files to work at all. What they may send, they send without a password.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct, json

from tau.base.files import make_private, write_atomic
from tau.base.secret_formats import NAME_HINTS, has_any, names_secret
from tau.base.sizes import MIB

_CONFIG = "~/.config/"
MAX_BYTES = MIB  # of a settings file; a larger one is hidden
# Settings files that may hold passwords, each with the variable by which programs find another one, if any.
SETTINGS_FILES = json.decode(Path(__file__).with_suffix(".json").read_bytes(), type=dict[str, str])
# Compiled on first use: most homes have none of these files.
# What comes before the host of a URL: a token or a password. Of other protocols, the user stays.
_TOKEN = r"(?i)(?:(?<=https://)|(?<=http://))([^/\s@\"'<>]+)@"
_TOKEN_IN_PATH = r"(?i)(?<=://)([^/\s\"'<>]+)/t/[^/\s\"'<>]+"  # as Anaconda's servers have it
_PROXY = r"(?im)^([ \t]*[\w.-]*proxy[ \t]*=[ \t]*[\"']?)[^/\s@]+@"
_PASSWORD = r"(?<=://)([^/\s:@\"'<>]+):[^/\s@\"'<>]+@"
_HEADER = r"(?i)(?:(?<=authorization:)|(?<=-token:))[^\n\"']*"
_REFERENCE = r"[\s\"':]*(?:\$\{?[\w.:-]+\}?[\s\"':]*)+"  # to a variable of the environment
_SETTING = (
    r"(?P<key>(?P<section>[ \t]*\[[^]\n]*\](?=[ \t]*[^\s=]))?"
    r"[ \t]*(?:-[ \t]+)?[\"']?(?P<name>[^\s=\"'<>#;][^=\n\"'<>]*?)[\"']?[ \t]*(?P<mark>=|:(?=\s)))"
    r"(?P<value>[ \t]*\S.*)"
)
_PROPERTY = r"(?P<key>[ \t]*(?P<name>[^\s=:#!]+)[ \t]*(?P<mark>[=: \t]))(?P<value>[ \t]*\S.*)(?P<section>)"
_WORDS = (
    r"(?P<key>[ \t]*[\"']?(?P<name>[^\s=\"'#;\[]+)[\"']?(?P<mark>[ \t]+))"
    r"(?P<value>[^\s=].*(?<!\{))(?P<section>)$"
)
# A value that goes on in the next line, or a setting within another one.
_OPEN = r"[ \t]*(?:\"{3}|'{3}|[|>][-+0-9]*[ \t]*$)|.*\\$"
_INNER = r"[{,][ \t]*[\"']?(?P<name>[\w.-]+)[\"']?[ \t]*[=:][ \t]*[\"']?(?P<value>[^\s\"'{},$])"
_ELEMENT = r"<(?P<name>[\w.-]+)(?P<more>\s[^<>]*)?>(?P<value>[^<]+)</(?P=name)\s*>"
_NAMED = r"(?P<key><name>\s*(?P<name>[^<]+?)\s*</name>\s*<value>)[^<]+"
_UNREAD = r"<(?P<name>[\w.-]+)(?:\s[^<>]*)?>\s*(?=<!)"  # CDATA or a comment
_ATTRIBUTES = r"<add\s[^<>]*>"
_KEY_AND_VALUE = r"""(?i)(key\s*=\s*["']([^"']*)["'][^<>]*?value\s*=\s*["'])[^"']*"""
_VALUE_AND_KEY = r"""(?i)(value\s*=\s*["'])[^"']*(["'][^<>]*?key\s*=\s*["']([^"']*)["'])"""
# Bundler names credentials by their host.
_MORE_NAMES = (
    r"(?i)(?:^|[_.:-])_?auth$|^authorization$|^BUNDLE_(?!MIRROR__|BUILD__|LOCAL__)\w+?__\w+$"
    r"|authtoken|authident|extraheader|username$|privatekey|passphrase"
)
# A text without any of these, in lower case, has no secret; most have none, and no expression is compiled.
_HINTS = (*NAME_HINTS, "auth", "bundle_", "extraheader", "username", "proxy")
_URL_HINTS = ("@", "/t/")


class ShownFile(Struct, frozen=True):
    """A settings file, the copy that commands see in its place, and the variable that names it, if any."""

    path: Path
    copy: Path
    variable: str = ""


def copy_settings(home: Path, folder: Path, environ: Mapping[str, str]) -> Iterator[ShownFile]:
    """Make copies in `folder` of the settings files that hold passwords. Raises OSError."""
    for place, variable in settings_places(home, environ).items():
        if not os.path.lexists(place):
            continue
        path = Path(os.path.realpath(place))
        redacted = redacted_content(path)
        if redacted is not None:
            make_private(folder)
            name = hashlib.sha256(os.fsencode(place)).hexdigest()[:8]
            copy = folder / f"{name}-{path.name.lstrip('.')}"
            write_atomic(copy, redacted.encode("utf-8", "surrogateescape"), mode=0o600, sync=False)
            yield ShownFile(path, copy, variable)


def redacted_content(path: Path) -> str | None:
    """The file without its passwords; None if there are none, or if nobody can read it."""
    try:
        if not path.is_file():
            return None
        data = path.read_bytes() if path.stat().st_size <= MAX_BYTES else b""
    except OSError:
        return None  # nor can commands read it
    text = data.decode("utf-8", "surrogateescape")
    redacted = redact(text, path.suffix)
    return redacted if redacted != text or not data else None


def settings_places(home: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Where settings files are by default, in XDG_CONFIG_HOME, and by their variables."""
    places: dict[str, str] = {}
    start = str(home).rstrip("/")
    config = environ.get("XDG_CONFIG_HOME", "")
    for name, variable in SETTINGS_FILES.items():
        places[start + name[1:]] = variable
        if name.startswith(_CONFIG) and config.startswith("/"):
            places[str(Path(config) / name.removeprefix(_CONFIG))] = variable
        for spelling in {variable, variable.upper()} - {""}:
            if environ.get(spelling, "").startswith("/"):
                places[str(Path(environ[spelling]))] = spelling
    return places


def redact(text: str, suffix: str = "") -> str:
    """The settings without passwords, tokens and users in addresses; empty if these cannot be told apart."""
    if not _may_have_secrets(text):
        return text
    text = re.sub(_TOKEN, lambda found: found[0] if re.fullmatch(_REFERENCE, found[1]) else "", text)
    text = re.sub(_HEADER, "", re.sub(_PASSWORD, r"\1@", text))
    text = re.sub(_PROXY, r"\1", re.sub(_TOKEN_IN_PATH, r"\1", text))
    if suffix in (".xml", ".Config"):
        if any(_is_secret_name(found["name"]) for found in re.finditer(_UNREAD, text)):
            return ""
        text = re.sub(_NAMED, _empty_named, re.sub(_ELEMENT, _empty_element, text))
        return re.sub(_ATTRIBUTES, _empty_attributes, text)
    lines = [_redact_line(line, suffix) for line in text.splitlines(keepends=True)]
    return "" if None in lines else "".join(line for line in lines if line is not None)


def _may_have_secrets(text: str) -> bool:
    """Letters beyond ASCII may equal others regardless of case, so such a text has to be looked at."""
    lower = text.lower()
    return not text.isascii() or has_any(lower, _HINTS) or ("://" in lower and has_any(lower, _URL_HINTS))


def _redact_line(line: str, suffix: str) -> str | None:
    """A secret setting keeps its name where programs may insist on it. None: it goes on elsewhere."""
    if "PRIVATE KEY-----" in line:
        return ""
    found = _find_setting(line, suffix)
    if found is None or re.fullmatch(_REFERENCE, found["value"]):
        inner = [] if "!" in line or line.lstrip()[:1] in "#;" else re.finditer(_INNER, line)
        return None if any(_is_secret_name(one["name"]) for one in inner) else line
    if re.match(_OPEN, found["value"]):
        return None
    match suffix:
        case ".yml" | ".toml":
            return f'{found["key"]} ""\n'
        case ".properties":
            return f"{found['key']}\n"
    if found["mark"] == ":":
        return f'{found["key"]} ""\n'
    return f"{found['section']}\n" if found["section"] else ""


def _find_setting(line: str, suffix: str) -> "re.Match[str] | None":
    """The setting in a line, if it is a secret."""
    for pattern in (_PROPERTY,) if suffix == ".properties" else (_SETTING, *(() if suffix else (_WORDS,))):
        found = re.match(pattern, line)
        if found is not None and _is_secret_name(found["name"]):
            return found
    return None


def _empty_named(found: "re.Match[str]") -> str:
    return found["key"] if _is_secret_name(found["name"]) else found[0]


def _empty_attributes(found: "re.Match[str]") -> str:
    text = re.sub(_KEY_AND_VALUE, _empty_value, found[0])
    return re.sub(_VALUE_AND_KEY, lambda one: one[1] + one[2] if _is_secret_name(one[3]) else one[0], text)


def _empty_element(found: "re.Match[str]") -> str:
    if not found["value"].strip() or not _is_secret_name(found["name"]):
        return found[0]
    return f"<{found['name']}{found['more'] or ''}></{found['name']}>"


def _empty_value(found: "re.Match[str]") -> str:
    return found[1] if _is_secret_name(found[2]) else found[0]


def _is_secret_name(name: str) -> bool:
    last = re.split(r"[:.]", name.strip())[-1]
    if last.lower() == "signingkey":  # of Git: the name of a key
        return False
    return names_secret(last) or re.search(_MORE_NAMES, name.strip()) is not None
