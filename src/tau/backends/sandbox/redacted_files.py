"""Copies of the user's settings files for commands: registries and options are shown, passwords are not.

Package managers and Git need these files to work at all. What they may send, they send without a password.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from tau.base.files import make_private, write_atomic
from tau.base.secret_formats import names_secret
from tau.base.sizes import MIB

_CONFIG = "~/.config/"
MAX_BYTES = MIB  # of a settings file; a larger one is hidden
# Settings files that may hold passwords, each with the variable by which programs find another one, if any.
SETTINGS_FILES: Mapping[str, str] = {
    "~/.npmrc": "npm_config_userconfig",
    "~/.yarnrc": "",
    "~/.yarnrc.yml": "",
    "~/.config/pnpm/rc": "",
    "~/.bunfig.toml": "",
    "~/.pip/pip.conf": "PIP_CONFIG_FILE",
    "~/.config/pip/pip.conf": "PIP_CONFIG_FILE",
    "~/.config/uv/uv.toml": "UV_CONFIG_FILE",
    "~/.config/pypoetry/config.toml": "",
    "~/.condarc": "CONDARC",
    "~/.gitconfig": "GIT_CONFIG_GLOBAL",
    "~/.config/git/config": "",
    "~/.cargo/config": "",
    "~/.cargo/config.toml": "",
    "~/.m2/settings.xml": "",
    "~/.gradle/gradle.properties": "",
    "~/.bundle/config": "BUNDLE_USER_CONFIG",
    "~/.config/NuGet/NuGet.Config": "",
    "~/.nuget/NuGet/NuGet.Config": "",
    "~/.terraformrc": "TF_CLI_CONFIG_FILE",
}
# Compiled on first use: most homes have none of these files.
# What comes before the host of a URL: a token or a password. Of other protocols, the user stays.
_TOKEN = r"(?:(?<=https://)|(?<=http://))([^/\s@\"'<>]+)@"
_PASSWORD = r"(?<=://)([^/\s:@\"'<>]+):[^/\s@\"'<>]+@"
_HEADER = r"(?i)(?<=authorization:)[^\n\"']*"
_REFERENCE = r"[\s\"':]*(?:\$\{?[\w.:-]+\}?[\s\"':]*)+"  # to a variable of the environment
_SETTING = (
    r"(?P<key>[ \t]*(?:-[ \t]+)?[\"']?(?P<name>[^\s=\"'<>#;][^=\n\"'<>]*?)[\"']?[ \t]*(?P<mark>=|:(?=\s)))"
    r"(?P<value>[ \t]*\S.*)"
)
_ELEMENT = r"<(?P<name>[\w.-]+)(?P<more>\s[^<>]*)?>(?P<value>[^<]+)</(?P=name)\s*>"
_ATTRIBUTES = r"<add\s[^<>]*>"
_KEY_AND_VALUE = r"""(?i)(key\s*=\s*["']([^"']*)["'][^<>]*?value\s*=\s*["'])[^"']*"""
_MORE_NAMES = r"(?i)(?:^|[_.:-])_?auth$|authtoken|authident|extraheader|username$|privatekey|passphrase"


class ShownFile(Struct, frozen=True):
    """A settings file, the copy that commands see in its place, and the variable that names it, if any."""

    path: Path
    copy: Path
    variable: str = ""


def copy_settings(home: Path, folder: Path, environ: Mapping[str, str]) -> Iterator[ShownFile]:
    """Make copies in `folder` of the settings files that hold passwords. Raises OSError."""
    for place, variable in _places(home, environ).items():
        path = Path(os.path.realpath(place))
        try:
            if not path.is_file():
                continue
            data = path.read_bytes() if path.stat().st_size <= MAX_BYTES else b""
        except OSError:
            continue  # nor can commands read it
        text = data.decode("utf-8", "surrogateescape")
        redacted = redact(text, path.suffix)
        if redacted != text or not data:
            make_private(folder)
            name = hashlib.sha256(os.fsencode(place)).hexdigest()[:8]
            copy = folder / f"{name}-{path.name.lstrip('.')}"
            write_atomic(copy, redacted.encode("utf-8", "surrogateescape"), mode=0o600, sync=False)
            yield ShownFile(path, copy, variable)


def _places(home: Path, environ: Mapping[str, str]) -> dict[Path, str]:
    """Where settings files are by default, in XDG_CONFIG_HOME, and by their variables."""
    places: dict[Path, str] = {}
    config = environ.get("XDG_CONFIG_HOME", "")
    for name, variable in SETTINGS_FILES.items():
        places[home / name[2:]] = variable
        if name.startswith(_CONFIG) and config.startswith("/"):
            places[Path(config) / name.removeprefix(_CONFIG)] = variable
        for spelling in {variable, variable.upper()} - {""}:
            if environ.get(spelling, "").startswith("/"):
                places[Path(environ[spelling])] = spelling
    return places


def redact(text: str, suffix: str = "") -> str:
    """The settings without passwords, tokens, and the users in addresses."""
    text = re.sub(_TOKEN, lambda found: found[0] if re.fullmatch(_REFERENCE, found[1]) else "", text)
    text = re.sub(_HEADER, "", re.sub(_PASSWORD, r"\1@", text))
    if suffix in (".xml", ".Config"):
        text = re.sub(_ELEMENT, _empty_element, text)
        return re.sub(_ATTRIBUTES, lambda found: re.sub(_KEY_AND_VALUE, _empty_value, found[0]), text)
    return "".join(_redact_line(line, suffix) for line in text.splitlines(keepends=True))


def _redact_line(line: str, suffix: str) -> str:
    """A setting that is a secret keeps its name where programs may insist on it."""
    found = re.match(_SETTING, line)
    if found is None or not _is_secret_name(found["name"]) or re.fullmatch(_REFERENCE, found["value"]):
        return line
    match suffix:
        case ".yml" | ".toml":
            return f'{found["key"]} ""\n'
        case ".properties":
            return f"{found['key']}\n"
    return "" if found["mark"] == "=" else f'{found["key"]} ""\n'


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
