"""Word documents become equivalent Markdown."""

from pathlib import Path

import pytest

from tau.coding.readers.documents import convert
from tests.coding.readers.documents.samples import library, paragraph, relations, saved, word


def markdown_of(body: str, more: dict[str, str] | None = None) -> str:
    return convert("a.docx", word(body, more)).rstrip("\n")


def test_document_made_by_python_docx(tmp_path: Path) -> None:
    docx = library("docx")
    document = docx.Document()
    document.add_heading("The Title", 0)
    document.add_heading("First part", 2)
    words = document.add_paragraph("Plain ")
    words.add_run("bo").bold = True
    words.add_run("ld ").bold = True
    words.add_run("slanted").italic = True
    words.add_run(" and ")
    words.add_run("code()").font.name = "Courier New"
    for text, style in (("one", "List Bullet"), ("inner", "List Bullet 2"), ("two", "List Bullet")):
        document.add_paragraph(text, style=style)
    document.add_paragraph("first", style="List Number")
    document.add_paragraph("second", style="List Number")
    table = document.add_table(rows=2, cols=3)
    table.cell(0, 0).text, table.cell(0, 1).text, table.cell(1, 0).text = "A|b", "B\nc", "1"
    table.cell(1, 1).merge(table.cell(1, 2)).text = "wide"
    data = saved(tmp_path / "a.docx", document.save)
    assert convert("a.docx", data) == (
        "# The Title\n\n## First part\n\nPlain **bold** *slanted* and `code()`\n\n"
        "- one\n   - inner\n- two\n1. first\n2. second\n\n"
        "| A\\|b | B<br>c |  |\n| --- | --- | --- |\n| 1 | wide |  |\n"
    )


def test_insertions_are_kept_and_deletions_dropped() -> None:
    body = (
        "<w:p><w:r><w:t>a </w:t></w:r><w:ins><w:r><w:t>new</w:t></w:r></w:ins>"
        "<w:del><w:r><w:delText>old</w:delText></w:r></w:del>"
        "<w:moveFrom><w:r><w:t>from</w:t></w:r></w:moveFrom>"
        "<w:moveTo><w:r><w:t> to</w:t></w:r></w:moveTo></w:p>"
        "<w:tbl><w:tr><w:tc><w:p/></w:tc><w:tc/></w:tr>"
        f"<w:tr><w:trPr><w:del/></w:trPr><w:tc>{paragraph('gone')}</w:tc></w:tr></w:tbl>"
    )
    text = markdown_of(body)
    assert text.startswith("a new to")
    assert "old" not in text and "from" not in text and "gone" not in text


def test_links_of_both_kinds() -> None:
    body = (
        '<w:p><w:hyperlink r:id="l"><w:r><w:t>site</w:t></w:r></w:hyperlink><w:r><w:t> </w:t></w:r>'
        '<w:hyperlink w:anchor="part"><w:r><w:t>below</w:t></w:r></w:hyperlink><w:r><w:t> </w:t></w:r>'
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>HYPERLINK "http://f/x"</w:instrText></w:r>'
        '<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>field</w:t></w:r>'
        '<w:r><w:fldChar w:fldCharType="end"/></w:r><w:r><w:t> rest</w:t></w:r></w:p>'
    )
    more = {"word/_rels/document.xml.rels": relations(("l", "hyperlink", "https://a.b/(c)"))}
    assert markdown_of(body, more) == ("[site](<https://a.b/(c)>) [below](#part) [field](http://f/x) rest")


def test_notes_and_comments_come_last() -> None:
    body = (
        '<w:p><w:r><w:t>Text</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r>'
        '<w:r><w:commentReference w:id="0"/></w:r></w:p>'
    )
    ns = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    more = {
        "word/_rels/document.xml.rels": relations(
            ("f", "footnotes", "footnotes.xml"), ("c", "comments", "c.xml")
        ),
        "word/footnotes.xml": f'<w:footnotes {ns}><w:footnote w:id="0">{paragraph("separator")}</w:footnote>'
        f'<w:footnote w:id="2">{paragraph("See there.")}</w:footnote></w:footnotes>',
        "word/c.xml": f'<w:comments {ns}><w:comment w:id="0" w:author="Ann">{paragraph("Really?")}'
        "</w:comment></w:comments>",
    }
    assert markdown_of(body, more) == "Text[^2][^c0]\n\n[^2]: See there.\n\n[^c0]: Comment by Ann: Really?"


def test_numbering_matches_word() -> None:
    def item(text: str, level: int, id: int = 1) -> str:
        return paragraph(text, f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{id}"/></w:numPr>')

    levels = (
        '<w:lvl w:ilvl="0"><w:start w:val="3"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>'
        '<w:lvl w:ilvl="1"><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="(%2)"/></w:lvl>'
        '<w:lvl w:ilvl="2"><w:numFmt w:val="decimal"/><w:lvlText w:val="%1.%2.%3"/></w:lvl>'
    )
    numbering = (
        '<w:numbering xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
        f'<w:abstractNum w:abstractNumId="7">{levels}</w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>'
        '<w:num w:numId="2"><w:abstractNumId w:val="7"/>'
        '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride></w:num></w:numbering>'
    )
    body = item("a", 0) + item("b", 1) + item("c", 1) + item("d", 2) + item("e", 0) + item("f", 1)
    body += item("again", 0, 2) + item("not in a list", 0, 0)
    assert markdown_of(body, {"word/numbering.xml": numbering}) == (
        "3. a\n   - (a) b\n   - (b) c\n      - 3.b.1 d\n4. e\n   - (a) f\n1. again\n\nnot in a list"
    )


def test_code_paragraphs_become_one_block() -> None:
    def code(text: str) -> str:
        fonts = '<w:rPr><w:rFonts w:ascii="Consolas"/></w:rPr>'
        return f'<w:p><w:r>{fonts}<w:t xml:space="preserve">{text}</w:t></w:r></w:p>'

    assert markdown_of(code("def f():") + code("    return *x") + paragraph("after")) == (
        "```\ndef f():\n    return *x\n```\n\nafter"
    )


def test_pictures_are_named_and_text_boxes_read_once() -> None:
    drawing = '<w:drawing><docPr name="Picture 1" descr="A red fox"/><blip r:embed="i"/></w:drawing>'
    picture = f"<w:p><w:r>{drawing}</w:r></w:p>"
    box = f"<txbxContent>{paragraph('in the box')}</txbxContent>"
    boxed = (
        "<w:p><w:r><w:t>before</w:t></w:r><w:r><AlternateContent><Choice><w:drawing>"
        f"{box}</w:drawing></Choice><Fallback><w:pict>{box}</w:pict></Fallback></AlternateContent></w:r></w:p>"
    )
    assert markdown_of(picture + boxed) == "[image: A red fox]\n\nbefore\n\nin the box"


def test_text_that_looks_like_markup_stays_text() -> None:
    body = (
        paragraph("# no heading")
        + paragraph("1. no list")
        + paragraph("a *b* `c` _d_ snake_case &lt;tag&gt; 2 &lt; 3")
    )
    assert markdown_of(body) == (
        "\\# no heading\n\n1\\. no list\n\na \\*b\\* \\`c\\` \\_d\\_ snake_case \\<tag> 2 < 3"
    )


@pytest.mark.parametrize("level", [1, 4, 9])
def test_headings_by_outline_level(level: int) -> None:
    text = markdown_of(paragraph("Head", f'<w:outlineLvl w:val="{level - 1}"/>'))
    assert text == f"{'#' * min(level, 6)} Head"


def test_nested_table_and_framed_text() -> None:
    inner = f"<w:tbl><w:tr><w:tc>{paragraph('x')}</w:tc><w:tc>{paragraph('y')}</w:tc></w:tr></w:tbl>"
    outer = f"<w:tbl><w:tr><w:tc>{inner}</w:tc><w:tc>{paragraph('z')}</w:tc></w:tr></w:tbl>"
    frame = f"<w:tbl><w:tr><w:tc>{paragraph('framed')}</w:tc></w:tr></w:tbl>"
    assert markdown_of(outer + frame) == "| x; y | z |\n| --- | --- |\n\nframed"
