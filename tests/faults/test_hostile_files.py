"""Hostile files through the tools themselves: a clear answer, in little memory."""

import io
import json
import os
import socket
import sqlite3
import stat
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tau.agent.tool import Tool
from tau.base.errors import ToolError
from tau.coding.files import local_fs
from tau.coding.readers.sqlite import database as sqlite_database
from tau.coding.tools.edit import Edit
from tau.coding.tools.read import Read
from tests.coding.context import call_context, call_now
from tests.coding.readers.documents.samples import excel, office

ROOT = Path(__file__).parents[2]
MIB = 1 << 20
LAUGHS = '<!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><d>&b;</d>'


class Tools:
    """Runs calls in separate processes, each with at most a gibibyte of memory."""

    def __init__(self, process: "subprocess.Popen[str]", folder: Path) -> None:
        self.folder = folder
        self.process = process

    def answer(self, tool: str, arguments: dict[str, Any], most_bytes: int) -> dict[str, Any]:
        asked = {"tool": tool, "arguments": arguments, "folder": str(self.folder)}
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert "fault" not in answer, answer
        assert answer["peak_bytes"] < most_bytes
        assert len(answer.get("text", "")) < MIB // 4
        return answer

    def text(self, tool: str, *, most_bytes: int = 64 * MIB, **arguments: Any) -> str:
        answer = self.answer(tool, arguments, most_bytes)
        assert "text" in answer, answer
        return str(answer["text"])

    def refusal(self, tool: str, *, most_bytes: int = 64 * MIB, **arguments: Any) -> str:
        """The sentence of the refusal."""
        answer = self.answer(tool, arguments, most_bytes)
        assert "error" in answer, answer
        message = str(answer["error"])
        assert message.endswith((".", "?")) and "\n" not in message
        return message


@pytest.fixture(scope="module")
def process() -> Iterator["subprocess.Popen[str]"]:
    """Has everything loaded and forks for each call, so one serves all tests."""
    with subprocess.Popen(
        [sys.executable, str(ROOT / "tests/faults/bounded.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:
        yield process
    assert process.returncode == 0


@pytest.fixture
def tools(process: "subprocess.Popen[str]", tmp_path: Path) -> Tools:
    folder = (tmp_path / "work").resolve()
    folder.mkdir()
    return Tools(process, folder)


def zipped(*members: tuple[str, bytes], mode: int = 0o100644) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return buffer.getvalue()


def test_archive_bombs(tools: Tools) -> None:
    layer = zipped(("zeros", bytes(64 * MIB - 1)))
    (tools.folder / "bomb.zip").write_bytes(layer)
    (tools.folder / "nested.zip").write_bytes(zipped(*((f"{n}.zip", layer) for n in range(20))))
    assert "like an archive bomb" in tools.refusal("read", path="bomb.zip:zeros")
    assert "like an archive bomb" in tools.refusal("search", pattern="x", paths="bomb.zip:zeros")
    assert "19.zip" in tools.text("read", path="nested.zip")
    # The content of an archive is never opened as an archive itself.
    assert "[Cannot read binary archive entry" in tools.text("read", path="nested.zip:1.zip")
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    info = tarfile.TarInfo("zeros")
    info.size = 400 * MIB
    pieces = [packer.compress(info.tobuf()), *(packer.compress(bytes(MIB)) for _ in range(100))]
    (tools.folder / "bomb.tgz").write_bytes(b"".join(pieces) + packer.flush())
    for path in ("bomb.tgz", "bomb.tgz:zeros"):
        assert "bomb.tgz" in tools.refusal("read", path=path)


def test_archive_members_that_escape(tools: Tools) -> None:
    (tools.folder / "out.zip").write_bytes(zipped(("../x", b"1"), ("/etc/x", b"2"), ("good", b"3")))
    (tools.folder / "link.zip").write_bytes(zipped(("link", b"/etc/passwd"), mode=0o120777))
    with tarfile.open(tools.folder / "link.tar", "w") as archive:
        for name, kind, target in (
            ("sym", tarfile.SYMTYPE, "../../etc/passwd"),
            ("hard", tarfile.LNKTYPE, "/etc/passwd"),
            ("dev", tarfile.CHRTYPE, ""),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            archive.addfile(info)
    assert "2 entries with names that lead out of the archive: ../x, /etc/x" in tools.text(
        "read", path="out.zip"
    )
    assert "cannot contain '..'" in tools.refusal("read", path="out.zip:../x")
    assert "cannot contain '..'" in tools.refusal("write", path="out.zip:../x", content="y")
    assert "relative to its root" in tools.refusal("write", path="out.zip:/etc/x", content="y")
    for path in ("link.zip:link", "link.tar:sym", "link.tar:hard"):
        assert "links in archives are not followed" in tools.refusal("read", path=path)
        assert "links in archives are not followed" in tools.refusal("search", pattern="root", paths=path)
        assert "is a link or a device" in tools.refusal("write", path=path, content="y")
    assert "device" in tools.refusal("read", path="link.tar:dev")
    assert sorted(path.name for path in tools.folder.parent.iterdir()) == ["work"]


@pytest.mark.parametrize("count", [200_000, pytest.param(1_000_000, marks=pytest.mark.soak)])
def test_archives_with_very_many_members(count: int, tools: Tools) -> None:
    one = zipped(("a", b""))
    at = one.index(b"PK\1\2")
    record, end = one[at : one.index(b"PK\5\6")], one[one.index(b"PK\5\6") :]
    many = record * count
    wide = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, len(many), at) + struct.pack(
        "<4sLQL", b"PK\6\7", 0, at + len(many), 1
    )
    # One really has them, the other only claims so.
    (tools.folder / "real.zip").write_bytes(one[:at] + many + wide + end)
    (tools.folder / "claim.zip").write_bytes(one[:at] + record + wide + end)
    message = tools.refusal("read", path="real.zip", most_bytes=64 * MIB + 100 * count)
    assert "more than 100,000 entries" in message
    assert "claim.zip is damaged" in tools.refusal("read", path="claim.zip:a")
    header = tarfile.TarInfo("a").tobuf()
    (tools.folder / "real.tar").write_bytes(header * 200_000)
    message = tools.refusal("read", path="real.tar", most_bytes=320 * MIB)
    assert "more than 100,000 entries" in message


def test_archive_members_with_the_same_name(tools: Tools) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a", "first")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("a", "second")
    (tools.folder / "twice.zip").write_bytes(buffer.getvalue())
    assert "second" in tools.text("read", path="twice.zip:a")
    tools.text("write", path="twice.zip:a", content="third")
    with zipfile.ZipFile(tools.folder / "twice.zip") as archive:
        assert [archive.read(info) for info in archive.infolist()] == [b"third"]


def database(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def test_hostile_databases(tools: Tools) -> None:
    database(
        tools.folder / "a.db",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, x, y AS (hex(zeroblob(100000000))))",
        "INSERT INTO t (x) VALUES (zeroblob(60000000))",
        "CREATE TABLE log (x)",
        "CREATE TRIGGER grow AFTER INSERT ON log WHEN NEW.x < 1e9 "
        "BEGIN INSERT INTO log SELECT load_extension('/tmp/evil.so'); END",
        "CREATE VIEW evil AS SELECT load_extension('/tmp/evil.so')",
        "CREATE VIEW outside AS SELECT * FROM pragma_database_list, fsdir('/')",
    )
    most = 300 * MIB  # a cell may have 64 MiB
    assert "t (1 row" in tools.text("read", path="a.db")
    tools.answer("read", {"path": "a.db:t"}, most)
    tools.answer("read", {"path": "a.db:t:1"}, most)
    tools.answer("read", {"path": "a.db?q=SELECT x FROM t"}, most)
    assert "a.db" in tools.refusal("read", path="a.db:evil?limit=1")
    assert "a.db" in tools.refusal("read", path="a.db:outside?limit=1")
    assert "only reading is allowed" in tools.refusal("read", path="a.db?q=ATTACH '/tmp/x.db' AS x")
    assert tools.refusal("write", path="a.db:log", content="{x: 1}")
    with closing(sqlite3.connect(tools.folder / "a.db")) as connection:
        assert connection.execute("SELECT count(*) FROM log").fetchall() == [(0,)]


def test_damaged_databases(tools: Tools) -> None:
    path = tools.folder / "a.db"
    database(path, "CREATE TABLE t (x)", *(f"INSERT INTO t VALUES ('{'y' * 3000}')" for _ in range(9)))
    whole = path.read_bytes()
    for damaged in (
        whole[:100] + bytes(len(whole) - 100),
        whole[:4096] + b"\xff" * (len(whole) - 4096),
        whole[: len(whole) // 2],
        whole[:20],
    ):
        path.write_bytes(damaged)
        assert "a.db" in tools.refusal("read", path="a.db:t?limit=5")
        assert "a.db" in tools.refusal("write", path="a.db:t", content="{x: 1}")
        assert path.read_bytes() == damaged


def test_endless_view_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    defaults = sqlite_database.read.__kwdefaults__
    assert defaults == {"seconds": 5.0}
    monkeypatch.setitem(defaults, "seconds", 0.2)
    database(
        tmp_path / "a.db",
        "CREATE VIEW endless AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
        "SELECT max(i) FROM n",
    )
    with call_context(tmp_path) as ctx, pytest.raises(ToolError, match=r"ran longer than 0\.2 s"):
        call_now(Read(), ctx, path="a.db:endless?limit=1")


def pdf(*objects: bytes) -> bytes:
    """A file of these objects, the catalog first, without a table: readers must search."""
    parts = [b"%d 0 obj\n%b\nendobj\n" % (number, data) for number, data in enumerate(objects, 1)]
    return b"%PDF-1.4\n" + b"".join(parts) + b"trailer << /Root 1 0 R >>\n%%EOF\n"


CATALOG = b"<< /Type /Catalog /Pages 2 0 R >>"
PAGES = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
PAGE = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R >>"


def pdf_bomb() -> tuple[bytes, ...]:
    blanks = zlib.compress(zlib.compress(b" " * (256 * MIB), 9), 9)
    filters = b"<< /Length %d /Filter [/FlateDecode /FlateDecode] >>" % len(blanks)
    return CATALOG, PAGES, PAGE, b"%b\nstream\n%b\nendstream" % (filters, blanks)


PDFS: dict[str, Callable[[], tuple[bytes, ...]]] = {
    "recursive page tree": lambda: (CATALOG, b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 100000000 >>"),
    "huge length": lambda: (
        *(CATALOG, PAGES, PAGE),
        b"<< /Length 99999999999 >>\nstream\nBT ET\nendstream",
    ),
    "bomb": pdf_bomb,
}


@pytest.mark.parametrize("kind", PDFS)
def test_hostile_pdfs(kind: str, tools: Tools) -> None:
    pytest.importorskip("pypdfium2", reason="PDF files are read with the extra `documents`")
    (tools.folder / "a.pdf").write_bytes(pdf(*PDFS[kind]()))
    text = tools.text("read", path="a.pdf")
    assert text.startswith("[Cannot read .pdf file") or len(text) < 500


def test_hostile_office_files(tools: Tools) -> None:
    (tools.folder / "a.docx").write_bytes(office("wordprocessingml", "word/document.xml", LAUGHS))
    (tools.folder / "a.xlsx").write_bytes(excel("", {"xl/worksheets/sheet1.xml": LAUGHS}))
    (tools.folder / "b.xlsx").write_bytes(excel(f"<sheetData>{' ' * 80 * MIB}</sheetData>"))
    assert "declares entities" in tools.text("read", path="a.docx")
    assert "declares entities" in tools.text("read", path="a.xlsx")
    assert "[Cannot read .xlsx file" in tools.text("read", path="b.xlsx")
    # Such an archive or picture is not editable text either.
    assert "binary" in tools.refusal("edit", path="a.docx", old_text="ha", new_text="x")


SPECIAL = ("pipe", "socket", "/dev/zero", "/dev/stdin", "/dev/tty")


@pytest.mark.parametrize("path", SPECIAL)
def test_non_files_are_not_opened(path: str, tools: Tools) -> None:
    os.mkfifo(tools.folder / "pipe")
    with closing(socket.socket(socket.AF_UNIX)) as made:
        before = Path.cwd()
        os.chdir(tools.folder)  # a socket's name must be short
        made.bind("socket")
        os.chdir(before)
        assert "is a device, pipe or socket" in tools.refusal("read", path=path)
        assert "is a device, pipe or socket" in tools.refusal("search", pattern="x", paths=path)
        assert Path(path).name in tools.text("find", paths=[path])
        assert tools.refusal("write", path=path, content="x")
        assert "is not a file that can be edited" in tools.refusal(
            "edit", path=path, old_text="a", new_text="b"
        )
        patch = f"*** Begin Patch\n*** Delete File: {path}\n*** End Patch"
        assert tools.refusal("patch", input=patch)
        assert Path(tools.folder, path).exists() or path == "/dev/tty"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has these files")
@pytest.mark.parametrize("path", ["/proc/self/mem", "/proc/self/pagemap"])
def test_deceptive_system_files(path: str, tools: Tools) -> None:
    assert path in tools.refusal("read", path=path)
    assert tools.text("search", pattern="x", paths=path)
    assert path in tools.refusal("write", path=path, content="x")
    assert path in tools.refusal("edit", path=path, old_text="a", new_text="b")


def test_circular_links(tools: Tools) -> None:
    (tools.folder / "deep").mkdir()
    (tools.folder / "deep" / "a.txt").write_text("needle\n")
    (tools.folder / "deep" / "up").symlink_to("..")
    (tools.folder / "self").symlink_to("self")
    assert tools.text("read", path=".").count("a.txt") == 1
    assert tools.text("find", paths=["**/*.txt"]) == "# deep/\na.txt"
    assert tools.text("search", pattern="needle", paths=".").count("needle") == 1
    assert tools.text("search", pattern="needle", paths="deep/up/deep/up").count("needle") == 1
    for tool, arguments in (
        ("read", {"path": "self"}),
        ("search", {"pattern": "x", "paths": "self"}),
        ("find", {"paths": ["self"]}),
        ("write", {"path": "self", "content": "x"}),
        ("edit", {"path": "self", "old_text": "a", "new_text": "b"}),
    ):
        assert "Too many levels of symbolic links" in tools.refusal(tool, **arguments)


def full_folder(tools: Tools, count: int) -> None:
    for number in range(count):
        os.close(os.open(tools.folder / f"{number}.txt", os.O_CREAT | os.O_WRONLY))
    (tools.folder / "7.txt").write_text("needle\n")
    assert f"of {count}" in tools.text("read", path=".")
    most = 64 * MIB + 1024 * count
    assert f"of {count} matches" in tools.text("find", paths=["*.txt"], timeout=60, most_bytes=most)
    assert "needle" in tools.text("search", pattern="needle", paths=".")
    assert "There is no file none.txt" in tools.refusal("read", path="none.txt")
    assert "Created new.txt" in tools.text("write", path="new.txt", content="x\n")


def test_folder_with_very_many_files(tools: Tools) -> None:
    full_folder(tools, 12_000)


@pytest.mark.soak
def test_folder_with_a_hundred_thousand_files(tools: Tools) -> None:
    full_folder(tools, 100_000)


def test_file_that_grows_while_it_is_read(tools: Tools) -> None:
    path = tools.folder / "log.txt"
    path.write_text("first\n")
    writer = subprocess.Popen(
        ["sh", "-c", "ulimit -f 600000; exec yes 0123456789 >> log.txt"],
        cwd=tools.folder,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(8):
            assert "1:first" in tools.answer("read", {"path": "log.txt"}, 160 * MIB).get("text", "1:first")
        assert "first" in tools.text("search", pattern="first", paths="log.txt", most_bytes=160 * MIB)
        edit = {"path": "log.txt", "old_text": "first", "new_text": "1st"}
        message = tools.refusal("edit", **edit, most_bytes=400 * MIB)
        assert (
            "changed on disk" in message
            or "too large to edit" in message
            or "longer than its size says" in message
        )
    finally:
        writer.kill()
        writer.wait()
    with path.open("rb") as file:
        assert file.readline() == b"first\n"


@pytest.mark.parametrize(("tool", "verb"), [(Read(), "read"), (Edit(), "edit")])
def test_file_with_far_more_content_than_its_size_is_refused(
    tool: Tool[Any], verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, fstat = tmp_path / "a.txt", os.fstat
    path.write_text("needle\n" * 200_000)

    def claim_no_content(fd: int) -> os.stat_result:
        kind, (fields, more) = fstat(fd).__reduce__()  # type: ignore[misc]
        return kind((*fields[: stat.ST_SIZE], 0, *fields[stat.ST_SIZE + 1 :]), more)

    monkeypatch.setattr(local_fs, "MAX_MORE", 3)
    monkeypatch.setattr(os, "fstat", claim_no_content)
    arguments = {"path": "a.txt"} if verb == "read" else {"path": "a.txt", "old_text": "x", "new_text": ""}
    with call_context(tmp_path) as ctx, pytest.raises(ToolError) as caught:
        call_now(tool, ctx, **arguments)
    assert str(caught.value).startswith(f"Cannot {verb} a.txt: It is longer than its size says")


ODD_NAMES = (b"new\nline.txt", b"esc\x1b[31mred\x1b]0;title\x07.txt", b"bad\xff\xfe.txt", b"c1\xc2\x9b.txt")


def test_undecodable_names(tools: Tools) -> None:
    for name in ODD_NAMES:
        with open(os.path.join(os.fsencode(tools.folder), name), "wb") as file:  # noqa: PTH118, PTH123
            file.write(b"needle\n")
    listing = tools.text("read", path=".")
    assert len(listing.splitlines()) == len(ODD_NAMES)
    assert all(letter.isprintable() for letter in listing.replace("\n", ""))
    assert listing.encode()
    assert tools.text("find", paths=["*.txt"]).count(".txt") == len(ODD_NAMES)
    assert tools.text("search", pattern="needle", paths=".").count("needle") == len(ODD_NAMES)
    for path in map(os.fsdecode, ODD_NAMES):
        assert "needle" in tools.text("read", path=path)
        assert "Edited" in tools.text("edit", path=path, old_text="needle", new_text="pin")
        assert "Replaced" in tools.text("write", path=path, content="x\n")
    assert {os.fsencode(entry) for entry in os.listdir(tools.folder)} == set(ODD_NAMES)  # noqa: PTH208
