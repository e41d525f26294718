"""Who may talk to the agent: allowFrom, and senders that the user admitted after pairing."""

import secrets
from pathlib import Path

from msgspec import DecodeError, Struct, ValidationError, json

from tau.base.clock import now_ms
from tau.base.files import write_atomic
from tau.relay.message import InboundMessage

CODE_MS = 60 * 60 * 1000
MAX_CODES = 100


class PairingCode(Struct, frozen=True, rename="camel"):
    sender: str
    time_ms: int


class _Admitted(Struct, rename="camel"):
    senders: list[str] = []
    codes: dict[str, PairingCode] = {}


class AccessList:
    def __init__(self, allow_from: tuple[str, ...], path: Path) -> None:
        self._allow_from = {one.removeprefix("whatsapp:") for one in allow_from}
        self._path = path

    def _load(self) -> _Admitted:
        try:
            return json.decode(self._path.read_bytes(), type=_Admitted)
        except (OSError, DecodeError, ValidationError):
            return _Admitted()

    def admits(self, message: InboundMessage) -> bool:
        sender = message.sender.removeprefix("whatsapp:")
        qualified = f"{message.channel}:{sender}"
        if "*" in self._allow_from or {sender, qualified} & self._allow_from:
            return True
        return qualified in self._load().senders

    def code_for(self, message: InboundMessage) -> str:
        """A pairing code for a sender; empty if they have one already, so that nobody is flooded."""
        admitted = self._load()
        sender = f"{message.channel}:{message.sender.removeprefix('whatsapp:')}"
        fresh = {code: one for code, one in admitted.codes.items() if now_ms() - one.time_ms < CODE_MS}
        if len(fresh) >= MAX_CODES or any(one.sender == sender for one in fresh.values()):
            return ""
        code = f"{secrets.randbelow(100_000_000):08d}"
        self._store(_Admitted(admitted.senders, {**fresh, code: PairingCode(sender, now_ms())}))
        return code

    def allow(self, code: str) -> str:
        """Admit the sender of a code, or a named one; returns who that is, empty for an unknown code."""
        admitted = self._load()
        found = admitted.codes.pop(code, None)
        if found is None and ":" not in code:
            return ""
        sender = code if found is None else found.sender
        if found is not None and now_ms() - found.time_ms >= CODE_MS:
            return ""
        if sender not in admitted.senders:
            admitted.senders.append(sender)
        self._store(admitted)
        return sender

    def _store(self, admitted: _Admitted) -> None:
        write_atomic(self._path, json.encode(admitted) + b"\n", mode=0o600)
