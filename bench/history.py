"""Measures the session index, undo and exports: `bench/history.py [--quick]`."""

import history_export
import history_index
import history_undo
import parts

if __name__ == "__main__":
    parts.show(
        "Measure the index of sessions, the history of files and exports.",
        (history_index, history_undo, history_export),
    )
