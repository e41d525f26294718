"""`auth.json`: stored API keys and logins, readable by the user only."""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Raw, Struct, json, to_builtins

from tau.ai.auth import LoginTokens
from tau.base.errors import ConfigError
from tau.base.files import locked
from tau.config.json_file import JsonFile, change_json, read_json

PRIVATE = 0o600


class StoredCredential(Struct, frozen=True):
    """A key, unresolved (it may name a variable or a command), or the tokens of a login.

    `name` tells the credentials of one provider apart, and stays when a login is renewed. `client_id` is the
    one that the user logged in with, if it is not the provider's.
    """

    name: str
    value: str = ""
    tokens: LoginTokens | None = None
    client_id: str = ""


class AuthFile:
    """`{"provider": {"type": "api_key", "key": "..."}}`, or a list of such entries to rotate through.

    A login is `{"type": "oauth", "access": "...", "refresh": "...", "expires": 1700000000000}`. Entries of
    other types are preserved. `warnings` collects each warning about the file once.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.warnings: list[str] = []

    def get(self, provider: str) -> str | None:
        """The first stored key, unresolved: it may name a variable or a command."""
        return next(iter(self.get_all(provider)), None)

    def get_all(self, provider: str) -> list[str]:
        """All keys stored for a provider, in order."""
        return [one.value for one in self.credentials(provider) if one.tokens is None]

    def credentials(self, provider: str) -> list[StoredCredential]:
        """All that is stored for a provider, in order and without duplicates."""
        source = self._read()
        found: dict[str, StoredCredential] = {}
        for place, entry in enumerate(_entries(source.content.get(provider))):
            kind = entry.get("type", "api_key") if isinstance(entry, dict) else ""
            if kind == "oauth":
                tokens = _tokens(entry)
                if tokens is None:
                    continue
                name = f"login {tokens.account or place}"
                one = StoredCredential(name, tokens=tokens, client_id=str(entry.get("clientId", "")))
            elif kind not in ("api_key", ""):
                continue
            else:
                key = entry.get("key") if isinstance(entry, dict) else None
                if not isinstance(key, str):
                    form = '{"type": "api_key", "key": "..."}'
                    raise source.error(f"The entry for {provider} must look like {form}.", provider)
                one = StoredCredential(key.strip(), key.strip())
            if one.name:
                found.setdefault(one.name, one)
        return list(found.values())

    def providers(self) -> list[str]:
        """Those with an entry."""
        return [str(provider) for provider in self._read().content]

    def settled(self, provider: str) -> list[StoredCredential]:
        """Like `credentials`, but waits for writers of the file to finish."""
        if not self.path.exists():
            return []
        try:
            with locked(self.path):
                return self.credentials(provider)
        except OSError:
            return self.credentials(provider)

    def set_key(self, provider: str, key: str, *, add: bool = False) -> None:
        """Store a key, or a reference to one (a variable name, `!command`)."""
        self._put(provider, {"type": "api_key", "key": key}, lambda other: other.get("key") == key, add)

    def set_login(
        self, provider: str, tokens: LoginTokens, client_id: str = "", *, add: bool = False
    ) -> None:
        """Store a login, instead of an earlier one of the same account."""
        entry = _login_entry(tokens, client_id)
        self._put(
            provider,
            entry,
            lambda other: other.get("type") == "oauth" and other.get("account", "") == tokens.account,
            add,
        )

    def _put(
        self, provider: str, entry: dict[str, object], is_same: Callable[[dict[str, object]], bool], add: bool
    ) -> None:
        """Make this the first of a list; without a list and without `add`, the only one."""

        def change(members: dict[str, Raw]) -> None:
            stored, is_list = _raw_entries(members, provider)
            others = [one for one in stored if not is_same(_object(one))] if add or is_list else []
            members[provider] = Raw(json.encode([entry, *others] if others else entry))

        change_json(self.path, change, mode=PRIVATE)

    def renew_login(self, provider: str, old: LoginTokens, new: LoginTokens) -> bool:
        """Replace the tokens of a login; False if it is gone: the user logged out or in meanwhile."""
        renewed = False

        def change(members: dict[str, Raw]) -> None:
            nonlocal renewed
            entries, is_list = _raw_entries(members, provider)
            for place, raw in enumerate(entries):
                entry = _object(raw)
                if entry.get("type") == "oauth" and entry.get("refresh", "") == old.refresh:
                    kept = {name: value for name, value in entry.items() if name != "renewAt"}
                    entries[place] = Raw(json.encode({**kept, **_login_entry(new, "")}))
                    renewed = True
            if renewed:
                members[provider] = Raw(json.encode(entries)) if is_list else entries[0]

        change_json(self.path, change, mode=PRIVATE)
        return renewed

    def remove(self, provider: str) -> bool:
        """Remove a provider's entry and return whether there was one."""
        if provider not in self._read().content:
            return False
        found = False

        def change(members: dict[str, Raw]) -> None:
            nonlocal found
            found = members.pop(provider, None) is not None

        change_json(self.path, change, mode=PRIVATE)
        return found

    def _read(self) -> JsonFile:
        self._restrict_mode()
        return read_json(self.path)

    def _restrict_mode(self) -> None:
        try:
            if not stat.S_IMODE(self.path.stat().st_mode) & 0o077:
                return
        except OSError:
            return  # missing or unreadable: reading it reports that
        try:
            self.path.chmod(PRIVATE)
            done = "was readable by other users; its mode is now 0600"
        except OSError as error:
            done = f"is readable by other users, and its mode cannot be changed: {error.strerror}"
        warning = f"{self.path} {done}."
        if os.name == "posix" and warning not in self.warnings:
            self.warnings.append(warning)


def _entries(stored: Any) -> list[Any]:
    """A provider's entries: one, or a list of them."""
    return list(stored) if isinstance(stored, list) and stored else [] if stored is None else [stored]


def _raw_entries(members: dict[str, Raw], provider: str) -> tuple[list[Raw], bool]:
    """The same as their text, which is kept; and whether there is a list."""
    stored = bytes(members.get(provider, b"null"))
    is_list = stored.startswith(b"[")
    return (json.decode(stored, type=list[Raw]) if is_list else [Raw(stored)], is_list)


def _object(raw: Raw) -> dict[str, object]:
    entry = json.decode(raw)
    return entry if isinstance(entry, dict) else {}


def _tokens(entry: dict[str, Any]) -> LoginTokens | None:
    texts = [entry.get(name, "") for name in ("access", "refresh", "account")]
    times = [entry.get(name, 0) for name in ("expires", "renewAt")]
    if not all(isinstance(text, str) for text in texts) or not all(
        isinstance(at, int | float) for at in times
    ):
        return None
    access, refresh, account = texts
    return LoginTokens(access, refresh, int(times[0]), account, int(times[1])) if access else None


def _login_entry(tokens: LoginTokens, client_id: str) -> dict[str, object]:
    entry = {"type": "oauth", **to_builtins(tokens), "clientId": client_id}
    return {name: value for name, value in entry.items() if value}


def example_entry(provider: str) -> str:
    """An example of what to write to the file."""
    return json.encode({provider: {"type": "api_key", "key": "..."}}).decode()


def check_sendable(key: str, source: str) -> str:
    """Return the key if it is valid in a header; ConfigError if it has invalid characters."""
    if key.isascii() and key.isprintable():
        return key
    raise ConfigError(f"The key from {source} has invalid characters; copy it again.")
