"""The table of everything that the terminal understands."""

from tau.tui.terminal.emulator.controls import CONTROLS, ESCAPES
from tau.tui.terminal.emulator.edits import EDITS
from tau.tui.terminal.emulator.machine import Actions
from tau.tui.terminal.emulator.modes import MODES
from tau.tui.terminal.emulator.moves import MOVES
from tau.tui.terminal.emulator.queries import QUERIES
from tau.tui.terminal.emulator.strings import STRINGS

ACTIONS = Actions(CONTROLS, ESCAPES, {**MOVES, **EDITS, **MODES, **QUERIES}, STRINGS)
