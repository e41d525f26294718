"""E-books become Markdown in reading order."""

from pathlib import Path

import pytest

from tau.coding.readers.documents import DocumentError, convert
from tests.coding.readers.documents.samples import book, library, saved


def markdown_of(chapter: str | bytes) -> str:
    return convert("a.epub", book(chapter)).rstrip("\n")


def test_book_made_by_mkepub(tmp_path: Path) -> None:
    made = library("mkepub").Book("My *book*", author="Ann B")
    made.add_page("One", "<h2>One</h2><p>Hi <b>bold</b> <a href='https://x.y/z'>there</a>.</p>")
    made.add_page("Two", "<p>second<br/>line</p>")
    data = saved(tmp_path / "a.epub", made.save)
    made.tempdir.cleanup()
    assert convert("a.epub", data) == (
        "# My \\*book\\*\n\nby Ann B\n\n## One\n\nHi **bold** [there](https://x.y/z).\n\nsecond\nline\n"
    )


def test_all_kinds_of_blocks() -> None:
    chapter = (
        "<html><head><title>no</title><style>p{}</style></head><body><h1>T</h1>"
        "<ul><li>a<ol start='3'><li>n</li><li><p>m</p><p>more</p></li></ol></li><li>b</li></ul>"
        "<pre>x\n  *y*</pre><blockquote><p>q</p></blockquote><hr/>"
        "<table><tr><th>h</th><th>i</th></tr><tr><td colspan='2'>c|d<br/>e</td></tr></table>"
        "<p>E = <code>mc*2</code> <em>x</em>&nbsp;&amp; <img src='a/b.png' alt='pic'/></p>"
        "<script>no()</script>"
    )
    assert markdown_of(chapter) == (
        "# T\n\n- a\n   3. n\n   4. m\n\n      more\n\n- b\n\n```\nx\n  *y*\n```\n\n> q\n\n---\n\n"
        "| h | i |\n| --- | --- |\n| c\\|d<br>e |  |\n\nE = `mc*2` *x*\xa0& [image: pic]"
    )


def test_internal_links_become_plain_text() -> None:
    assert (
        markdown_of("<p><a href='c2.xhtml#x'>next</a> <a href='https://a.b'>out</a></p>")
        == "next [out](https://a.b)"
    )


def test_broken_markup_is_read_as_far_as_possible() -> None:
    assert markdown_of("<p>one <b>two</p><p>three</i></b> four<table><td>x<tr><td>y") == (
        "one **two**\n\n**three** four\n\n| x |\n| --- |\n| y |"
    )
    assert markdown_of("<p>fine</p><![weird").startswith("fine")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "windows-1252"])
def test_chapters_in_other_encodings(encoding: str) -> None:
    chapter = f'<?xml version="1.0" encoding="{encoding}"?><html><body><p>Käse</p></body></html>'
    assert markdown_of(chapter.encode(encoding)) == "Käse"


def test_invalid_encoding_is_ignored() -> None:
    assert markdown_of(b'<?xml version="1.0" encoding="unicode_escape"?><p>a\\x41</p>') == "a\\x41"


def test_copy_protection_is_reported() -> None:
    locked = (
        "<encryption><EncryptedData><CipherData><CipherReference URI='O/text/c%200.xhtml'/></CipherData>"
        "</EncryptedData></encryption>"
    )
    with pytest.raises(DocumentError, match="copy protection"):
        convert("a.epub", book("x", more={"META-INF/encryption.xml": locked}))
    text = convert("a.epub", book("x", "<p>free</p>", more={"META-INF/encryption.xml": locked}))
    assert text == "[The chapter O/text/c 0.xhtml is encrypted]\n\nfree\n"


def test_missing_chapter_is_reported_and_the_others_are_read() -> None:
    data = book("<p>one</p>", "<p>two</p>").replace(b"O/text/c 0.xhtml", b"O/text/d 0.xhtml")
    assert convert("a.epub", data) == "[The chapter O/text/c 0.xhtml is missing]\n\ntwo\n"
