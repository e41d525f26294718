"""Names of keys and the sequences that terminals send for them, from `keys.json`."""

from pathlib import Path

from msgspec import Struct, json


class KeyTables(Struct, frozen=True, rename="camel"):
    """`aliases` are other names of keys; the rest are sequences by what introduces them.

    `csi_plain` are letters of the SCO console; where they conflict with xterm, xterm wins.
    """

    modifier_aliases: dict[str, str]
    aliases: dict[str, str]
    csi: dict[str, str]
    csi_plain: dict[str, str]
    tilde: dict[int, str]
    ss3: dict[str, str]
    controls: dict[str, str]
    kitty: dict[int, str]


TABLES = json.decode(Path(__file__).with_name("keys.json").read_bytes(), type=KeyTables)
