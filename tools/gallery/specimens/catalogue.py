"""All specimens by name."""

from tools.gallery.specimens import agents, commands, debugging, files, looking, planning
from tools.gallery.specimens.case import Specimen

SPECIMENS: dict[str, Specimen] = {
    specimen.name: specimen
    for part in (files, commands, looking, debugging, planning, agents)
    for specimen in part.SPECIMENS
}
