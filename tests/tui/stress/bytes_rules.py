"""What the bytes of a frame may be: brackets, and nothing that clears the screen or the history."""

from collections.abc import Sequence

from tau.tui.text.width import is_simple
from tests.tui.stress.mismatch import Mismatch
from tests.tui.stress.scan import Token, scan

_MOVES = frozenset("ABCDEFGLM")
_KNOWN = ("\x1b]8;", "\x1b_G", "\x1b]1337;File=", "\x1b7", "\x1b8")
_MODES: dict[tuple[int, ...], str] = {(7,): "autowrap", (25,): "cursor", (2026,): "sync"}


class ByteRules:
    """Follows what is written, frame by frame."""

    def __init__(self, *, sync: bool) -> None:
        self._sync = sync
        self._bracket = False
        self._autowrap = True
        self._seen_end = False
        self._leaving = False

    def leaving(self, writes: Sequence[str]) -> None:
        """The last write before the terminal is released: brackets may be missing."""
        self._leaving = True
        self.frame(writes)
        self._leaving = False

    def frame(self, writes: Sequence[str]) -> None:
        """All writes of one frame. Raises Mismatch."""
        for text in writes:
            self._seen_end = False
            for token in scan(text):
                self._token(token)
            if self._bracket:
                raise Mismatch("bytes", "synchronized output is still on after a write")
            if not self._autowrap:
                raise Mismatch("bytes", "autowrap is still off after a write")

    def _token(self, token: Token) -> None:
        if token.kind == "bad" or (token.kind == "control" and token.raw not in "\r\n"):
            raise Mismatch("bytes", f"{token.raw!r} was written")
        if self._seen_end:
            raise Mismatch("bytes", f"{token.raw!r} after the end of synchronized output")
        if token.kind == "csi":
            self._csi(token)
        elif token.kind not in ("text", "control") and not token.raw.startswith(_KNOWN):
            raise Mismatch("bytes", f"{token.raw!r} was written")
        if token.kind == "text" and self._autowrap and not is_simple(token.raw):
            raise Mismatch("bytes", f"text that may wrap: {token.raw[:40]!r}")
        if token.kind == "text" and self._sync and not (self._bracket or self._leaving):
            raise Mismatch("bytes", f"text outside of synchronized output: {token.raw[:40]!r}")

    def _csi(self, token: Token) -> None:
        if token.private:
            self._mode(token)
        elif token.final == "J":
            if token.numbers != (0,):
                raise Mismatch("bytes", f"{token.raw!r} clears what others have written")
        elif token.final not in _MOVES and token.final not in "mK" and not token.raw.endswith("$r"):
            raise Mismatch("bytes", f"{token.raw!r} was written")

    def _mode(self, token: Token) -> None:
        mode = _MODES.get(token.numbers)
        if token.final not in "hl" or mode is None:
            raise Mismatch("bytes", f"{token.raw!r} was written")
        on = token.final == "h"
        if mode == "sync":
            if not self._sync:
                raise Mismatch("bytes", "synchronized output in a terminal without it")
            if on == self._bracket:
                raise Mismatch("bytes", "synchronized output was switched on or off twice")
            self._bracket, self._seen_end = on, not on
        elif mode == "autowrap":
            if on == self._autowrap:
                raise Mismatch("bytes", "autowrap was switched on or off twice")
            self._autowrap = on
