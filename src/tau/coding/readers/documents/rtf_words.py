"""The vocabulary of rich text: groups without text, words that are characters, and code pages."""

# Groups that hold no text of the document.
SKIPPED = {
    *(
        "author",
        "colortbl",
        "comment",
        "company",
        "creatim",
        "datafield",
        "datastore",
        "doccomm",
        "factoidname",
    ),
    *("filetbl", "fontemb", "fontfile", "footer", "footerf", "footerl", "footerr", "footnotesep", "ftncn"),
    *("ftnsep", "ftnsepc", "generator", "header", "headerf", "headerl", "headerr", "info", "keywords"),
    *(
        "latentstyles",
        "listname",
        "listoverridetable",
        "listtable",
        "mmathPr",
        "nonshppict",
        "objclass",
        "objdata",
    ),
    *(
        "objname",
        "operator",
        "panose",
        "pgdsctbl",
        "pgptbl",
        "printim",
        "private",
        "propname",
        "revtbl",
        "revtim",
    ),
    *(
        "rsidtbl",
        "subject",
        "template",
        "themedata",
        "colorschememapping",
        "title",
        "userprops",
        "wgrffmtfilter",
    ),
    *("xe", "tc", "tcn", "xmlnstbl", "xmlopen", "xmlclose", "background", "atnid", "atnauthor", "atrfstart"),
    *(
        "atrfend",
        "bkmkstart",
        "bkmkend",
        "pnseclvl",
        "buptim",
        "category",
        "manager",
        "hlinkbase",
        "linkval",
        "nonesttables",
    ),
}
# Groups marked as "skip me if you do not know me" that we do know.
KNOWN_STARRED = {"fldinst", "shppict", "shpinst", "shptxt", "footnote", "annotation", "pntext", "listtext"}

CHARACTERS = {
    "par": "\n",  # the reader turns this one into the end of a paragraph
    "line": "\n",
    "lbr": "\n",
    "softline": "\n",
    "tab": "\t",
    "emdash": "—",
    "endash": "–",
    "emspace": " ",
    "enspace": " ",
    "qmspace": " ",
    "bullet": "•",
    "lquote": "‘",
    "rquote": "’",
    "ldblquote": "“",
    "rdblquote": "”",
    "zwj": "\u200d",
    "zwnj": "\u200c",
}
SYMBOLS = {"~": "\u00a0", "_": "-", "-": "", "\\": "\\", "{": "{", "}": "}", "\t": "\t"}

# \fcharsetN, by the fonts of Windows.
CODE_PAGE_OF_CHARSET = {
    0: 1252,
    77: 10000,
    128: 932,
    129: 949,
    130: 1361,
    134: 936,
    136: 950,
    161: 1253,
    162: 1254,
    163: 1258,
    177: 1255,
    178: 1256,
    186: 1257,
    204: 1251,
    222: 874,
    238: 1250,
    255: 437,
}
CODECS = {
    **{
        page: f"cp{page}"
        for page in (437, 737, 775, 850, 852, 855, 857, 858, 860, 861, 862, 863, 864, 865, 866)
    },
    **{page: f"cp{page}" for page in (869, 874, 932, 936, 949, 950, *range(1250, 1259))},
    1361: "johab",
    10000: "mac_roman",
    10001: "shift_jis",
    10006: "mac_greek",
    10007: "mac_cyrillic",
    10029: "mac_latin2",
    10081: "mac_turkish",
    65001: "utf-8",
}
SYMBOL_CHARSET = 2
