"""The table of everything the terminal supports."""

from tests.support.terminal.emulator.controls import CONTROLS, ESCAPES
from tests.support.terminal.emulator.edits import EDITS
from tests.support.terminal.emulator.machine import Actions
from tests.support.terminal.emulator.modes import MODES
from tests.support.terminal.emulator.moves import MOVES
from tests.support.terminal.emulator.queries import QUERIES
from tests.support.terminal.emulator.strings import STRINGS

ACTIONS = Actions(CONTROLS, ESCAPES, {**MOVES, **EDITS, **MODES, **QUERIES}, STRINGS)
