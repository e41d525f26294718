"""Markdown and JSON exports contain the whole conversation in a readable form."""

import html
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from markdown_it import MarkdownIt

from tau.ai.wire import Attachment, TextContent, ThinkingContent, UserMessage
from tau.base.errors import UsageError
from tau.coding.approval import decision_log
from tau.coding.export.files import exported, format_of, write_export
from tau.coding.export.markdown import fenced
from tau.coding.session import entries as s
from tau.coding.session.stats import UsageStats
from tau.coding.session.storage.log import SessionLog
from tests.coding.export.sample import DIFF, TIME, answer, picture, sample_session
from tests.coding.export.test_html import NASTY


def markdown_of(log: SessionLog) -> str:
    return b"".join(exported(log, "markdown", None)).decode()


def test_markdown_has_all_messages_of_the_active_branch_only() -> None:
    text = markdown_of(sample_session(None))
    for words in (
        *(
            "# Make the cart count",
            "The cart's total is wrong",
            "> The total sums `price` only.",
            "I will look at",
        ),
        *("python -m pytest tests/test_cart.py -q", "1 failed, 40 passed", "All **41 tests** pass"),
        *("Rounding to cents was tried", "(an image, `image/png`)", "git diff --stat", "A test says so now."),
    ):
        assert words in text
    assert f"```diff\n{DIFF.rstrip()}\n```" in text
    assert "bankers' rounding" not in text


@pytest.mark.parametrize("text", ["```", "x ``` y ```` z", "a\n```\nb", "`" * 12, "no ticks"])
def test_fences_are_longer_than_those_inside(text: str) -> None:
    tokens = MarkdownIt("commonmark").parse(fenced(text, "py"))
    assert [(token.type, token.content) for token in tokens] == [("fence", f"{text}\n")]


@pytest.mark.parametrize(
    "open_end", ["```py\nx = 1", "~~~~\nx", "text <!-- hidden", "a\n  ```\n`````\nb\n```` x"]
)
def test_unclosed_markup_does_not_swallow_the_next_message(open_end: str) -> None:
    log = SessionLog.new(None, Path("/"))
    log.append_message(UserMessage(open_end, TIME))
    log.append_message(answer("the answer"))
    tokens = MarkdownIt("commonmark").parse(markdown_of(log))
    headings = [after.content for token, after in pairwise(tokens) if token.type == "heading_open"]
    assert headings[1:] == ["You", "tau"]


def test_markdown_has_one_section_per_message_for_any_text() -> None:
    log = SessionLog.new(None, Path("/"))
    for text in NASTY:
        log.append_message(UserMessage(text.encode("utf-8", "replace").decode(), TIME))
    shown = markdown_of(log)
    assert shown.count("\n## You\n") == len(NASTY)


def test_attachments_are_named() -> None:
    log = SessionLog.new(None, Path("/"))
    file = Attachment("a", "document", "plan.pdf", "application/pdf", 3, "QUJD")
    log.append_message(UserMessage("see", TIME, [file]))
    assert "Attached: `plan.pdf`" in markdown_of(log)
    assert "Attached: plan.pdf" in b"".join(exported(log, "html", None)).decode()


def test_json_has_every_entry_of_every_branch_unchanged(tmp_path: Path) -> None:
    log = sample_session(tmp_path)
    document = msgspec.json.decode(b"".join(exported(log, "json", None)))
    assert document["header"]["id"] == log.header.id
    assert document["entries"] == [msgspec.json.decode(log.line(node)) for node in log.nodes()]
    assert document["usage"]["session"] == msgspec.to_builtins(UsageStats(log).summary())
    log.close()


def test_json_inlines_large_images(tmp_path: Path) -> None:
    log = SessionLog.new(tmp_path / "s", Path("/"), blobs=tmp_path / "blobs")
    large = picture(700, 700)
    large = msgspec.structs.replace(large, data=large.data * (1 + 300_000 // len(large.data)))
    log.append_message(UserMessage([TextContent("look"), large], TIME))
    log.append(s.CustomEntry(custom_type="x", data={"any": ["thing"]}))
    for format in ("json", "pi", "html"):
        assert large.data in b"".join(exported(log, format, None)).decode()
    log.close()


def test_pi_gets_the_lines_of_the_file(tmp_path: Path) -> None:
    log = sample_session(tmp_path)
    assert log.path is not None
    assert b"".join(exported(log, "pi", None)) == log.path.read_bytes()
    log.close()


def test_format_follows_the_extension() -> None:
    names = ("a.html", "a.HTM", "a.md", "a.markdown", "a.json", "a.jsonl", "a", "a.txt")
    assert [format_of(Path(name)) for name in names] == [
        *("html", "html", "markdown", "markdown", "json", None, None, None)
    ]


@pytest.mark.parametrize("format", ["html", "markdown", "json"])
def test_only_an_earlier_export_is_overwritten(tmp_path: Path, format: str) -> None:
    log = sample_session(None)
    target = tmp_path / "notes.md"
    target.write_text("# My own notes\n")
    with pytest.raises(UsageError, match="is not a tau export"):
        write_export(target, exported(log, format, None))
    assert target.read_text() == "# My own notes\n"
    write_export(target, exported(log, format, None), force=True)
    target.chmod(0o644)
    write_export(target, exported(log, format, None))
    assert target.stat().st_mode & 0o777 == 0o644
    assert sorted(tmp_path.iterdir()) == [target]


def test_new_export_is_private_and_a_failed_one_leaves_nothing(tmp_path: Path) -> None:
    def pieces() -> "list[bytes]":
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError):
        write_export(tmp_path / "a.html", (piece for _ in "x" for piece in pieces()))
    assert list(tmp_path.iterdir()) == []
    write_export(tmp_path / "a.html", [b"x"])
    assert (tmp_path / "a.html").stat().st_mode & 0o777 == 0o600


def test_empty_thinking_is_not_shown() -> None:
    log = SessionLog.new(None, Path("/"))
    log.append_message(answer(ThinkingContent("  "), "words"))
    assert "Thinking" not in markdown_of(log)
    assert "Thinking" not in b"".join(exported(log, "html", None)).decode().partition("<main>")[2]


def test_decisions_about_calls_are_in_every_format() -> None:
    log = SessionLog.new(None, Path("/"))
    log.append_message(UserMessage("push it", TIME))
    decision = decision_log.DecisionRecord(
        call_id="1",
        tool="bash",
        allowed=False,
        by="rules",
        mode="workspace",
        reason='the rule "run: git push" in tools.deny forbids `x` <b>',
    )
    decision_log.record(log, decision)
    log.append_message(answer("I could not."))
    line = 'Refused (your rules): the rule "run: git push" in tools.deny forbids `x` <b>'
    assert line in markdown_of(log)
    assert line in html.unescape(b"".join(exported(log, "html", None)).decode())
    assert b'"customType":"permission"' in b"".join(exported(log, "json", None))
