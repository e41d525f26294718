"""Archives: found behind a path, listed, read and written without collateral damage."""

import asyncio
import gzip
import io
import os
import shutil
import stat
import struct
import subprocess
import tarfile
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.base.errors import ToolError
from tau.base.threads import StopSignal, ThreadStopped, in_thread
from tau.coding.files.paths import LineRange
from tau.coding.files.targets import archive_of, locate_for_write
from tau.coding.readers import archive_splits
from tau.coding.readers.archives import archive
from tau.coding.readers.archives.archive import ArchiveEntry, ArchiveListing
from tau.coding.readers.archives.index import ArchiveLimits, asked_path, member_path
from tests.coding.context import CallContext

FORMATS = ["a.zip", "a.tar", "a.tar.gz", "a.tgz"]
FILES = {"README.md": b"# hello\n", "src/main.py": b"print(1)\n", "src/deep/x.bin": bytes(range(256))}


def pack(path: Path, files: dict[str, bytes]) -> Path:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
            for name, data in files.items():
                zipped.writestr(name, data)
    else:
        with tarfile.open(path, "w" if path.suffix == ".tar" else "w:gz") as tar:
            for name, data in files.items():
                info = tarfile.TarInfo(name)
                info.size, info.mode, info.mtime = len(data), 0o640, 1_600_000_000
                tar.addfile(info, io.BytesIO(data))
    return path


def look(ctx: CallContext, text: str, limits: ArchiveLimits | None = None) -> ArchiveListing | ArchiveEntry:
    async def main() -> ArchiveListing | ArchiveEntry:
        target = archive_of(text, ctx.cwd)
        assert target is not None
        found = await archive.locate(target, ctx.cwd, ctx.fs)
        return await archive.read(found, ctx.fs, limits)

    return asyncio.run(main())


def entry(ctx: CallContext, text: str, limits: ArchiveLimits | None = None) -> ArchiveEntry:
    result = look(ctx, text, limits)
    assert isinstance(result, ArchiveEntry)
    return result


def listing(ctx: CallContext, text: str) -> ArchiveListing:
    result = look(ctx, text)
    assert isinstance(result, ArchiveListing)
    return result


def put(ctx: CallContext, text: str, content: bytes) -> archive.ArchiveWritten:
    async def main() -> archive.ArchiveWritten:
        target = locate_for_write(text, ctx.cwd)
        assert target.kind == "archive"
        found = await archive.locate(target, ctx.cwd, ctx.fs)
        return await archive.write(found, content, ctx.fs)

    return asyncio.run(main())


def unpacked(path: Path) -> dict[str, bytes]:
    """What the standard library finds, as a cross-check."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as zipped:
            assert zipped.testzip() is None
            return {name: zipped.read(name) for name in zipped.namelist()}
    with tarfile.open(path) as tar:
        return {info.name: tar.extractfile(info).read() for info in tar if info.isreg()}  # type: ignore[union-attr]


def test_every_archive_candidate_in_a_path_longest_first() -> None:
    assert archive_splits("a/b.tar.gz:c/d.txt:5-6") == [("a/b.tar.gz", "c/d.txt:5-6")]
    assert archive_splits("a.ZIP") == [("a.ZIP", "")]
    assert archive_splits("a.zip:b.tgz:c") == [
        ("a.zip:b.tgz", "c"),
        ("a.zip", "b.tgz:c"),
    ]
    assert archive_splits("a.zip/b") == archive_splits("src/a.py") == archive_splits("a.zipper:b") == []


@given(st.text(alphabet="ab.:/\\C \0zip", max_size=30))
def test_member_path_never_escapes_the_archive(text: str) -> None:
    try:
        path = asked_path(text)
    except ToolError:
        return
    assert not path.startswith("/") and "\0" not in path
    assert not {"..", ".", ""} & set(path.split("/")) or path == ""
    assert asked_path(path) == path


@pytest.mark.parametrize("bad", ["../x", "a/../../x", "/etc/passwd", "C:\\x", "c:/x", "a\0b", "..\\x"])
def test_escaping_paths_are_refused(bad: str) -> None:
    with pytest.raises(ToolError):
        asked_path(bad)
    assert member_path(bad) == ""


@pytest.mark.parametrize("name", FORMATS)
def test_folders_are_listed_with_sizes(ctx: CallContext, name: str) -> None:
    pack(ctx.cwd / name, FILES)
    assert listing(ctx, name).text == "README.md (8 bytes)\nsrc/"
    assert listing(ctx, f"{name}:src").rows == ["deep/", "main.py (9 bytes)"]
    assert listing(ctx, f"{name}:./src//deep/").rows == ["x.bin (256 bytes)"]


@pytest.mark.parametrize("name", FORMATS)
def test_entry_is_read_with_its_selector(ctx: CallContext, name: str) -> None:
    pack(ctx.cwd / name, FILES)
    found = entry(ctx, f"{name}:src/main.py:2-5,9")
    assert (found.name, found.data) == (f"{name}:src/main.py", b"print(1)\n")
    assert found.selector.ranges == (LineRange(2, 5), LineRange(9))
    assert entry(ctx, f"{name}:README.md:raw").selector.raw
    assert found.binary_notice() is None
    notice = entry(ctx, f"{name}:src/deep/x.bin").binary_notice()
    assert notice == f"[Cannot read binary archive entry '{name}:src/deep/x.bin' (256 bytes)]"


def test_entry_named_like_a_selector_wins(ctx: CallContext) -> None:
    pack(ctx.cwd / "a.zip", {"x:5": b"odd", "x": b"even"})
    assert entry(ctx, "a.zip:x:5").data == b"odd"
    assert entry(ctx, "a.zip:x:6").data == b"even"


def test_long_listings_are_cut_and_can_be_continued(ctx: CallContext) -> None:
    pack(ctx.cwd / "a.tar", {f"f{number:04}": b"" for number in range(1203)})
    first = listing(ctx, "a.tar")
    assert (len(first.rows), first.total, first.rows[0]) == (500, 1203, "f0000")
    assert first.text.endswith("[Showing 500 of 1203 entries; continue with a.tar:501-]")
    assert first.limit is not None and first.limit.total == 1203
    last = listing(ctx, "a.tar:1001-")
    assert last.rows[-1] == "f1202"
    assert last.text.endswith("[Showing 203 of 1203 entries]")


def test_missing_entries_are_reported(ctx: CallContext) -> None:
    pack(ctx.cwd / "a.zip", FILES)
    with pytest.raises(ToolError, match=r"no src/none.py in a.zip; read a.zip"):
        look(ctx, "a.zip:src/none.py")
    assert archive_of("b.zip:x", ctx.cwd) is None
    (ctx.cwd / "folder.zip").mkdir()
    assert archive_of("folder.zip", ctx.cwd) is None
    assert locate_for_write("folder.zip", ctx.cwd).kind == "file"


@pytest.mark.parametrize("name", FORMATS)
def test_new_archive_is_made_with_its_folders(ctx: CallContext, name: str) -> None:
    written = put(ctx, f"new/{name}:css/ä.css", b"body {}\n")
    assert (written.name, written.created, written.replaced) == (f"new/{name}:css/ä.css", True, False)
    assert unpacked(ctx.cwd / "new" / name) == {"css/ä.css": b"body {}\n"}
    assert entry(ctx, f"new/{name}:css/ä.css").data == b"body {}\n"


@pytest.mark.parametrize("name", FORMATS)
def test_replacing_and_adding_keeps_all_others_in_order(ctx: CallContext, name: str) -> None:
    path = pack(ctx.cwd / name, FILES)
    assert put(ctx, f"{name}:src/main.py", b"changed" * 1000).replaced
    assert not put(ctx, f"{name}:src/new.py", b"").replaced
    wanted = {**FILES, "src/main.py": b"changed" * 1000, "src/new.py": b""}
    assert unpacked(path) == wanted
    assert list(unpacked(path)) == list(wanted)


def test_other_zip_entries_keep_every_byte_and_their_metadata(ctx: CallContext) -> None:
    path = ctx.cwd / "a.zip"
    with zipfile.ZipFile(path, "w") as zipped:
        for name, method in (("s", zipfile.ZIP_STORED), ("b", zipfile.ZIP_BZIP2), ("x", zipfile.ZIP_LZMA)):
            info = zipfile.ZipInfo(name, (1999, 2, 3, 4, 5, 6))
            info.external_attr, info.compress_type, info.comment = 0o100755 << 16, method, b"why"
            zipped.writestr(info, b"data" * 50)
        zipped.writestr("target", b"old")
        zipped.comment = b"the archive's own words"
    path.write_bytes(b"#!/bin/sh a stub before the archive\n" + path.read_bytes())
    before = path.read_bytes()
    put(ctx, "a.zip:target", b"new" * 100)
    after = path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(before)) as old, zipfile.ZipFile(io.BytesIO(after)) as new:
        end = old.getinfo("target").header_offset
        assert after[:end] == before[:end]
        assert new.comment == old.comment
        for name in ("s", "b", "x"):
            kept, made = old.getinfo(name), new.getinfo(name)
            assert (made.date_time, made.external_attr, made.compress_type, made.comment) == (
                (kept.date_time, kept.external_attr, kept.compress_type, kept.comment)
            )
        assert new.read("target") == b"new" * 100
        assert new.testzip() is None


def test_other_tar_entries_keep_every_byte(ctx: CallContext) -> None:
    path = ctx.cwd / "a.tar"
    long_name = "d/" * 80 + "name-ü"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT, pax_headers={"comment": "global"}) as tar:
        for name in ("first", "./target", long_name):
            info = tarfile.TarInfo(name)
            info.size, info.mtime, info.mode, info.uname = 700, 12345.678, 0o4711, "ada"
            tar.addfile(info, io.BytesIO(name.encode()[:1] * 700))
    before = path.read_bytes()
    put(ctx, "a.tar:target", b"new" * 1000)
    after = path.read_bytes()
    with tarfile.open(path) as tar:
        members = {info.name: info for info in tar}
        assert list(members) == ["first", "./target", long_name]
        assert members["./target"].mode == 0o4711 and members["./target"].uname == "ada"
        assert members[long_name].mtime == 12345.678
    cut = before.index(b"./target")
    cut -= cut % 512
    assert after[: cut - 1024] == before[: cut - 1024]
    tail = before[before.index(b"d/" * 40) - 512 :].rstrip(b"\0")
    assert tail in after
    assert len(after) % 10240 == 0


def test_last_of_several_entries_with_one_name_wins(ctx: CallContext) -> None:
    path = ctx.cwd / "a.tar"
    with tarfile.open(path, "w") as tar:
        for data in (b"one", b"two", b"three"):
            info = tarfile.TarInfo("x")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    assert entry(ctx, "a.tar:x").data == b"three"
    put(ctx, "a.tar:x", b"four")
    with tarfile.open(path) as tar:
        assert len(tar.getmembers()) == 1
    assert unpacked(path) == {"x": b"four"}


def test_multi_member_gzip_is_one_archive(ctx: CallContext) -> None:
    plain = pack(ctx.cwd / "a.tar", FILES).read_bytes()
    (ctx.cwd / "b.tgz").write_bytes(gzip.compress(plain[:700]) + gzip.compress(plain[700:]) + bytes(100))
    assert entry(ctx, "b.tgz:src/main.py").data == b"print(1)\n"


@pytest.mark.skipif(not shutil.which("zip") or not shutil.which("unzip"), reason="zip is not installed")
def test_zip_program_agrees(ctx: CallContext) -> None:
    (ctx.cwd / "run.sh").write_bytes(b"#!/bin/sh\n")
    (ctx.cwd / "run.sh").chmod(0o755)
    (ctx.cwd / "link").symlink_to("run.sh")
    subprocess.run(["zip", "-qry", "a.zip", "run.sh", "link"], cwd=ctx.cwd, check=True)
    assert listing(ctx, "a.zip").rows == ["link (symbolic link)", "run.sh (10 bytes)"]
    with pytest.raises(ToolError, match="not followed"):
        look(ctx, "a.zip:link")
    put(ctx, "a.zip:run.sh", b"#!/bin/sh\necho new\n")
    put(ctx, "a.zip:docs/new.txt", b"text")
    subprocess.run(["unzip", "-tqq", "a.zip"], cwd=ctx.cwd, check=True)
    subprocess.run(["unzip", "-qq", "a.zip", "-d", "out"], cwd=ctx.cwd, check=True)
    assert (ctx.cwd / "out/run.sh").read_bytes() == b"#!/bin/sh\necho new\n"
    assert stat.S_IMODE((ctx.cwd / "out/run.sh").stat().st_mode) == 0o755
    assert (ctx.cwd / "out/link").is_symlink()


@pytest.mark.skipif(not shutil.which("tar"), reason="tar is not installed")
def test_tar_program_agrees(ctx: CallContext) -> None:
    (ctx.cwd / "d").mkdir()
    (ctx.cwd / "d/f").write_bytes(b"content")
    os.link(ctx.cwd / "d/f", ctx.cwd / "d/hard")
    (ctx.cwd / "d/soft").symlink_to("/etc/passwd")
    os.mkfifo(ctx.cwd / "d/pipe")
    subprocess.run(["tar", "czf", "a.tar.gz", "d"], cwd=ctx.cwd, check=True)
    rows = listing(ctx, "a.tar.gz:d").rows
    assert "soft -> /etc/passwd (symbolic link)" in rows and "pipe (device)" in rows
    assert sum(row.endswith("(hard link)") for row in rows) == 1
    for name in ("soft", "pipe"):
        with pytest.raises(ToolError):
            look(ctx, f"a.tar.gz:d/{name}")
        with pytest.raises(ToolError, match="link or a device"):
            put(ctx, f"a.tar.gz:d/{name}", b"x")
    put(ctx, "a.tar.gz:d/g", b"more")
    listed = subprocess.run(["tar", "tzf", "a.tar.gz"], cwd=ctx.cwd, check=True, capture_output=True)
    assert listed.stdout.split()[-1] == b"d/g" and not listed.stderr


@pytest.mark.parametrize(
    ("inner", "message"),
    [
        ("", "Name a file inside"),
        ("src/", "is a directory"),
        ("src", "is a directory in the archive"),
        ("README.md/x", "is not a directory"),
        ("../x", r"'\.\.'"),
        ("/x", "relative"),
        ("C:x", "relative"),
    ],
)
def test_invalid_writes_are_refused(ctx: CallContext, inner: str, message: str) -> None:
    path = pack(ctx.cwd / "a.zip", FILES)
    before = path.read_bytes()
    with pytest.raises(ToolError, match=message):
        put(ctx, f"a.zip:{inner}", b"x")
    assert path.read_bytes() == before


def test_archive_changed_meanwhile_is_not_overwritten(ctx: CallContext) -> None:
    path = pack(ctx.cwd / "a.zip", FILES)

    async def main() -> None:
        found = await archive.locate(locate_for_write("a.zip:x", ctx.cwd), ctx.cwd, ctx.fs)
        pack(path, {"other": b"somebody was faster"})
        await archive.write(found, b"x", ctx.fs)

    with pytest.raises(ToolError, match="changed on disk"):
        asyncio.run(main())
    assert unpacked(path) == {"other": b"somebody was faster"}


@pytest.mark.parametrize("name", FORMATS)
def test_escaping_entries_are_skipped_with_a_note(ctx: CallContext, name: str) -> None:
    pack(ctx.cwd / name, {"../../evil": b"x", "/etc/cron": b"y", "C:/w": b"", "good": b"z"})
    shown = listing(ctx, name)
    assert shown.rows == ["good (1 byte)"]
    assert "3 entries with names that lead out of the archive: ../../evil, /etc/cron, C:/w" in shown.text
    with pytest.raises(ToolError):
        look(ctx, f"{name}:../../evil")


def bomb(name: str, path: Path, size: int = 48 << 20) -> None:
    if name == "a.zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped, zipped.open("bomb", "w") as stream:
            for _ in range(size >> 20):
                stream.write(bytes(1 << 20))
    else:
        info = tarfile.TarInfo("bomb")
        info.size = size
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        pieces = [packer.compress(info.tobuf())] + [
            packer.compress(bytes(1 << 20)) for _ in range(size >> 20)
        ]
        path.write_bytes(b"".join(pieces) + packer.flush())


@pytest.mark.parametrize("name", ["a.zip", "a.tgz"])
def test_bomb_is_refused_with_flat_memory(ctx: CallContext, name: str) -> None:
    bomb(name, ctx.cwd / name)
    tracemalloc.start()
    try:
        with pytest.raises(ToolError, match="more than 200 times its packed size"):
            look(ctx, f"{name}:bomb")
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_zip_entry_with_a_false_size_is_refused(ctx: CallContext) -> None:
    path = ctx.cwd / "a.zip"
    bomb("a.zip", path, 4 << 20)
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\1\2")
    struct.pack_into("<L", data, at + 24, 10)
    path.write_bytes(data)
    with pytest.raises(ToolError, match="damaged"):
        look(ctx, "a.zip:bomb")


def test_large_entries_and_totals_are_refused(ctx: CallContext) -> None:
    noise = os.urandom(3000)
    pack(ctx.cwd / "a.zip", {"x": noise})
    pack(ctx.cwd / "a.tgz", {"x": noise})
    for name in ("a.zip", "a.tgz"):
        with pytest.raises(ToolError, match=r"has 2\.9 KiB, read takes at most 1000 bytes"):
            look(ctx, f"{name}:x", ArchiveLimits(entry_bytes=1000))
        with pytest.raises(ToolError, match="archives may have 100 bytes"):
            look(ctx, name, ArchiveLimits(archive_bytes=100))
    with pytest.raises(ToolError, match="unpacks to more than 1000 bytes"):
        look(ctx, "a.tgz", ArchiveLimits(unpacked_bytes=1000))


@pytest.mark.parametrize("name", FORMATS)
def test_too_many_entries_are_refused(ctx: CallContext, name: str) -> None:
    pack(ctx.cwd / name, {f"f{number}": b"" for number in range(60)})
    assert isinstance(look(ctx, name, ArchiveLimits(entries=60)), ArchiveListing)
    with pytest.raises(ToolError, match="more than 59 entries"):
        look(ctx, name, ArchiveLimits(entries=59))


def test_encrypted_entries_are_listed_but_unreadable_and_survive_a_write(ctx: CallContext) -> None:
    path = pack(ctx.cwd / "a.zip", {"secret": b"x" * 50, "open": b"y"})
    data = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        data[data.index(mark) + offset] |= 1
    path.write_bytes(data)
    assert listing(ctx, "a.zip").rows == ["open (1 byte)", "secret (50 bytes, encrypted)"]
    with pytest.raises(ToolError, match="encrypted"):
        look(ctx, "a.zip:secret")
    with pytest.raises(ToolError, match="encrypted"):
        put(ctx, "a.zip:secret", b"")
    put(ctx, "a.zip:open", b"changed")
    assert listing(ctx, "a.zip").rows == ["open (7 bytes)", "secret (50 bytes, encrypted)"]


def test_entries_that_share_their_data_cannot_be_rewritten(ctx: CallContext) -> None:
    path = pack(ctx.cwd / "a.zip", {"one": b"x" * 50, "two": b"x" * 50})
    data = bytearray(path.read_bytes())
    second = data.rindex(b"PK\1\2")
    struct.pack_into("<L", data, second + 42, 0)
    path.write_bytes(data)
    with pytest.raises(ToolError, match="share their data"):
        put(ctx, "a.zip:three", b"")
    assert path.read_bytes() == data


def test_huge_tar_header_and_chain_of_headers_are_refused(ctx: CallContext) -> None:
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, 200 << 20
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    data = (
        packer.compress(header.tobuf(tarfile.USTAR_FORMAT)) + packer.compress(bytes(4 << 20)) + packer.flush()
    )
    (ctx.cwd / "a.tgz").write_bytes(data)
    with pytest.raises(ToolError, match="header that is larger"):
        look(ctx, "a.tgz")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 0
    (ctx.cwd / "b.tar").write_bytes(header.tobuf(tarfile.USTAR_FORMAT) * 5000)
    with pytest.raises(ToolError, match="damaged"):
        look(ctx, "b.tar")


def test_tar_broken_in_the_middle_is_reported(ctx: CallContext) -> None:
    path = pack(ctx.cwd / "a.tar", FILES)
    data = bytearray(path.read_bytes())
    data[1024 + 148 : 1024 + 156] = b"garbage!"
    path.write_bytes(data)
    assert "damaged after the last of these entries" in listing(ctx, "a.tar").text
    with pytest.raises(ToolError, match="damaged after its last entry"):
        put(ctx, "a.tar:x", b"")


@pytest.mark.parametrize("name", FORMATS)
def test_invalid_archive_is_a_one_line_error(ctx: CallContext, name: str) -> None:
    whole = pack(ctx.cwd / name, FILES).read_bytes()
    for data in (b"", b"just some text\n", os.urandom(4000), whole[: min(len(whole) // 3, 2000)]):
        (ctx.cwd / name).write_bytes(data)
        with pytest.raises(ToolError) as caught:
            look(ctx, f"{name}:src/deep/x.bin")
        assert "\n" not in str(caught.value)


def test_pipe_named_like_an_archive_is_not_opened(ctx: CallContext) -> None:
    os.mkfifo(ctx.cwd / "a.zip")
    with pytest.raises(ToolError, match="pipe"):
        look(ctx, "a.zip")


@given(st.binary(max_size=300), st.integers(0, 2000), st.sampled_from(FORMATS))
def test_damaged_archive_gives_a_result_or_an_error(noise: bytes, where: int, name: str) -> None:
    buffer = io.BytesIO()
    if name.endswith("zip"):
        with zipfile.ZipFile(buffer, "w") as zipped:
            zipped.writestr("src/x.txt", b"content" * 20)
    else:
        with tarfile.open(fileobj=buffer, mode="w" if name.endswith(".tar") else "w:gz") as tar:
            info = tarfile.TarInfo("src/x.txt")
            info.size = 140
            tar.addfile(info, io.BytesIO(b"content" * 20))
    data = buffer.getvalue()
    where %= len(data)
    broken = data[:where] + noise + data[where + len(noise) :]
    for inner in ("", "src/x.txt"):
        try:
            result = archive.look(broken, name, inner, ArchiveLimits(), StopSignal())
        except ToolError:
            continue
        assert isinstance(result, ArchiveListing | ArchiveEntry)


@given(
    st.dictionaries(st.text("abc", min_size=1, max_size=3), st.binary(max_size=40), max_size=6),
    st.text("abc", min_size=1, max_size=3),
    st.binary(max_size=40),
    st.sampled_from(FORMATS),
)
def test_written_entries_round_trip(files: dict[str, bytes], path: str, content: bytes, name: str) -> None:
    data: bytes | None = None
    for key, value in {**files, path: content}.items():
        data, _ = archive.put(data, name, key, value, ArchiveLimits(), StopSignal())
    assert data is not None
    changed, _ = archive.put(data, name, path, content + b"!", ArchiveLimits(), StopSignal())
    index = archive.entries_of(changed, name, ArchiveLimits(), StopSignal())
    out = {
        key: archive.content_of(changed, name, entry, ArchiveLimits(), StopSignal())
        for key, entry in index.entries.items()
    }
    assert out == {**files, path: content + b"!"}


def test_cancelled_read_stops_its_thread() -> None:
    ended = []

    def work(stop: StopSignal) -> None:
        try:
            while True:
                stop.check()
        except ThreadStopped:
            ended.append(True)
            raise

    async def main() -> None:
        async with asyncio.timeout(0.05):
            await in_thread(work)

    with pytest.raises(TimeoutError):
        asyncio.run(main())
    assert ended == [True]
