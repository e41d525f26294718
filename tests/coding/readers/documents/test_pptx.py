"""Presentations become Markdown slide by slide."""

from pathlib import Path
from typing import Any

import pytest

from tau.coding.readers.documents import DocumentError, convert
from tests.coding.readers.documents.samples import R, library, office, relations, saved


def deck() -> Any:
    presentation = library("pptx").Presentation()
    first = presentation.slides.add_slide(presentation.slide_layouts[1])
    first.shapes.title.text = "Hello"
    frame = first.placeholders[1].text_frame
    frame.text = "one"
    inner = frame.add_paragraph()
    inner.text, inner.level = "inner", 1
    run = frame.add_paragraph().add_run()
    run.text, run.font.bold, run.hyperlink.address = "strong", True, "https://a.b"
    first.notes_slide.notes_text_frame.text = "say this\nand that"
    second = presentation.slides.add_slide(presentation.slide_layouts[5])
    second.shapes.title.text = "Numbers"
    table = second.shapes.add_table(2, 2, 0, 0, 914_400, 914_400).table
    table.cell(0, 0).text, table.cell(1, 1).text = "a|b", "d"
    second.shapes.add_textbox(0, 0, 100, 100).text_frame.text = "free text"
    second._element.set("show", "0")
    return presentation


def test_presentation_made_by_python_pptx(tmp_path: Path) -> None:
    data = saved(tmp_path / "a.pptx", deck().save)
    assert convert("a.pptx", data) == (
        "## Slide 1: Hello\n\n- one\n   - inner\n- [**strong**](https://a.b)\n\n"
        "Notes:\n\n> say this\n> and that\n\n"
        "## Slide 2 (hidden): Numbers\n\n| a\\|b |  |\n| --- | --- |\n|  | d |\n\nfree text\n"
    )


def slides(**shapes: str) -> bytes:
    """A presentation whose slide order differs from that of their names."""
    ids = "".join(f'<sldId id="25{index}" r:id="{name}"/>' for index, name in enumerate(shapes))
    more = {
        f"ppt/slides/{name}.xml": f"<sld><cSld><spTree>{each}</spTree></cSld></sld>"
        for name, each in shapes.items()
    }
    more["ppt/_rels/presentation.xml.rels"] = relations(
        *((name, "slide", f"slides/{name}.xml") for name in shapes)
    )
    main = f"<presentation {R}><sldIdLst>{ids}</sldIdLst></presentation>"
    return office("presentationml", "ppt/presentation.xml", main, more)


def text_shape(text: str, properties: str = "") -> str:
    return f"<sp><txBody><p><pPr>{properties}</pPr><r><t>{text}</t></r></p></txBody></sp>"


def test_order_groups_numbers_and_pictures() -> None:
    group = (
        f"<grpSp>{text_shape('grouped')}<pic><nvPicPr><cNvPr name='P' descr='a cat'/></nvPicPr></pic></grpSp>"
    )
    numbered = f"{text_shape('n', '<buAutoNum/>')}"
    chart = "<graphicFrame><nvGraphicFramePr><cNvPr name='Sales'/></nvGraphicFramePr><chart/></graphicFrame>"
    assert convert("a.pptx", slides(z=group, a=numbered + chart)) == (
        "## Slide 1\n\ngrouped\n\n[image: a cat]\n\n## Slide 2\n\n1. n\n\n[chart: Sales]\n"
    )


def test_missing_slide_is_reported() -> None:
    data = slides(a="").replace(b"ppt/slides/a.xml", b"ppt/slides/b.xml")
    with pytest.raises(DocumentError, match=r"its part ppt/slides/a\.xml is missing"):
        convert("a.pptx", data)
