"""`auth.json`: stored API keys, readable by the user only."""

import os
import stat
from pathlib import Path

from msgspec import Raw, json

from tau.base.errors import ConfigError
from tau.base.files import locked
from tau.config.json_file import JsonFile, change_json, read_json

PRIVATE = 0o600


class AuthFile:
    """`{"provider": {"type": "api_key", "key": "..."}}`, or a list of such entries to rotate through.

    Entries of other types are preserved. `warnings` collects each warning about the file once.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.warnings: list[str] = []

    def get(self, provider: str) -> str | None:
        """The first stored value, unresolved: it may name a variable or a command."""
        return next(iter(self.get_all(provider)), None)

    def get_all(self, provider: str) -> list[str]:
        """All values stored for a provider, in order and without duplicates."""
        source = self._read()
        stored = source.content.get(provider)
        entries = stored if isinstance(stored, list) and stored else [] if stored is None else [stored]
        values: dict[str, None] = {}
        for entry in entries:
            if isinstance(entry, dict) and entry.get("type", "api_key") != "api_key":
                continue
            key = entry.get("key") if isinstance(entry, dict) else None
            if not isinstance(key, str):
                form = '{"type": "api_key", "key": "..."}'
                raise source.error(f"The entry for {provider} must look like {form}.", provider)
            if key.strip():
                values[key.strip()] = None
        return list(values)

    def get_all_settled(self, provider: str) -> list[str]:
        """Like `get_all`, but waits for writers of the file to finish."""
        if not self.path.exists():
            return []
        try:
            with locked(self.path):
                return self.get_all(provider)
        except OSError:
            return self.get_all(provider)

    def set_key(self, provider: str, key: str) -> None:
        """Store a key, or a reference to one (a variable name, `!command`).

        In a list of keys it becomes the first; the others are kept.
        """
        entry = {"type": "api_key", "key": key}
        encoded = Raw(json.encode(entry))

        def change(members: dict[str, Raw]) -> None:
            stored = bytes(members.get(provider, b""))
            others = json.decode(stored, type=list[Raw]) if stored.startswith(b"[") else []
            kept = [other for other in others if json.decode(other) != entry]
            members[provider] = Raw(json.encode([encoded, *kept])) if others else encoded

        change_json(self.path, change, mode=PRIVATE)

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


def example_entry(provider: str) -> str:
    """An example of what to write to the file."""
    return json.encode({provider: {"type": "api_key", "key": "..."}}).decode()


def check_sendable(key: str, source: str) -> str:
    """Return the key if it is valid in a header; ConfigError if it has invalid characters."""
    if key.isascii() and key.isprintable():
        return key
    raise ConfigError(f"The key from {source} has invalid characters; copy it again.")
