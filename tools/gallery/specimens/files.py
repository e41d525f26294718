"""Specimens of reading and changing files."""

import struct
import zlib
from binascii import b2a_base64

from msgspec import UNSET

from tau.ai.wire import ImageContent
from tau.coding.edits.report import EditDetails, FileDetails
from tau.coding.output import DiagnosticRow, OutputMeta, Truncation
from tau.coding.tools.read import ReadDetails, SummaryDetails
from tau.coding.tools.write import WriteDetails
from tau.modes.interactive.tool_views.view import ToolCallView
from tools.gallery.specimens.case import CWD, Result, Specimen, in_all_states, one

MODULE = '''"""What an order costs."""

from dataclasses import dataclass
from decimal import Decimal

VAT = Decimal("0.19")


@dataclass(frozen=True)
class Item:
    """One line of an order."""

    name: str
    price: Decimal
    count: int = 1


def net(items: list[Item]) -> Decimal:
    return sum((item.price * item.count for item in items), Decimal())


def total(items: list[Item], discount: Decimal = Decimal()) -> Decimal:
    """With tax; the discount is taken off first."""
    before_tax = net(items) * (1 - discount)
    return (before_tax * (1 + VAT)).quantize(Decimal("0.01"))
'''
PATH = f"{CWD}/src/shop/prices.py"
LINES = MODULE.rstrip("\n").split("\n")
SHOWN = "\n".join(["¶src/shop/prices.py#A3F6", *(f"{number}:{line}" for number, line in enumerate(LINES, 1))])
PART = "\n".join(
    [
        "¶src/shop/prices.py#A3F6",
        *(f"{number}:{line}" for number, line in enumerate(LINES[8:16], 9)),
        "[Showing lines 9-16 of 25; continue with src/shop/prices.py:17-]",
    ]
)
SUMMARY = """¶src/shop/orders.py#0B11
1:import logging
2:
3:class Orders:
...
48:def load(path: Path) -> Orders:
...
97:def main() -> None:
...
[112 lines elided; read what you need, e.g. src/shop/orders.py:4-47,49-96]"""
FOLDER = """- src/ (2h)
  - shop/ (2h)
- tests/ (1d)
  - test_prices.py (3.1 KiB, 1d)
- pyproject.toml (812 bytes, 3w)
- README.md (2.2 KiB, 3w)"""
DIFF = """--- a/src/shop/prices.py
+++ b/src/shop/prices.py
@@ -20,6 +20,8 @@
\x20
\x20
 def total(items: list[Item], discount: Decimal = Decimal()) -> Decimal:
-    \"\"\"With tax; the discount is taken off first.\"\"\"
-    before_tax = net(items) * (1 - discount)
+    \"\"\"With tax; the discount, at most 1, is taken off first.\"\"\"
+    if not 0 <= discount <= 1:
+        raise ValueError(f"A discount of {discount} makes no sense.")
+    before_tax = net(items) * (1 - discount)
     return (before_tax * (1 + VAT)).quantize(Decimal("0.01"))
"""
OTHER_DIFF = """--- a/tests/test_prices.py
+++ b/tests/test_prices.py
@@ -1,2 +1,7 @@
+import pytest
+
 from shop.prices import total
\x20
+def test_a_discount_above_one_is_refused():
+    with pytest.raises(ValueError):
+        total([], discount=2)
"""
PATCH = """¶src/shop/prices.py#A3F6
replace 22..23:
+    \"\"\"With tax; the discount, at most 1, is taken off first.\"\"\"
+    if not 0 <= discount <= 1:
+        raise ValueError(f"A discount of {discount} makes no sense.")
¶tests/test_prices.py#77E0
insert head:
+import pytest
"""
OLD = '    """With tax; the discount is taken off first."""\n    before_tax = net(items) * (1 - discount)\n'
NEW = '''    """With tax; the discount, at most 1, is taken off first."""
    if not 0 <= discount <= 1:
        raise ValueError(f"A discount of {discount} makes no sense.")
    before_tax = net(items) * (1 - discount)
'''


def png(width: int, height: int) -> ImageContent:
    """Build a PNG with a color gradient."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(
        b"\0" + b"".join(bytes((x * 255 // width, 96, y * 255 // height)) for x in range(width))
        for y in range(height)
    )
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    data = b"\x89PNG\r\n\x1a\n" + b"".join(chunk(kind, piece) for kind, piece in parts)
    return ImageContent(b2a_base64(data, newline=False).decode(), "image/png")


def _whole() -> ReadDetails:
    return ReadDetails(path=PATH, kind="file", total_lines=25, first_line=1, last_line=25)


def _part() -> ReadDetails:
    truncation = Truncation(kept="head", ranges=[(9, 16)], total_lines=25, total_bytes=640, shown_bytes=190)
    meta = OutputMeta(truncation=truncation)
    return ReadDetails(path=PATH, kind="file", total_lines=25, first_line=9, last_line=16, meta=meta)


def _summary() -> ReadDetails:
    summary = SummaryDetails(lines=14, elided_spans=[(4, 47), (49, 96), (98, 118)], elided_lines=112)
    path = f"{CWD}/src/shop/orders.py"
    return ReadDetails(path=path, kind="file", total_lines=126, summary=summary)


def _group() -> Specimen:
    def view(path: str, text: str, details: ReadDetails) -> ToolCallView:
        return ToolCallView("read", {"path": path}, "done", CWD, Result(text).content, details)

    missing = Result("There is no file src/shop/taxes.py. Did you mean src/shop/prices.py?")
    views = (
        view("src/shop/prices.py", SHOWN, _whole()),
        view(f"{CWD}/src/shop/orders.py", SUMMARY, _summary()),
        ToolCallView("read", {"path": "src/shop/taxes.py"}, "failed", CWD, missing.content),
        view("src/shop/prices.py:10-13", PART, _part()),
    )
    return Specimen("read/group", "Several that follow each other.", views)


def _edited(*, several: bool) -> EditDetails:
    first = FileDetails(path=PATH, op="update", diff=DIFF, first_changed_line=22, added=4, removed=2)
    path = f"{CWD}/tests/test_prices.py"
    second = FileDetails(path=path, op="update", diff=OTHER_DIFF, first_changed_line=1, added=5, removed=0)
    return EditDetails(
        path=PATH,
        op="update",
        diff=DIFF + OTHER_DIFF if several else DIFF,
        first_changed_line=22,
        added=9 if several else 4,
        removed=2,
        warnings=["The last hunk had no effect: these lines were there already."] if several else [],
        per_file_results=[first, second] if several else UNSET,
    )


def _created(*, broken: bool = False) -> WriteDetails:
    return WriteDetails(
        path=PATH, bytes=len(MODULE), lines=25, created=True, diagnostics=DIAGNOSTICS if broken else UNSET
    )


def _replaced() -> WriteDetails:
    return WriteDetails(
        path=PATH, bytes=len(MODULE) + 90, lines=27, created=False, diff=DIFF, added=4, removed=2
    )


DIAGNOSTICS = [
    DiagnosticRow(
        path=PATH, line=21, column=12, level="error", message='"items" is not defined', is_new=True
    ),
    DiagnosticRow(
        path="src/shop/prices.py",
        line=24,
        column=5,
        level="warning",
        message="Unreachable code",
        tag="ruff F",
    ),
    *(
        DiagnosticRow(path="src/shop/orders.py", line=line, column=1, level="error", message="Wrong argument")
        for line in range(40, 45)
    ),
]
READS = [
    *in_all_states(
        "read",
        {"path": f"{PATH}:10-13"},
        streaming={"path": "src/shop/pri"},
        done=Result(PART, _part(), 3),
        failed=Result("There is no file src/shop/price.py. Did you mean src/shop/prices.py?"),
    ),
    one(
        "read",
        "whole",
        "A file from its first line to its last.",
        "done",
        {"path": PATH},
        Result(SHOWN, _whole(), 2),
    ),
    one(
        "read",
        "summary",
        "A long file in brief.",
        "done",
        {"path": "src/shop/orders.py"},
        Result(SUMMARY, _summary(), 9),
    ),
    one(
        "read",
        "folder",
        "A directory.",
        "done",
        {"path": "."},
        Result(FOLDER, ReadDetails(path=str(CWD), kind="directory", is_directory=True), 5),
    ),
    one(
        "read",
        "picture",
        "A picture.",
        "done",
        {"path": "docs/chart.png"},
        Result(
            "[image/png, 96x48]",
            ReadDetails(path=f"{CWD}/docs/chart.png", kind="image", mime_type="image/png"),
            12,
            (png(96, 48),),
        ),
    ),
    _group(),
]
EDITS = [
    *in_all_states(
        "edit",
        {"path": "src/shop/prices.py", "old_text": OLD, "new_text": NEW},
        streaming={"path": "src/shop/prices.py", "old_text": OLD, "new_text": NEW[:130]},
        done=Result("Edited src/shop/prices.py (+4 -2 lines, first at line 22).", _edited(several=False), 6),
        failed=Result(
            "The text to replace occurs 2 times in src/shop/prices.py, at lines 22 and 40.\n"
            "Give more lines around it, or set replace_all."
        ),
    ),
    one("edit", "patch-streaming", "A patch arrives.", "streaming", {"input": PATCH[:190]}),
    one("edit", "patch-pending", "A patch is about to be applied.", "pending", {"input": PATCH}),
    one(
        "edit",
        "files",
        "Several files.",
        "done",
        {"input": PATCH},
        Result("Edited.", _edited(several=True), 8),
    ),
]
WRITES = [
    *in_all_states(
        "write",
        {"path": "src/shop/prices.py", "content": MODULE},
        streaming={"path": "src/shop/prices.py", "content": MODULE[:520]},
        done=Result("Created src/shop/prices.py (25 lines, 640 bytes).", _created(), 4),
        failed=Result(
            "src/shop/prices.py has changed on disk since you last saw it; nothing was written. "
            "Read it again first."
        ),
    ),
    one(
        "write",
        "replaced",
        "A file that was there before.",
        "done",
        {"path": PATH, "content": MODULE},
        Result("Replaced src/shop/prices.py (27 lines, 730 bytes; +4 -2 lines).", _replaced(), 4),
    ),
    one(
        "write",
        "broken",
        "With what language servers say.",
        "done",
        {"path": PATH, "content": MODULE},
        Result("Created src/shop/prices.py (25 lines, 640 bytes).", _created(broken=True), 4),
    ),
    one(
        "write",
        "elsewhere",
        "An entry of an archive.",
        "done",
        {"path": "dist.zip:notes.txt", "content": "Released."},
        Result("Added notes.txt (9 bytes)."),
    ),
]
SPECIMENS = [*READS, *EDITS, *WRITES]
