"""Rich text becomes Markdown. The samples have the shapes that Word, WordPad and LibreOffice write."""

import pytest

from tau.coding.readers.documents import convert

WORDPAD = rb"""{\rtf1\ansi\ansicpg1252\deff0\nouicompat\deflang1033
{\fonttbl{\f0\fnil\fcharset0 Calibri;}{\f1\fnil\fcharset2 Symbol;}}
{\*\generator Riched20 10.0.19041}\viewkind4\uc1
\pard\sa200\sl276\slmult1\b\f0\fs22\lang9 Shopping\b0\par
\pard{\pntext\f1\'B7\tab}{\*\pn\pnlvlblt\pnf1\pnindent0{\pntxtb\'B7}}\fi-360\li720 eggs\par
{\pntext\f1\'B7\tab}milk & \i bread\i0\par
\pard\sa200 Total: 5\'80 (\u8776?5.40 $)\par
}"""

WORD = rb"""{\rtf1\adeflang1025\ansi\ansicpg1252\uc1\adeff0\deff0
{\fonttbl{\f0\froman\fcharset0\fprq2{\*\panose 02020603050405020304}Times New Roman;}
{\f2\fmodern\fcharset0\fprq1 Courier New;}{\f38\fswiss\fcharset204\fprq2 Arial Cyr;}
{\f40\fnil\fcharset128 MS Mincho;}}
{\colortbl;\red0\green0\blue0;}{\stylesheet{\ql \li0 \snext0 Normal;}
{\s1\ql\outlinelevel0 \b\fs32 \sbasedon0 heading 1;}{\*\cs10 \additive Default;}}
{\info{\title Hidden title}{\author Ann}}{\*\xmlnstbl {\xmlns1 x}}{\header \pard page head\par}
\pard\plain \s1\ql\outlinelevel0 {\b Report}\par \pard\plain \ql
{\f38 \'cf\'f0\'e8\'e2\'e5\'f2} {\f40 \'93\'fa\'96\'7b} \u-10179\'5f\u-8704\'5f
{\v secret}{\deleted removed}{\strike gone} kept
{\cs10\super \chftn {\footnote \pard\plain {A note.}}}\par
{\field\fldedit{\*\fldinst {HYPERLINK "https://a.b/c"}}{\fldrslt {\ul the site}}}, {\f2 code}\par
{\listtext\pard\plain 1)\tab}\pard\ls1\ilvl0 first\par {\listtext\pard\plain (a)\tab}\ilvl1 inner\par
\trowd\cellx100\cellx200\pard\intbl A\cell B|2\par line\cell\row
\trowd\cellx100\cellx200\pard\intbl 3\cell 4\cell\row
\pard end\~of\_it {\*\shppict{\pict\pngblip 89504e47}}{\nonshppict{\pict\wmetafile8 0100}}\par}"""


def markdown_of(body: bytes) -> str:
    return convert("a.rtf", b"{\\rtf1\\ansi " + body + b"}").rstrip("\n")


def test_what_wordpad_writes() -> None:
    assert convert("a.rtf", WORDPAD) == "**Shopping**\n\n- eggs\n- milk & *bread*\n\nTotal: 5€ (≈5.40 $)\n"


def test_what_word_writes() -> None:
    assert convert("a.rtf", WORD) == (
        "# Report\n\nПривет 日本 😀~~gone~~ kept[^1]\n\n[the site](https://a.b/c), `code`\n\n"
        "1. first\n   - (a) inner\n\n| A | B\\|2<br>line |\n| --- | --- |\n| 3 | 4 |\n\n"
        "end\xa0of-it [image: picture]\n\n[^1]: A note.\n"
    )


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (rb"a\par b", "a\n\nb"),
        (rb"a\line b", "a\nb"),
        (rb"\uc2\u228 aexit", "äxit"),
        (rb"\uc0\u228x", "äx"),
        (rb"{\*\unknown no}yes", "yes"),
        (rb"\b both \i slanted\b0  rest", "**both** ***slanted*** *rest*"),
        (rb"a\bin4 }}\}}b", "ab"),
        (rb"\{braces\}\\", "{braces}\\"),
        (rb"{\info{\title no}}x\emdash y", "x—y"),
        (rb"\f9\mac\'8a", "ä"),
        (rb"text } after", "text  after"),
        (rb"\pard\outlinelevel1 Head\par\pard x", "## Head\n\nx"),
        (rb"\u55357 ?", "[The document has no text]"),
    ],
)
def test_details(body: bytes, text: str) -> None:
    assert markdown_of(body) == text


def test_a_document_that_stops_in_the_middle_is_read_so_far() -> None:
    for end in range(len(WORD)):
        assert convert("a.rtf", WORD[: max(end, 6)])
