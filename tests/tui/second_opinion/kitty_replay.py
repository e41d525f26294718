"""Plays recordings into kitty's screen; run by `kitty +launch`, JSON in and JSON out."""

# mypy: ignore-errors

import json
import sys

from kitty.fast_data_types import Screen, parse_bytes, set_options
from kitty.options.types import Options
from kitty.window import as_text


class Callbacks:
    """Ignores everything that kitty reports."""

    def __getattr__(self, name):
        return lambda *arguments: None


def play(recording):
    screen = Screen(
        Callbacks(), recording["rows"], recording["columns"], recording["scrollback"], 10, 20, 0, Callbacks()
    )
    for kind, *values in recording["events"]:
        if kind == "write":
            parse_bytes(screen, values[0].encode())
        else:
            screen.resize(values[1], values[0])
    return as_text(screen, add_history=True)


set_options(Options(), False, False, False)
print(json.dumps([play(recording) for recording in json.load(sys.stdin)]))
