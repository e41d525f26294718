"""The promise of every mode: bytes outside the edit stay, in every encoding and with all line endings."""

import asyncio
import codecs
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.base.errors import ToolError
from tau.coding.edits import apply_patch, unified
from tau.coding.edits.multi_file_patch import apply_patch as apply_sections
from tau.coding.edits.replace import Replacement, replace_text
from tau.coding.tools.edit_hashline import HashlineEdit
from tau.coding.tools.read import Read
from tests.coding.context import CallContext, call_context, call_now, text_of

Mode = Callable[[CallContext, list[str], int, list[str]], None]

ENCODINGS = {
    "utf-8": (b"", "utf-8"),
    "utf-8 with mark": (codecs.BOM_UTF8, "utf-8"),
    "utf-16-le with mark": (codecs.BOM_UTF16_LE, "utf-16-le"),
    "utf-16-be with mark": (codecs.BOM_UTF16_BE, "utf-16-be"),
    "cp1252": (b"", "cp1252"),
    "gbk": (b"", "gbk"),
    "invalid": (b"\xff\xfe\xfd\xfc\x81\n", "utf-8"),
}
LOSSLESS = {"utf-8", "utf-8 with mark", "utf-16-le with mark", "utf-16-be with mark"}
ENDS = {
    "lf": ("\n",),
    "crlf": ("\r\n",),
    "mixed": ("\r\n", "\n", "\n", "\r\n"),
    "bare cr": ("\r",),
}
WORDS = ["alpha beta", "  gamma(1)", "delta", "é and ü", "", "x = 1"]


def by_replacement(ctx: CallContext, lines: list[str], at: int, new: list[str]) -> None:
    old = "\n".join(lines[max(at - 1, 0) : at + 2])
    changed = "\n".join([*lines[max(at - 1, 0) : at], *new, *lines[at + 1 : at + 2]])
    asyncio.run(replace_text(ctx.cwd / "f", Replacement(old, changed), ctx))


def by_envelope(ctx: CallContext, lines: list[str], at: int, new: list[str]) -> None:
    hunk = rows(lines, at, new)
    text = f"*** Begin Patch\n*** Update File: f\n@@\n{hunk}*** End Patch"
    asyncio.run(apply_sections(apply_patch.parse(text, ctx.cwd), ctx))


def by_diff(ctx: CallContext, lines: list[str], at: int, new: list[str]) -> None:
    hunk = rows(lines, at, new)
    start, count = max(at - 2, 0), len(lines[max(at - 2, 0) : at + 3])
    header = f"@@ -{start + 1},{count} +{start + 1},{count - 1 + len(new)} @@"
    text = f"--- a/f\n+++ b/f\n{header}\n{hunk}"
    asyncio.run(apply_sections(unified.parse(text, ctx.cwd), ctx))


def by_number(ctx: CallContext, lines: list[str], at: int, new: list[str]) -> None:
    """Like a model: read the file, repeat the header, address the line by number."""
    header, *shown = text_of(call_now(Read(), ctx, path="f")).split("\n")
    if not header.startswith("¶"):  # uneditable files have none: try anyway
        header, shown = "¶f#0000", [header, *shown]
    number = next((row.partition(":")[0] for row in shown if row.partition(":")[2] == lines[at]), None)
    if number is None:
        raise ToolError("A model cannot name a line that it does not see.")
    body = "".join(f"+{line}\n" for line in new)
    call_now(HashlineEdit(), ctx, input=f"{header}\nreplace {number}..{number}:\n{body}")


def rows(lines: list[str], at: int, new: list[str]) -> str:
    before, after = lines[max(at - 2, 0) : at], lines[at + 1 : at + 3]
    kept = [f" {line}\n" for line in before], [f" {line}\n" for line in after]
    return "".join([*kept[0], f"-{lines[at]}\n", *[f"+{line}\n" for line in new], *kept[1]])


MODES: dict[str, Mode] = {
    "hashline": by_number,
    "replace": by_replacement,
    "apply_patch": by_envelope,
    "patch": by_diff,
}


def check(folder: Path, mode: str, encoding: str, ends: str, *, seed: int, ended: bool) -> None:
    """Replace one line of a random file; all other bytes must be unchanged, or the whole file."""
    chance = random.Random(seed)
    mark, codec = ENCODINGS[encoding]
    count = chance.randint(1, 9)
    lines = [chance.choice(WORDS).replace("é", "中" if codec == "gbk" else "é") for _ in range(count)]
    at = chance.randrange(count)
    lines[at] = "the one line that changes"
    endings = [ENDS[ends][index % len(ENDS[ends])] for index in range(count)]
    if not ended:
        endings[-1] = ""
        lines[-1] = lines[-1] or "last"
    whole = [(line + end).encode(codec, "replace") for line, end in zip(lines, endings, strict=True)]
    data = mark + b"".join(whole)
    path = folder / "f"
    path.write_bytes(data)
    new = chance.choice([["changed"], ["changed", "and more"], ["changed", "", "three"]])
    with call_context(folder) as ctx:
        try:
            MODES[mode](ctx, lines, at, new)
        except ToolError:
            assert path.read_bytes() == data
            if encoding in LOSSLESS:
                raise
            return
    result = path.read_bytes()
    head, tail = mark + b"".join(whole[:at]), b"".join(whole[at + 1 :])
    assert result.startswith(head)
    assert result.endswith(tail)
    middle = result[len(head) : len(result) - len(tail)].decode(codec)
    if ends == "mixed":  # a new line may end like its upper or lower neighbor
        assert middle.replace("\r\n", "\n") == "\n".join(new) + endings[at].replace("\r\n", "\n")
        assert middle.endswith(new[-1] + endings[at])
        return
    usual = ENDS[ends][0] if count > 1 or ended else "\n"
    assert middle == usual.join(new) + endings[at]


@pytest.mark.parametrize("ended", [True, False], ids=["", "no final newline"])
@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("mode", MODES)
def test_bytes_outside_the_edit_are_kept_or_the_file_is_untouched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, encoding: str, ends: str, ended: bool
) -> None:
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    for seed in range(2):
        check(tmp_path, mode, encoding, ends, seed=seed, ended=ended)


@pytest.mark.soak
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("mode", MODES)
def test_bytes_outside_the_edit_are_kept_in_many_files(tmp_path: Path, mode: str, encoding: str) -> None:
    for seed in range(300):
        for ends in ENDS:
            check(tmp_path, mode, encoding, ends, seed=seed, ended=bool(seed % 2))


TEXTS = st.text(alphabet=st.sampled_from("ab é→😀\t\n\n\r"), max_size=60)


@given(TEXTS, TEXTS, st.sampled_from(sorted(LOSSLESS)), st.sampled_from(sorted(MODES)))
def test_bytes_around_a_line_are_kept_for_any_text(head: str, tail: str, encoding: str, mode: str) -> None:
    """Carriage returns occur anywhere; the changed line is delimited by the plainest of rules."""
    mark, codec = ENCODINGS[encoding]
    head = head + "\n" if head else ""
    before, after = mark + head.encode(codec), ("\n" + tail).encode(codec)
    folder = Path(os.environ["HOME"])
    (folder / "f").write_bytes(before + "the one line that changes".encode(codec) + after)
    with call_context(folder) as ctx:
        MODES[mode](ctx, ["the one line that changes"], 0, ["changed"])
    assert (folder / "f").read_bytes() == before + "changed".encode(codec) + after


@pytest.mark.parametrize("mode", MODES)
def test_edit_was_refused_because_of_a_distant_byte_that_is_not_utf_8(tmp_path: Path, mode: str) -> None:
    rest = b"fine\n" * 998 + b"caf\xe9 \xff\n"
    (tmp_path / "f").write_bytes(b"the one line\n" + rest)
    with call_context(tmp_path) as ctx:
        for added in ("caf\u00e9", "caf\ufffd"):
            with pytest.raises(ToolError, match=r"it is not UTF-8, so only ASCII text can be added"):
                MODES[mode](ctx, ["the one line"], 0, [added])
        MODES[mode](ctx, ["the one line"], 0, ["new"])
    assert (tmp_path / "f").read_bytes() == b"new\n" + rest


def test_unencodable_character_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"the one line\n")
    with call_context(tmp_path) as ctx:
        for mode in MODES.values():
            with pytest.raises(ToolError, match="cannot encode"):
                mode(ctx, ["the one line"], 0, ["\ud800"])
    assert (tmp_path / "f").read_bytes() == b"the one line\n"
