"""read: what the model sees of files, folders and images."""

import asyncio
import base64
import io
import json
import os
import re
import socket
import sqlite3
import threading
import zipfile
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from tau.agent.effects import Effects
from tau.ai.wire import ImageContent
from tau.base.errors import ToolError
from tau.coding.output import OutputMeta, OutputSource
from tau.coding.tools.read import DisplayContent, Read, ReadDetails, ReadParams
from tau.coding.tools.write import Write
from tau.config.settings import Settings
from tau.config.tool_settings import ImagesSettings, InspectImageSettings, ReadSettings, SummarizeSettings
from tests.coding.context import CallContext, call, call_context, call_now, text_of
from tests.coding.readers.documents.samples import paragraph, word
from tests.support.limits import HANG_S

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


# Most tests check the lines; the header above them has its own tests.
PLAIN = Read(Settings(read=ReadSettings(hash_lines=False)))


def lines(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(1, count + 1))


def read(ctx: CallContext, path: str) -> str:
    return text_of(call_now(PLAIN, ctx, path=path))


def test_short_file_is_shown_whole_with_line_numbers(ctx: CallContext) -> None:
    (ctx.cwd / "a.py").write_text("def f():\n    return 1\n")
    output = call_now(PLAIN, ctx, path="a.py")
    assert text_of(output) == "1:def f():\n2:    return 1"
    path = str(ctx.cwd / "a.py")
    assert output.details == ReadDetails(
        path=path,
        kind="file",
        resolved_path=path,
        total_lines=2,
        first_line=1,
        last_line=2,
        display_content=DisplayContent("def f():\n    return 1", 1),
        meta=OutputMeta(source=OutputSource("path", path)),
    )


def test_long_file_starts_with_300_lines_and_says_how_to_continue(ctx: CallContext) -> None:
    (ctx.cwd / "a.txt").write_text(lines(1200))
    text = read(ctx, "a.txt")
    assert text.startswith("1:line 1\n")
    assert text.endswith("\n300:line 300\n[Showing lines 1-300 of 1200; continue with a.txt:301-]")


def test_number_of_first_lines_is_a_setting_shown_in_the_prompt(ctx: CallContext) -> None:
    (ctx.cwd / "a.txt").write_text(lines(20))
    tool = Read(Settings(read=ReadSettings(default_limit=7)))
    assert text_of(call_now(tool, ctx, path="a.txt")).endswith(
        "[Showing lines 1-7 of 20; continue with a.txt:8-]"
    )
    assert "the first 7 lines" in tool.description


@pytest.mark.parametrize(
    ("selector", "expected", "wanted"),
    [
        (":10-12", range(9, 16), "[Showing lines 9-15 of 100; continue with a.txt:16-]"),
        (":10+3", range(9, 16), "[Showing lines 9-15 of 100; continue with a.txt:16-]"),
        (":98-", range(97, 101), "[Showing lines 97-100 of 100]"),
        (":98", range(97, 101), "[Showing lines 97-100 of 100]"),
        (":95-5000", range(94, 101), "[Showing lines 94-100 of 100]"),
        (":1-100", range(1, 101), ""),
    ],
)
def test_selector_shows_its_lines_with_some_context(
    ctx: CallContext, selector: str, expected: range, wanted: str
) -> None:
    (ctx.cwd / "a.txt").write_text(lines(100))
    rows = [f"{number}:line {number}" for number in expected]
    assert read(ctx, "a.txt" + selector) == "\n".join([*rows, wanted] if wanted else rows)


def test_several_ranges_are_separated(ctx: CallContext) -> None:
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


def test_range_past_the_end_says_where_the_end_is(ctx: CallContext) -> None:
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


def test_overlong_line_is_cut_with_a_note(ctx: CallContext) -> None:
    (ctx.cwd / "min.js").write_text("x" * 1_000_000 + "\nshort\n")
    text = read(ctx, "min.js")
    assert text.endswith("x…\n2:short\n[Showing 1.9 KiB of 976.5 KiB; 1 long line cut]")
    assert len(text) < 2_100


@given(
    st.lists(st.text(alphabet="ab é\t", max_size=8), min_size=1, max_size=30),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_lines_are_shown_verbatim(
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


def test_empty_file_is_called_empty(ctx: CallContext) -> None:
    (ctx.cwd / "empty").touch()
    assert read(ctx, "empty") == "[The file is empty]"


def test_utf_16_is_decoded_and_unknown_bytes_are_marked(ctx: CallContext) -> None:
    (ctx.cwd / "wide.txt").write_bytes("grüße\n".encode("utf-16"))
    assert read(ctx, "wide.txt") == "1:grüße"
    (ctx.cwd / "old.txt").write_bytes("ok\ngrüße\n".encode("cp1252"))
    text = read(ctx, "old.txt")
    assert text.startswith("1:ok\n2:gr\ufffd\ufffde\n[Not valid UTF-8 text: byte 0xFC at offset 5 (line 2)")
    assert "edit only other lines" in text


def test_file_with_old_mac_line_endings_has_lines(ctx: CallContext) -> None:
    (ctx.cwd / "mac.txt").write_bytes(b"a\rb\r")
    assert read(ctx, "mac.txt") == "1:a\n2:b"


def test_binary_files_devices_pipes_and_giants_are_refused_with_a_suggestion(ctx: CallContext) -> None:
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


def test_socket_is_refused(ctx: CallContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ctx.cwd)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("s")
        with pytest.raises(ToolError, match="socket"):
            read(ctx, "s")


def test_broken_link_is_not_suggested_for_itself(ctx: CallContext) -> None:
    (ctx.cwd / "broken").symlink_to("nothing")
    with pytest.raises(ToolError, match=r"^broken is a link to something that does not exist\.$"):
        read(ctx, "broken")


def test_missing_file_suggests_similar_names(ctx: CallContext) -> None:
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


def test_file_named_like_a_selector_wins(ctx: CallContext) -> None:
    (ctx.cwd / "notes:1-2").write_text("the odd one\n")
    (ctx.cwd / "notes").write_text("the usual one\n")
    assert read(ctx, "notes:1-2") == "1:the odd one"


def test_unreadable_file_says_why(ctx: CallContext) -> None:
    path = ctx.cwd / "secret"
    path.write_text("x")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip(reason="this user may read everything")
    with pytest.raises(ToolError, match="Cannot read secret: Permission denied"):
        read(ctx, "secret")


def test_directory_is_shown_as_a_tree(ctx: CallContext) -> None:
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
def test_image_is_returned_as_an_image_whatever_its_name(ctx: CallContext, kind: str) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow makes the pictures")
    drawn = io.BytesIO()
    image.new("RGB", (8, 8), "red").save(drawn, kind)
    (ctx.cwd / "picture.txt").write_bytes(drawn.getvalue())
    output = call_now(PLAIN, ctx, path="picture.txt")
    shown = output.content[1]
    assert isinstance(shown, ImageContent)
    assert (base64.b64decode(shown.data), shown.mime_type) == (drawn.getvalue(), f"image/{kind}")
    assert text_of(output).startswith(f"[image/{kind}, 8x8")


def test_blocked_images_are_described(ctx: CallContext) -> None:
    (ctx.cwd / "a.png").write_bytes(PNG)
    output = call_now(Read(Settings(images=ImagesSettings(block_images=True))), ctx, path="a.png")
    assert len(output.content) == 1 and output.details.mime_type == "image/png"
    facts = "image/png, 1x1, 70 bytes, 4 channels, with transparency"
    assert text_of(output).startswith(f"[{facts}; not sent: images.blockImages is true]")


def test_images_are_described_when_another_tool_inspects_them(ctx: CallContext) -> None:
    (ctx.cwd / "a.png").write_bytes(PNG)
    output = call_now(Read(Settings(inspect_image=InspectImageSettings(enabled=True))), ctx, path="a.png")
    assert len(output.content) == 1
    assert text_of(output).endswith("; ask inspect_image what it shows]")


def test_file_matched_by_path_suffix_says_which_one_it_is(ctx: CallContext) -> None:
    (ctx.cwd / "deep/er").mkdir(parents=True)
    (ctx.cwd / "deep/er/only.txt").write_text("x\n")
    output = call_now(PLAIN, ctx, path="er/only.txt")
    assert output.details.resolved_path == str(ctx.cwd / "deep/er/only.txt")
    assert output.details.suffix_resolution.startswith("There is no er/only.txt")


def test_short_file_is_summarized_if_configured(ctx: CallContext) -> None:
    (ctx.cwd / "a.py").write_text(
        "".join(f"def f{i}():\n    a = 1\n    b = 2\n    return a\n" for i in range(12))
    )
    brief = SummarizeSettings(min_total_lines=10, min_body_lines=2, unfold_until=0, unfold_limit=0)
    tool = Read(Settings(read=ReadSettings(summarize=brief)))
    assert "lines elided" in text_of(call_now(tool, ctx, path="a.py"))
    assert "lines elided" not in read(ctx, "a.py")


def test_broken_image_is_refused(ctx: CallContext) -> None:
    (ctx.cwd / "picture.gif").write_bytes(b"GIF89a...")
    with pytest.raises(ToolError, match="cannot be shown"):
        read(ctx, "picture.gif")


def test_oversized_image_is_refused(ctx: CallContext) -> None:
    (ctx.cwd / "big.png").write_bytes(PNG + bytes(20 * 1024 * 1024))
    with pytest.raises(ToolError, match="too large"):
        read(ctx, "big.png")


def test_editable_file_has_a_header_with_a_tag_for_its_text(ctx: CallContext) -> None:
    path = ctx.cwd / "a.py"
    path.write_text("one\ntwo\n")

    first, *rows = text_of(call_now(Read(), ctx, path="a.py:2-2")).split("\n")

    assert re.fullmatch(r"¶a\.py#[0-9A-F]{4}", first) and rows == ["1:one", "2:two"]
    snapshot = ctx.snapshots.texts.find(str(path.resolve()), first[-4:])
    assert snapshot is not None and snapshot.text == "one\ntwo\n"
    assert "¶" not in text_of(call_now(Read(), ctx, path="a.py:raw"))


def test_uneditable_file_has_no_header(ctx: CallContext) -> None:
    sink = ctx.artifacts.create("bash")
    sink.write(b"output\n")
    sink.close()
    (ctx.cwd / "odd.txt").write_bytes(b"\xff\xfea\0b")
    assert "¶" not in text_of(call_now(Read(), ctx, path="artifact://0"))
    odd = text_of(call_now(Read(), ctx, path="odd.txt"))
    assert "¶" not in odd and "edit will refuse this file" in odd


def test_long_code_file_is_summarized_and_its_parts_are_readable(ctx: CallContext) -> None:
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


def test_unique_path_suffix_finds_the_file(ctx: CallContext) -> None:
    for name in ("a/b/settings.py", "a/c/other.py", "z/other.py"):
        (ctx.cwd / name).parent.mkdir(parents=True, exist_ok=True)
        (ctx.cwd / name).write_text("x\n")

    assert read(ctx, "b/settings.py").startswith("[There is no b/settings.py; this is a/b/settings.py")
    with pytest.raises(ToolError, match=r"There is no file other\.py"):
        read(ctx, "other.py")


def test_archives_databases_notebooks_and_documents_share_the_path_syntax(ctx: CallContext) -> None:
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


def test_artifact_is_read_like_a_file(ctx: CallContext) -> None:
    sink = ctx.artifacts.create("bash")
    sink.write(lines(50).encode())
    sink.close()
    assert read(ctx, "artifact://0:49-") == "48:line 48\n49:line 49\n50:line 50\n[Showing lines 48-50 of 50]"
    with pytest.raises(ToolError, match="no artifact"):
        read(ctx, "artifact://1")


def test_state_of_a_read_file_is_remembered(ctx: CallContext) -> None:
    path = ctx.cwd / "a.txt"
    path.write_text("x")
    read(ctx, "a.txt")
    seen = ctx.snapshots.last_seen(path)
    assert seen is not None and seen.size == 1


def test_effects_are_the_file_alone(ctx: CallContext) -> None:
    (ctx.cwd / "a.py").touch()
    assert Read().effects(ReadParams("a.py:3-4"), ctx.cwd) == Effects(reads=(ctx.cwd / "a.py",))
    assert Read().effects(ReadParams("artifact://3"), ctx.cwd) == Effects()
    missing = Read().effects(ReadParams("b.py"), ctx.cwd)
    assert missing == Effects(reads=(ctx.cwd / "b.py", ctx.cwd))  # it is looked for below


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("deep/a.zip", "d/"),
        ("deep/a.zip:d/x.txt", "1:one"),
        ("deep/a.zip:d/x.txt:2-2", "2:two"),
        ("./deep/a.zip:d", "x.txt (8 bytes)"),
        ("deep/a.db", "t (1 row)"),
        ("deep/a.db:t:1", "name: Ada"),
        ("deep/a.db?q=SELECT name FROM t", "| Ada  |"),
        (".deep/hidden.txt", "1:here"),
    ],
)
def test_unique_suffix_of_an_archive_or_database_ended_in_is_binary(
    ctx: CallContext, path: str, expected: str
) -> None:
    folder = ctx.cwd / "src" / "deep"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.writestr("d/x.txt", "one\ntwo\n")
    with closing(sqlite3.connect(folder / "a.db")) as database, database:
        database.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, name)")
        database.execute("INSERT INTO t VALUES (1, 'Ada')")
    (ctx.cwd / "src" / ".deep").mkdir()
    (ctx.cwd / "src" / ".deep" / "hidden.txt").write_text("here\n")
    output = call_now(PLAIN, ctx, path=path)
    assert text_of(output).startswith("[There is no ") and expected in text_of(output)
    assert output.details.suffix_resolution.endswith("the only match")
    assert Path(output.details.resolved_path).is_file()


def test_missing_archive_entry_is_not_looked_for_elsewhere(ctx: CallContext) -> None:
    with zipfile.ZipFile(ctx.cwd / "a.zip", "w") as archive:
        archive.writestr("x.txt", "one\n")
    with pytest.raises(ToolError, match=r"There is no y.txt in a.zip"):
        read(ctx, "a.zip:y.txt")


def test_details_were_missing_for_rows_and_archive_entries(ctx: CallContext) -> None:
    with zipfile.ZipFile(ctx.cwd / "a.zip", "w") as archive:
        archive.writestr("x.txt", "one\ntwo\n")
    with closing(sqlite3.connect(ctx.cwd / "a.db")) as database, database:
        database.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, name)")
        database.execute("INSERT INTO t VALUES (1, 'Ada')")
    for path, file, shown in (
        ("a.zip:x.txt:2-", "a.zip", DisplayContent("one\ntwo", 1)),
        ("a.db:t:1", "a.db", DisplayContent("id: 1\nname: Ada", 1)),
    ):
        details = call_now(PLAIN, ctx, path=path).details
        assert details.resolved_path == details.meta.source.value == str(ctx.cwd / file)
        assert details.display_content == shown
    note = call_now(PLAIN, ctx, path="tau://tools/read").details
    assert note.meta.source == OutputSource("internal", "tau://tools/read.md")


def test_next_line_was_only_in_the_text(ctx: CallContext) -> None:
    (ctx.cwd / "a.txt").write_text(lines(1_000))
    details = call_now(PLAIN, ctx, path="a.txt:5-6").details
    cut = details.meta.truncation
    assert (cut.ranges, cut.total_lines, cut.next_offset) == ([(4, 9)], 1_000, 10)
    assert details.display_content == DisplayContent("\n".join(lines(9).split("\n")[3:9]), 4)
    assert call_now(PLAIN, ctx, path="a.txt:1-2,90-91").details.display_content is UNSET
    assert call_now(PLAIN, ctx, path="a.txt:990-").details.meta.truncation.next_offset is UNSET


@pytest.mark.parametrize(
    "selector", ["9" * 5_000, f"1-{'9' * 5_000}", f"1+{'9' * 5_000}", f"3,{'8' * 5_000}"]
)
def test_huge_selector_gave_a_python_exception(ctx: CallContext, selector: str) -> None:
    (ctx.cwd / "a.txt").write_text("x\n")
    with pytest.raises(ToolError, match="is too large; no file has so many lines") as caught:
        read(ctx, f"a.txt:{selector}")
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "path", ["\ud800.txt", "a.zip:\ud800", "a.db:t:\ud800", "local://\ud800", "tau://\ud800"]
)
def test_surrogate_in_a_path_gave_a_python_exception(ctx: CallContext, path: str) -> None:
    for tool, arguments in ((PLAIN, {}), (Write(), {"content": "{}"})):
        with pytest.raises(ToolError, match="lone surrogate"):
            call_now(tool, ctx, path=path, **arguments)


def test_file_whose_name_is_not_text_can_be_read_and_reported(ctx: CallContext) -> None:
    name = os.fsdecode(b"caf\xe9.txt")
    (ctx.cwd / name).write_text("hello\n")
    output = call_now(Read(), ctx, path=name)
    assert b"caf\\ufffd" in json.dumps(msgspec.to_builtins(output.details)).encode()
    assert msgspec.json.encode([output.content, output.details])


def test_large_text_is_read_without_holding_up_the_event_loop(ctx: CallContext) -> None:
    (ctx.cwd / "a.txt").write_text(lines(1_000_000))

    async def main() -> int:
        turns = 0
        task = asyncio.create_task(call(PLAIN, ctx, path="a.txt:999_990-".replace("_", "")))
        while not task.done():
            turns += 1
            await asyncio.sleep(0.001)
        assert "1000000:line 1000000" in text_of(task.result())
        return turns

    assert asyncio.run(main()) > 3


def test_structural_summary_could_not_be_interrupted(
    ctx: CallContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, leave = threading.Event(), threading.Event()

    def slow(*_: object) -> None:
        entered.set()
        leave.wait(HANG_S)

    monkeypatch.setattr("tau.backends.syntax.worker.summarize", slow)
    (ctx.cwd / "a.py").write_text("def f():\n    return 1\n" * 1_000)

    async def main() -> None:
        task = asyncio.create_task(call(PLAIN, ctx, path="a.py"))
        await asyncio.to_thread(entered.wait, HANG_S)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        leave.set()

    asyncio.run(main())


def test_4_mb_of_conflicts_are_shown_one_page_at_a_time(ctx: CallContext) -> None:
    conflict = f"<<<<<<< ours\n{'a' * 100}\n=======\n{'b' * 100}\n>>>>>>> theirs\n"
    (ctx.cwd / "a.txt").write_text(conflict * 2_000)
    text = read(ctx, "a.txt:conflicts")
    assert text.startswith("a.txt: 2000 unresolved conflicts\n\nconflict://1 lines 1-5\n")
    found = re.search(r"\[Showing (\d+) of 2000 conflicts; read conflict://(\d+) to conflict://2000", text)
    assert found is not None and int(found[2]) == int(found[1]) + 1 == text.count("\nconflict://") + 1
    assert "b" * 100 in read(ctx, "conflict://2000")


def test_entries_of_an_archive_with_long_names_are_continued(ctx: CallContext) -> None:
    with zipfile.ZipFile(ctx.cwd / "a.zip", "w") as archive:
        for number in range(100):
            archive.writestr(f"{number:03}{'n' * 1_000}", b"")
    first = read(ctx, "a.zip")
    found = re.search(r"\[Showing (\d+) of 100 entries; continue with (a\.zip:\d+-)\]", first)
    assert found is not None
    assert read(ctx, found[2]).startswith(f"{int(found[1]):03}n")
    assert read(ctx, "a.zip:3-4").count("n (") == 0 and read(ctx, "a.zip:3-4").startswith("002n")
    details = call_now(PLAIN, ctx, path="a.zip").details
    assert details.meta.limits.result_limit.total == 100


def test_last_column_of_a_row_with_huge_values_is_shown(ctx: CallContext) -> None:
    with closing(sqlite3.connect(ctx.cwd / "a.db")) as database, database:
        database.execute("CREATE TABLE t (a, b, c)")
        database.execute("INSERT INTO t VALUES (?, ?, 'the end')", ("x" * 100_000, "y" * 1_000_000))
    text = read(ctx, "a.db:t:1")
    assert "\nb: yyy" in text and "(1000000 bytes in all)" in text and "\nc: the end\n" in text
    assert "[Long values are cut; show parts with ?q=SELECT substr(" in text


def test_rows_that_do_not_fit_are_continued_by_offset(ctx: CallContext) -> None:
    with closing(sqlite3.connect(ctx.cwd / "a.db")) as database, database:
        database.execute("CREATE TABLE t (a, b, c, d)")
        database.executemany(
            "INSERT INTO t VALUES (?, ?, ?, ?)", [(n, *["é" * 60] * 3) for n in range(1_000)]
        )
    found = re.search(r"\[Rows 1-(\d+); there are more: offset=(\d+)\]", read(ctx, "a.db:t?limit=500"))
    assert found is not None and found[1] == found[2] and 200 < int(found[1]) < 500
    assert f"\n| {found[1]} " in read(ctx, f"a.db:t?limit=500&offset={found[1]}")
