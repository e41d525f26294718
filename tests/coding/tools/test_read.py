"""read: what the model sees of files, folders and images."""

import base64
import io
import json
import os
import re
import socket
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.agent.effects import Effects
from tau.ai.wire import ImageContent
from tau.base.errors import ToolError
from tau.coding.tools.read import Read, ReadDetails, ReadParams
from tau.config.settings import (
    ImagesSettings,
    InspectImageSettings,
    ReadSettings,
    Settings,
    SummarizeSettings,
)
from tests.coding.context import CallContext, call_context, call_now, text_of
from tests.coding.readers.documents.samples import paragraph, word

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


# Most tests look at the lines; the header above them has tests of its own.
PLAIN = Read(Settings(read=ReadSettings(hash_lines=False)))


def lines(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(1, count + 1))


def read(ctx: CallContext, path: str) -> str:
    return text_of(call_now(PLAIN, ctx, path=path))


def test_a_short_file_is_shown_whole_with_line_numbers(ctx: CallContext) -> None:
    (ctx.cwd / "a.py").write_text("def f():\n    return 1\n")
    output = call_now(PLAIN, ctx, path="a.py")
    assert text_of(output) == "1:def f():\n2:    return 1"
    assert output.details == ReadDetails(
        path=str(ctx.cwd / "a.py"), kind="file", total_lines=2, first_line=1, last_line=2
    )


def test_a_long_file_begins_with_300_lines_and_says_how_to_go_on(ctx: CallContext) -> None:
    (ctx.cwd / "a.txt").write_text(lines(1200))
    text = read(ctx, "a.txt")
    assert text.startswith("1:line 1\n")
    assert text.endswith("\n300:line 300\n[Showing lines 1-300 of 1200; continue with a.txt:301-]")


def test_the_number_of_first_lines_is_a_setting_and_the_prompt_knows_it(ctx: CallContext) -> None:
    (ctx.cwd / "a.txt").write_text(lines(20))
    tool = Read(Settings(read=ReadSettings(default_limit=7)))
    assert text_of(call_now(tool, ctx, path="a.txt")).endswith(
        "[Showing lines 1-7 of 20; continue with a.txt:8-]"
    )
    assert "the first 7 lines" in tool.description


@pytest.mark.parametrize(
    ("selector", "expected", "told"),
    [
        (":10-12", range(9, 16), "[Showing lines 9-15 of 100; continue with a.txt:16-]"),
        (":10+3", range(9, 16), "[Showing lines 9-15 of 100; continue with a.txt:16-]"),
        (":98-", range(97, 101), "[Showing lines 97-100 of 100]"),
        (":98", range(97, 101), "[Showing lines 97-100 of 100]"),
        (":95-5000", range(94, 101), "[Showing lines 94-100 of 100]"),
        (":1-100", range(1, 101), ""),
    ],
)
def test_a_selector_shows_its_lines_with_a_little_around(
    ctx: CallContext, selector: str, expected: range, told: str
) -> None:
    (ctx.cwd / "a.txt").write_text(lines(100))
    rows = [f"{number}:line {number}" for number in expected]
    assert read(ctx, "a.txt" + selector) == "\n".join([*rows, told] if told else rows)


def test_several_ranges_are_set_apart(ctx: CallContext) -> None:
    (ctx.cwd / "a.txt").write_text(lines(100))
    text = read(ctx, "a.txt:50-51,2-3")
    numbers = [*range(1, 7), None, *range(49, 55)]
    rows = ["[…]" if number is None else f"{number}:line {number}" for number in numbers]
    assert text == "\n".join([*rows, "[Showing lines 1-6 and 49-54 of 100; continue with a.txt:55-]"])


def test_ranges_that_are_too_long_together_end_where_the_notice_says(ctx: CallContext) -> None:
    (ctx.cwd / "a.txt").write_text("x\n" * 9000)
    rows = read(ctx, "a.txt:2-2000,3001-5000,6000-").split("\n")
    assert len(rows) == 3001
    assert rows[-2] == "3995:x"
    assert rows[-1] == "[Showing lines 1-2003 and 3000-3995 of 9000; continue with a.txt:3996-]"


def test_raw_shows_the_text_without_numbers(ctx: CallContext) -> None:
    (ctx.cwd / "a.txt").write_text(lines(3))
    assert read(ctx, "a.txt:raw") == "line 1\nline 2\nline 3"
    assert read(ctx, "a.txt:raw:2-3") == "line 1\nline 2\nline 3"


def test_a_range_behind_the_end_says_where_the_end_is(ctx: CallContext) -> None:
    (ctx.cwd / "a.txt").write_text(lines(3))
    output = call_now(PLAIN, ctx, path="a.txt:10-20")
    assert text_of(output) == "[Nothing there: a.txt has 3 lines, the last of them is :3]"
    assert not output.is_error


def test_no_call_shows_more_than_3000_lines_or_50_kib(ctx: CallContext) -> None:
    (ctx.cwd / "many.txt").write_text("x\n" * 10_000)
    assert read(ctx, "many.txt:1-").endswith(
        "3000:x\n[Showing lines 1-3000 of 10000; continue with many.txt:3001-]"
    )
    (ctx.cwd / "wide.txt").write_text(("x" * 999 + "\n") * 1000)
    text = read(ctx, "wide.txt:1-1000")
    assert len(text.encode()) < 51 * 1024
    assert text.endswith("[Showing lines 1-51 of 1000; continue with wide.txt:52-]")


def test_a_line_that_is_far_too_long_is_cut_and_that_is_said(ctx: CallContext) -> None:
    (ctx.cwd / "min.js").write_text("x" * 1_000_000 + "\nshort\n")
    text = read(ctx, "min.js")
    assert text.endswith("x…\n2:short\n[Showing 1.9 KiB of 976.5 KiB; 1 long line cut]")
    assert len(text) < 2_100


@given(
    st.lists(st.text(alphabet="ab é\t", max_size=8), min_size=1, max_size=30),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_every_line_can_be_quoted_as_it_is(
    tmp_path_factory: pytest.TempPathFactory, content: list[str], newline: str, final: bool
) -> None:
    if not final and not content[-1]:
        content[-1] = "end"
    folder = tmp_path_factory.mktemp("read")
    (folder / "f").write_bytes((newline.join(content) + (newline if final else "")).encode())
    with call_context(folder) as ctx:
        shown = read(ctx, "f").split("\n")
    assert [row.partition(":")[2] for row in shown] == content
    assert [row.partition(":")[0] for row in shown] == [str(number + 1) for number in range(len(content))]


def test_an_empty_file_is_called_empty(ctx: CallContext) -> None:
    (ctx.cwd / "empty").touch()
    assert read(ctx, "empty") == "[The file is empty]"


def test_text_in_utf_16_is_read_and_other_bytes_are_shown_as_unknown(ctx: CallContext) -> None:
    (ctx.cwd / "wide.txt").write_bytes("grüße\n".encode("utf-16"))
    assert read(ctx, "wide.txt") == "1:grüße"
    (ctx.cwd / "old.txt").write_bytes("ok\ngrüße\n".encode("cp1252"))
    text = read(ctx, "old.txt")
    assert text.startswith("1:ok\n2:gr\ufffd\ufffde\n[Not valid UTF-8 text: byte 0xFC at offset 5 (line 2)")
    assert "edit will refuse this file" in text


def test_a_file_with_old_mac_line_ends_has_lines(ctx: CallContext) -> None:
    (ctx.cwd / "mac.txt").write_bytes(b"a\rb\r")
    assert read(ctx, "mac.txt") == "1:a\n2:b"


def test_binary_files_devices_pipes_and_giants_are_refused_with_a_way_out(ctx: CallContext) -> None:
    (ctx.cwd / "a.bin").write_bytes(b"\x7fELF\0\0\0")
    with pytest.raises(ToolError, match=r"a\.bin is binary \(7 bytes\).*strings"):
        read(ctx, "a.bin")
    os.mkfifo(ctx.cwd / "pipe")
    with pytest.raises(ToolError, match="might never end"):
        read(ctx, "pipe")
    with pytest.raises(ToolError, match="might never end"):
        read(ctx, "/dev/zero")
    with (ctx.cwd / "giant").open("wb") as file:
        file.truncate(65 * 1024 * 1024)
    with pytest.raises(ToolError, match=r"giant is binary \(65 MiB\)"):
        read(ctx, "giant")


def test_a_socket_is_refused(ctx: CallContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ctx.cwd)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("s")
        with pytest.raises(ToolError, match="socket"):
            read(ctx, "s")


def test_a_missing_file_is_answered_with_similar_names(ctx: CallContext) -> None:
    (ctx.cwd / "src").mkdir()
    for name in ("server.py", "settings.py", "README.md"):
        (ctx.cwd / "src" / name).touch()
    with pytest.raises(ToolError, match=r"There is no file src/sever\.py\. Did you mean src/server\.py"):
        read(ctx, "src/sever.py")
    with pytest.raises(ToolError, match=r"Did you mean src/README\.md\?"):
        read(ctx, "src/readme.MD")
    with pytest.raises(ToolError, match=r"There is no file src/xyz\.$"):
        read(ctx, "src/xyz")
    with pytest.raises(ToolError, match=r"only its directory src exists"):
        read(ctx, "src/deep/er/x.py")
    with pytest.raises(ToolError, match=r"src/server\.py is a file, not a directory"):
        read(ctx, "src/server.py/x")


def test_a_file_whose_name_looks_like_a_selector_is_that_file(ctx: CallContext) -> None:
    (ctx.cwd / "notes:1-2").write_text("the odd one\n")
    (ctx.cwd / "notes").write_text("the usual one\n")
    assert read(ctx, "notes:1-2") == "1:the odd one"


def test_a_file_that_may_not_be_read_says_why(ctx: CallContext) -> None:
    path = ctx.cwd / "secret"
    path.write_text("x")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip(reason="this user may read everything")
    with pytest.raises(ToolError, match="Cannot read secret: Permission denied"):
        read(ctx, "secret")


def test_a_directory_is_shown_as_a_tree(ctx: CallContext) -> None:
    (ctx.cwd / "src").mkdir()
    (ctx.cwd / "src" / "b.txt").write_text("x" * 2048)
    (ctx.cwd / "gone").symlink_to("nowhere")
    output = call_now(PLAIN, ctx, path=".")
    text = text_of(output)
    assert "src/" in text and "b.txt" in text and "2 KiB" in text and "gone" in text
    assert output.details.kind == "directory"
    assert read(ctx, "/") == text  # a bare slash is the working folder
    (ctx.cwd / "empty").mkdir()
    assert read(ctx, "empty") == "(empty directory)"


@pytest.mark.parametrize("kind", ["png", "jpeg", "gif", "webp"])
def test_an_image_is_returned_as_an_image_whatever_its_name(ctx: CallContext, kind: str) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow makes the pictures")
    drawn = io.BytesIO()
    image.new("RGB", (8, 8), "red").save(drawn, kind)
    (ctx.cwd / "picture.txt").write_bytes(drawn.getvalue())
    output = call_now(PLAIN, ctx, path="picture.txt")
    shown = output.content[1]
    assert isinstance(shown, ImageContent)
    assert (base64.b64decode(shown.data), shown.mime_type) == (drawn.getvalue(), f"image/{kind}")
    assert text_of(output).startswith(f"[image/{kind}, 8x8")


def test_images_that_must_not_be_sent_are_described(ctx: CallContext) -> None:
    (ctx.cwd / "a.png").write_bytes(PNG)
    output = call_now(Read(Settings(images=ImagesSettings(block_images=True))), ctx, path="a.png")
    assert len(output.content) == 1 and output.details.mime_type == "image/png"
    facts = "image/png, 1x1, 70 bytes, 4 channels, with transparency"
    assert text_of(output).startswith(f"[{facts}; not sent: images.blockImages is true]")


def test_where_another_tool_looks_at_pictures_they_are_described(ctx: CallContext) -> None:
    (ctx.cwd / "a.png").write_bytes(PNG)
    output = call_now(Read(Settings(inspect_image=InspectImageSettings(enabled=True))), ctx, path="a.png")
    assert len(output.content) == 1
    assert text_of(output).endswith("; ask inspect_image what it shows]")


def test_a_file_found_by_the_end_of_its_path_says_which_one_it_is(ctx: CallContext) -> None:
    (ctx.cwd / "deep/er").mkdir(parents=True)
    (ctx.cwd / "deep/er/only.txt").write_text("x\n")
    output = call_now(PLAIN, ctx, path="er/only.txt")
    assert output.details.resolved_path == str(ctx.cwd / "deep/er/only.txt")
    assert output.details.suffix_resolution.startswith("There is no er/only.txt")


def test_a_short_file_is_shown_in_brief_where_that_is_set(ctx: CallContext) -> None:
    (ctx.cwd / "a.py").write_text(
        "".join(f"def f{i}():\n    a = 1\n    b = 2\n    return a\n" for i in range(12))
    )
    brief = SummarizeSettings(min_total_lines=10, min_body_lines=2, unfold_until=0, unfold_limit=0)
    tool = Read(Settings(read=ReadSettings(summarize=brief)))
    assert "lines elided" in text_of(call_now(tool, ctx, path="a.py"))
    assert "lines elided" not in read(ctx, "a.py")


def test_a_broken_image_is_refused_for_it_would_spoil_the_conversation(ctx: CallContext) -> None:
    (ctx.cwd / "picture.gif").write_bytes(b"GIF89a...")
    with pytest.raises(ToolError, match="cannot be shown"):
        read(ctx, "picture.gif")


def test_an_image_that_is_too_large_is_refused(ctx: CallContext) -> None:
    (ctx.cwd / "big.png").write_bytes(PNG + bytes(20 * 1024 * 1024))
    with pytest.raises(ToolError, match="too large"):
        read(ctx, "big.png")


def test_an_editable_file_has_a_header_whose_tag_stands_for_its_text(ctx: CallContext) -> None:
    path = ctx.cwd / "a.py"
    path.write_text("one\ntwo\n")

    first, *rows = text_of(call_now(Read(), ctx, path="a.py:2-2")).split("\n")

    assert re.fullmatch(r"¶a\.py#[0-9A-F]{4}", first) and rows == ["1:one", "2:two"]
    snapshot = ctx.snapshots.texts.find(str(path.resolve()), first[-4:])
    assert snapshot is not None and snapshot.text == "one\ntwo\n"
    assert "¶" not in text_of(call_now(Read(), ctx, path="a.py:raw"))


def test_what_cannot_be_edited_has_no_header(ctx: CallContext) -> None:
    sink = ctx.artifacts.create("bash")
    sink.write(b"output\n")
    sink.close()
    (ctx.cwd / "odd.txt").write_bytes(b"caf\xe9\n")
    assert "¶" not in text_of(call_now(Read(), ctx, path="artifact://0"))
    assert "¶" not in text_of(call_now(Read(), ctx, path="odd.txt"))


def test_a_long_file_of_code_is_summed_up_and_its_parts_can_be_read(ctx: CallContext) -> None:
    body = "".join(f"    x{number} = {number}\n" for number in range(40))
    (ctx.cwd / "long.py").write_text("".join(f"def f{number}():\n{body}\n\n" for number in range(5)))

    output = call_now(Read(), ctx, path="long.py")

    text = text_of(output)
    assert "def f4():" in text and text.count("x39 = 39") < 5
    assert re.search(r"\[\d+ lines elided; read what you need, e\.g\. long\.py:\d+-\d+", text)
    first, last = output.details.summary.elided_spans[0]
    assert "x20 = 20" in text_of(call_now(Read(), ctx, path=f"long.py:{first}-{last}"))
    tool = Read(Settings(read=ReadSettings(summarize=SummarizeSettings(enabled=False))))
    assert "x39 = 39" in text_of(call_now(tool, ctx, path="long.py"))


def test_a_path_that_ends_like_one_file_only_finds_it(ctx: CallContext) -> None:
    for name in ("a/b/settings.py", "a/c/other.py", "z/other.py"):
        (ctx.cwd / name).parent.mkdir(parents=True, exist_ok=True)
        (ctx.cwd / name).write_text("x\n")

    assert read(ctx, "b/settings.py").startswith("[There is no b/settings.py; this is a/b/settings.py")
    with pytest.raises(ToolError, match=r"There is no file other\.py"):
        read(ctx, "other.py")


def test_archives_databases_notebooks_and_documents_are_read_through_the_same_path(ctx: CallContext) -> None:
    with zipfile.ZipFile(ctx.cwd / "a.zip", "w") as packed:
        packed.writestr("d/x.txt", "one\ntwo\n")
    with closing(sqlite3.connect(ctx.cwd / "a.db")) as database:
        database.execute("create table t (id integer primary key, name text)")
        database.execute("insert into t values (1, 'Ada')")
        database.commit()
    cell = {"cell_type": "code", "source": ["1 + 1"], "metadata": {}, "outputs": [], "execution_count": None}
    (ctx.cwd / "n.ipynb").write_text(
        json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    )
    (ctx.cwd / "d.docx").write_bytes(word(paragraph("Hello")))
    (ctx.cwd / "r.rtf").write_text(r"{\rtf1 Hello}")

    assert "d/" in read(ctx, "a.zip")
    assert read(ctx, "a.zip:d/x.txt:2-2") == "1:one\n2:two"
    assert "t" in read(ctx, "a.db") and "Ada" in read(ctx, "a.db:t:1")
    assert "# %% [code] cell:0" in read(ctx, "n.ipynb")
    assert "Hello" in read(ctx, "d.docx")
    assert read(ctx, "r.rtf").startswith(
        "[Cannot read .rtf file: rich text (.rtf) is not supported; convert it"
    )
    assert read(ctx, "r.rtf:raw").endswith(r"{\rtf1 Hello}")


def test_an_artifact_is_read_like_a_file(ctx: CallContext) -> None:
    sink = ctx.artifacts.create("bash")
    sink.write(lines(50).encode())
    sink.close()
    assert read(ctx, "artifact://0:49-") == "48:line 48\n49:line 49\n50:line 50\n[Showing lines 48-50 of 50]"
    with pytest.raises(ToolError, match="no artifact"):
        read(ctx, "artifact://1")


def test_web_addresses_are_pointed_to_curl(ctx: CallContext) -> None:
    with pytest.raises(ToolError, match="curl"):
        read(ctx, "https://example.com/x:80")


def test_what_was_read_is_remembered_with_the_state_it_had(ctx: CallContext) -> None:
    path = ctx.cwd / "a.txt"
    path.write_text("x")
    read(ctx, "a.txt")
    seen = ctx.snapshots.last_seen(path)
    assert seen is not None and seen.size == 1


def test_the_effects_are_the_file_alone() -> None:
    cwd = Path("/nowhere")
    assert Read().effects(ReadParams("a.py:3-4"), cwd) == Effects(reads=(cwd / "a.py",))
    assert Read().effects(ReadParams("artifact://3"), cwd) == Effects()
