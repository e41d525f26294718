"""Measures the terminal engine, from the first paint to a long answer: `bench/tui.py [--quick]`."""

import parts
import tui_frames
import tui_start
import tui_streaming

if __name__ == "__main__":
    parts.show(
        "Measure the terminal engine: frames, keys, streaming, idling and the first paint.",
        (tui_frames, tui_streaming, tui_start),
    )
