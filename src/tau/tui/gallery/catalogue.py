"""All specimens by name."""

from tau.tui.gallery import layout, lists, prose, reading, writing
from tau.tui.gallery.specimen import Specimen

SPECIMENS: dict[str, Specimen] = {
    specimen.name: specimen
    for part in (layout, prose, reading, writing, lists)
    for specimen in part.SPECIMENS
}
