"""All specimens by name."""

from tools.gallery.widgets import layout, lists, prose, reading, writing
from tools.gallery.widgets.specimen import Specimen

SPECIMENS: dict[str, Specimen] = {
    specimen.name: specimen
    for part in (layout, prose, reading, writing, lists)
    for specimen in part.SPECIMENS
}
