"""What a tool call would do, declared without doing it."""

from pathlib import Path

from msgspec import Struct


class Effects(Struct, frozen=True, kw_only=True):
    """Paths are absolute; `runs` holds the shell text or the program; `network` the hosts, `*` for any."""

    reads: tuple[Path, ...] = ()
    writes: tuple[Path, ...] = ()
    runs: tuple[str, ...] = ()
    network: tuple[str, ...] = ()
