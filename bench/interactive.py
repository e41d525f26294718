"""Measures the interactive mode, the real program on a terminal: `bench/interactive.py [--quick]`."""

import interactive_escape
import interactive_idle
import interactive_keys
import interactive_start
import interactive_stream
import interactive_talk
import parts

if __name__ == "__main__":
    parts.show(
        "Measure the interactive mode: its start, keys, Escape, idling, streaming and long conversations.",
        (
            interactive_start,
            interactive_keys,
            interactive_escape,
            interactive_idle,
            interactive_stream,
            interactive_talk,
        ),
    )
