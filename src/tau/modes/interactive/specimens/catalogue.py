"""All specimens by name."""

from tau.modes.interactive.specimens import commands, files, looking, planning
from tau.modes.interactive.specimens.case import Specimen

SPECIMENS: dict[str, Specimen] = {
    specimen.name: specimen for part in (files, commands, looking, planning) for specimen in part.SPECIMENS
}
