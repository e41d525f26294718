"""The symbols of the screen in three presets: Unicode, Nerd Font, plain ASCII."""

from tau.tui.style import ASCII, UNICODE, Symbols

SIGNS: dict[str, Symbols] = {
    "unicode": UNICODE,
    "nerd": UNICODE._replace(
        check="\uf00c",
        cross="\uf00d",
        pointer="\uf054",
        checkbox_on="\uf14a",
        checkbox_off="\uf096",
        folded="\uf105",
        unfolded="\uf107",
    ),
    "ascii": ASCII,
}
