"""The relay's log: JSON lines, rotated by size, with secrets masked and message bodies left out."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import json

from tau.base import secrets
from tau.base.clock import iso, now_ms
from tau.base.files import typed_path
from tau.base.sizes import MIB
from tau.relay.config import RelayHome
from tau.relay.settings import LoggingSettings, RelayConfig

LEVELS = ("trace", "debug", "info", "warn", "error", "fatal", "silent")
MAX_LOG_BYTES = 5 * MIB
BODY_FIELDS = ("body", "text", "stdout", "stderr")


class RelayLog:
    """Never raises: a full disk must not stop the relay."""

    def __init__(self, path: Path, settings: LoggingSettings) -> None:
        self.path = path
        self._least = LEVELS.index(settings.level)
        self._bodies = settings.bodies

    def write(self, level: str, module: str, message: str, **fields: Any) -> None:
        if LEVELS.index(level) < self._least:
            return
        shown = {
            name: f"[{len(str(value))} characters]" if name in BODY_FIELDS and not self._bodies else value
            for name, value in fields.items()
        }
        record = {"time": iso(now_ms()), "level": level, "module": module, "message": message, **shown}
        with suppress(Exception):
            line = secrets.mask(json.encode(record).decode()).encode() + b"\n"
            with suppress(FileNotFoundError):
                if self.path.stat().st_size + len(line) > MAX_LOG_BYTES:
                    self.path.replace(self.path.with_name(f"{self.path.name}.1"))
            fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.write(fd, line)
            finally:
                os.close(fd)


def open_log(config: RelayConfig, home: RelayHome) -> RelayLog:
    path = config.logging.file
    return RelayLog(typed_path(path) if path else home.state / "relay.log", config.logging)
