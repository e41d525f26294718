"""Key bindings of the interactive screen, besides those of the editor and lists.

A scope is looked up while its list or dialog has the focus, not the editor.
"""

from pathlib import Path

from msgspec import json

from tau.tui.input.bindings import Binding

_FILE = Path(__file__).with_name("key_bindings.json")

APP_BINDINGS: dict[str, Binding] = {
    action: Binding(tuple(keys.split()), *more)
    for action, keys, *more in json.decode(_FILE.read_bytes(), type=list[list[str]])
}
