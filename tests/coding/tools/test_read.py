"""read: what the model sees of files, folders and images."""

import base64
import os
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.agent.effects import Effects
from tau.ai.wire import ImageContent
from tau.base.errors import ToolError
from tau.coding.tools import ToolSettings
from tau.coding.tools.read import MAX_IMAGE_BYTES, Read, ReadDetails, ReadParams
from tests.coding.context import CallContext, call_context, call_now, text_of

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def lines(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(1, count + 1))


def read(ctx: CallContext, path: str) -> str:
    return text_of(call_now(Read(), ctx, path=path))


def test_a_short_file_is_shown_whole_with_line_numbers(ctx: CallContext) -> None:
    (ctx.cwd / "a.py").write_text("def f():\n    return 1\n")
    output = call_now(Read(), ctx, path="a.py")
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
    tool = Read(ToolSettings(read_lines=7))
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
    output = call_now(Read(), ctx, path="a.txt:10-20")
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
    assert text.endswith("x…\n2:short\n[Showing 2.0 KiB of 976.6 KiB; 1 long line cut]")
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
    with pytest.raises(ToolError, match=r"giant has 65\.0 MiB.*sed -n"):
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
    with pytest.raises(ToolError, match=r"of its folders only src exists"):
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


def test_a_directory_lists_its_entries(ctx: CallContext) -> None:
    (ctx.cwd / "src").mkdir()
    (ctx.cwd / "b.txt").write_text("x" * 2048)
    (ctx.cwd / "A.txt").touch()
    (ctx.cwd / "gone").symlink_to("nowhere")
    output = call_now(Read(), ctx, path=".")
    assert text_of(output) == "A.txt (0 bytes)\nb.txt (2.0 KiB)\ngone (broken link)\nsrc/"
    assert output.details.kind == "directory"
    assert read(ctx, "src") == "[The directory is empty]"


def test_a_large_directory_is_listed_in_parts(ctx: CallContext) -> None:
    for number in range(600):
        (ctx.cwd / f"{number:03}").touch()
    output = call_now(Read(), ctx, path=".")
    assert text_of(output).endswith("499 (0 bytes)\n[Showing 500 of 600 entries; continue with .:501-]")
    assert (output.details.meta.entries.shown, output.details.meta.entries.total) == (500, 600)
    rest = read(ctx, ".:501-")
    assert rest.startswith("500 (0 bytes)\n") and rest.endswith("599 (0 bytes)\n[Showing 100 of 600 entries]")


@pytest.mark.parametrize(
    ("data", "mime_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0 jpeg", "image/jpeg"),
        (b"GIF89a...", "image/gif"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
    ],
)
def test_an_image_is_returned_as_an_image_whatever_its_name(
    ctx: CallContext, data: bytes, mime_type: str
) -> None:
    (ctx.cwd / "picture.txt").write_bytes(data)
    output = call_now(Read(), ctx, path="picture.txt")
    image = output.content[1]
    assert isinstance(image, ImageContent)
    assert (base64.b64decode(image.data), image.mime_type) == (data, mime_type)
    assert text_of(output) == f"[{mime_type}, {len(data)} bytes]"


def test_an_image_that_is_too_large_is_described(ctx: CallContext) -> None:
    (ctx.cwd / "big.png").write_bytes(PNG + bytes(MAX_IMAGE_BYTES))
    output = call_now(Read(), ctx, path="big.png")
    assert len(output.content) == 1
    assert text_of(output).startswith("[image/png, 5.0 MiB: too large to show")


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
