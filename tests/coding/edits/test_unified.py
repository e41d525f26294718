"""Unified diffs: those of git and diff apply as with git and patch; those of models are repaired."""

import asyncio
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.base.errors import ToolError
from tau.coding.edits import unified
from tau.coding.edits.change import summary
from tau.coding.edits.multi_file_patch import apply_patch
from tau.coding.edits.transaction import WrittenChange
from tests.coding.context import CallContext, call_context

GIT = [
    "git",
    "-c",
    "core.autocrlf=false",
    "-c",
    "core.safecrlf=false",
    "-c",
    "user.name=x",
    "-c",
    "user.email=x@y",
]


def patch(ctx: CallContext, text: str) -> list[WrittenChange]:
    return asyncio.run(apply_patch(unified.parse(text, ctx.cwd), ctx))


def run(*command: str, cwd: Path, accept: tuple[int, ...] = (0,)) -> bytes:
    done = subprocess.run(command, cwd=cwd, capture_output=True, stdin=subprocess.DEVNULL)
    assert done.returncode in accept, done.stderr.decode()
    return done.stdout


def tree(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.parts
    }


def random_text(chance: random.Random, lines: int) -> str:
    """Small vocabulary, all kinds of line endings, lines that look like diff syntax."""
    words = ["a", "b", "", " c", "-- x", "++ y", "@@ -1 +1 @@", "\\ No", "é→", "d\rd", "--- a/x", "+++ b/x"]
    ends = chance.choice([["\n"], ["\n"], ["\r\n"], ["\n", "\r\n"], ["\r"]])
    text = "".join(chance.choice(words) + chance.choice(ends) for _ in range(lines))
    return text.rstrip("\r\n") if chance.random() < 0.3 else text


def edited(chance: random.Random, text: str) -> str:
    lines = text.split("\n")
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(lines))
        match chance.randrange(4):
            case 0:
                lines[at] = chance.choice(["NEW", "", "NEW\r", "-- z"])
            case 1:
                lines.insert(at, chance.choice(["IN", "IN\r", "++ q"]))
            case 2:
                del lines[at : at + chance.randint(1, 3)]
                lines = lines or [""]
            case _:
                lines[at] = lines[at].removesuffix("\r")
    result = "\n".join(lines)
    return result + "\n" if chance.random() < 0.1 else result


def lay_out(
    folder: Path, seed: int, count: int, *, plain: bool = False
) -> tuple[dict[str, str], dict[str, str]]:
    """Files before and after: changed, new, deleted and moved; `plain` ones have no carriage return."""
    chance = random.Random(seed)
    old: dict[str, str] = {}
    new: dict[str, str] = {}
    for number in range(count):
        name = f"d{number % 3}/f{number}{' é' if number % 7 == 0 else ''}.txt"
        text = random_text(chance, chance.choice([0, 1, 3, 12, 40]))
        kind = chance.random()
        if kind < 0.08:
            new[name] = text
            continue
        old[name] = text
        if kind < 0.16:
            continue
        moved = f"moved/f{number}.txt" if kind < 0.24 and len(text) > 30 else name
        new[moved] = text if kind < 0.2 else edited(chance, text)
    if plain:
        old, new = ({name: text.replace("\r", "") for name, text in files.items()} for files in (old, new))
    for name, text in old.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    return old, new


def replace_tree(folder: Path, old: dict[str, str], new: dict[str, str]) -> None:
    for name in old:
        (folder / name).unlink()
    for name, text in new.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())


@pytest.mark.parametrize(
    ("seed", "options"),
    [
        (1, []),
        (2, ["-U0"]),
        (3, ["-M"]),
        (4, ["-U1", "--patience"]),
        (5, ["-M", "-C", "--find-copies-harder"]),
    ],
)
def test_a_git_diff_gives_what_git_apply_gives(tmp_path: Path, seed: int, options: list[str]) -> None:
    source, target, checked = tmp_path / "source", tmp_path / "target", tmp_path / "checked"
    source.mkdir()
    # Without context nothing says whether a plain newline is meant: new lines end like their neighbors.
    old, new = lay_out(source, seed, 120, plain="-U0" in options)
    shutil.copytree(source, target)
    shutil.copytree(source, checked)
    run(*GIT, "init", "-q", cwd=source)
    run(*GIT, "add", "-A", cwd=source)
    run(*GIT, "commit", "-qm", "x", cwd=source)
    replace_tree(source, old, new)
    run(*GIT, "add", "-A", cwd=source)
    text = run(*GIT, "diff", "--cached", *options, cwd=source)
    (tmp_path / "p.diff").write_bytes(text)
    run(*GIT, "apply", "--unidiff-zero", "--whitespace=nowarn", "../p.diff", cwd=checked)
    with call_context(target) as ctx:
        patch(ctx, text.decode())
    assert tree(target) == tree(source)
    assert tree(checked) == tree(source)


@pytest.mark.parametrize("options", [["-u"], ["-U1"], ["-U0"]])
def test_a_diff_of_two_folders_gives_what_patch_gives(tmp_path: Path, options: list[str]) -> None:
    for name in ("a", "target", "checked"):
        (tmp_path / name).mkdir()
    _, new = lay_out(tmp_path / "a", 9, 80, plain="-U0" in options)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    replace_tree(tmp_path / "b", {str(p): "" for p in tree(tmp_path / "a")}, new)
    text = run("diff", "-rN", *options, "a", "b", cwd=tmp_path, accept=(1,))
    (tmp_path / "p.diff").write_bytes(text)
    for name in ("target", "checked"):
        shutil.copytree(tmp_path / "a", tmp_path / name, dirs_exist_ok=True)
    with call_context(tmp_path / "target") as ctx:
        patch(ctx, text.decode())
    wanted = {name: data for name, data in tree(tmp_path / "b").items() if data}
    assert {name: data for name, data in tree(tmp_path / "target").items() if data} == wanted
    if shutil.which("patch") is None:
        pytest.skip("there is no program `patch` to compare with")
    run("patch", "-p1", "--binary", "-s", "-i", "../p.diff", cwd=tmp_path / "checked")
    assert {name: data for name, data in tree(tmp_path / "checked").items() if data} == wanted


LINES = st.lists(st.sampled_from(["a", "b", "c", "", "-- x", "++ y", "d\r"]), max_size=25)


@given(LINES, LINES, st.booleans(), st.booleans())
def test_any_diff_applied_to_its_old_side_gives_the_new(
    old: list[str], new: list[str], old_ended: bool, new_ended: bool
) -> None:
    """The diff is made independently here: one hunk that shares only equal ends."""
    before, after = joined(old, old_ended), joined(new, new_ended)
    if before == after or not before:
        return
    rows = [f"-{line}" for line in kept_lines(before)] + [f"+{line}" for line in kept_lines(after)]
    header = f"@@ -1,{len(kept_lines(before))} +{bool(after):d},{len(kept_lines(after))} @@"
    text = "\n".join(["--- a/f", "+++ b/f", header, *rows]) + "\n"
    sections = unified.parse(text, Path("/")).sections
    assert applied(before, sections[0].hunks) == after


def joined(lines: list[str], ended: bool) -> str:
    text = "\n".join(lines)
    return text + "\n" if ended and text else text


def kept_lines(text: str) -> list[str]:
    """The rows of a hunk without their first character, including the missing-newline marker."""
    lines = text.split("\n")
    if lines[-1]:
        return [*lines[:-1], lines[-1] + "\n\\ No newline at end of file"]
    return lines[:-1]


def applied(text: str, hunks: object) -> str:
    from tau.coding.edits.placement import patched
    from tau.coding.edits.splices import spliced

    return spliced(text, patched(text, hunks, "f").splices)  # type: ignore[arg-type]


TEXT = "".join(f"line {number}\n" for number in range(1, 21))
HUNK = " line 4\n-line 5\n+five\n line 6\n"


def updated(ctx: CallContext, text: str, diff: str) -> tuple[str, str]:
    path = ctx.cwd / "f.txt"
    path.write_bytes(text.encode())
    written = patch(ctx, diff)
    return path.read_bytes().decode(), summary(written[0].change)


@pytest.mark.parametrize(
    ("header", "note"),
    [
        ("@@ -4,3 +4,3 @@", ""),
        ("@@ -4,3 +4,3 @@ def f():", ""),
        ("@@ -9,3 +9,3 @@", "Hunk 1 was found at line 4, 5 lines above what its header says."),
        ("@@ -3,3 +4,3 @@", "Hunk 1 was found at line 4, 1 line below what its header says."),
        ("@@ -4,2 +4,9 @@ wrong\n line 3", None),
        ("@@ -4,1 +4,1 @@", "Hunk 1 has a wrong line count in its header"),
        ("@@ @@", ""),
        ("@@ ... @@", ""),
        ("@@ line 2 @@", ""),
    ],
)
def test_wrong_line_numbers_and_counts_are_corrected_with_a_note(
    ctx: CallContext, header: str, note: str | None
) -> None:
    diff = f"--- a/f.txt\n+++ b/f.txt\n{header}\n{HUNK}"
    if note is None:
        with pytest.raises(ToolError, match="fewer lines than its header says"):
            updated(ctx, TEXT, diff)
        return
    result, report = updated(ctx, TEXT, diff)
    assert result == TEXT.replace("line 5\n", "five\n")
    assert note in report
    assert note or report == "Edited f.txt (+1 -1 lines, first at line 5)."


def test_an_offset_carries_over_to_the_hunks_that_follow(ctx: CallContext) -> None:
    text = "new\n" * 3 + "same\nx\nsame\n" * 4
    hunks = "@@ -1,3 +1,3 @@\n same\n-x\n+1\n same\n@@ -7,3 +7,3 @@\n same\n-x\n+3\n same\n"
    diff = f"--- a/f.txt\n+++ b/f.txt\n{hunks}"
    with pytest.raises(ToolError, match=r"Hunk 1 fits f\.txt 4 times, at lines 4, 7, 10, 13"):
        updated(ctx, text, diff)
    first = diff.replace("@@ -1,3 +1,3 @@\n same", "@@ -1,4 +1,4 @@\n new\n same")
    result, report = updated(ctx, text, first.replace("-1,4", "-0,4"))
    assert result.split("\n")[3:12] == ["same", "1", "same", "same", "x", "same", "same", "3", "same"]
    assert "Hunk 1 was found at line 3" in report
    assert "Hunk 2 was found" not in report


def test_count_that_is_too_large_is_corrected_except_in_the_last_hunk(ctx: CallContext) -> None:
    first = "@@ -1,9 +1,9 @@\n line 1\n-line 2\n+two\n"
    diff = f"--- a/f.txt\n+++ b/f.txt\n{first}@@ -4,3 +4,3 @@\n{HUNK}"
    result, report = updated(ctx, TEXT, diff)
    assert result == TEXT.replace("line 2\n", "two\n").replace("line 5\n", "five\n")
    assert "Hunk 1 has a wrong line count" in report
    with pytest.raises(ToolError, match="fewer lines than its header says; the patch may be truncated"):
        updated(ctx, TEXT, f"--- a/f.txt\n+++ b/f.txt\n{first}")


@pytest.mark.parametrize(
    "wrapped",
    [
        "{}",
        "```diff\n{}```",
        "patch -p1 <<'EOF'\n{}EOF\n",
        "Here is the patch:\n\n{}\n",
        "From 1234 Mon Sep 17 00:00:00 2001\nSubject: x\n\n---\n f.txt | 2 +-\n\n{}-- \n2.39.5\n",
        "diff --git a/f.txt b/f.txt\nindex 123..456 100644\n{}",
        "Index: f.txt\n=====\n{}",
    ],
)
def test_text_around_a_diff_is_ignored(ctx: CallContext, wrapped: str) -> None:
    diff = wrapped.format(f"--- a/f.txt\n+++ b/f.txt\n@@ -4,3 +4,3 @@\n{HUNK}")
    assert updated(ctx, TEXT, diff)[0] == TEXT.replace("line 5\n", "five\n")


@pytest.mark.parametrize(
    "names",
    [
        "--- a/f.txt\n+++ b/f.txt\n",
        "--- f.txt\n+++ f.txt\n",
        "--- f.txt.orig\t2024-01-01 10:00:00.000 +0000\n+++ f.txt\t2024-01-01 10:00:00.000 +0000\n",
        "--- old/f.txt\n+++ new/f.txt\n",
        '--- "a/f.txt"\n+++ "b/f.txt"\n',
        "--- i/f.txt\n+++ w/f.txt\n",
    ],
)
def test_names_work_with_and_without_a_and_b_prefixes(ctx: CallContext, names: str) -> None:
    result, _ = updated(ctx, TEXT, f"{names}@@ -4,3 +4,3 @@\n{HUNK}")
    assert result == TEXT.replace("line 5\n", "five\n")


def test_folder_that_is_really_called_a_is_found(ctx: CallContext) -> None:
    (ctx.cwd / "a").mkdir()
    (ctx.cwd / "a" / "f.txt").write_text("one\n")
    patch(ctx, "--- a/f.txt\n+++ a/f.txt\n@@ -1 +1 @@\n-one\n+two\n")
    assert (ctx.cwd / "a" / "f.txt").read_text() == "two\n"


def test_quoted_names_are_unescaped(ctx: CallContext) -> None:
    (ctx.cwd / "é \t.txt").write_text("one\n")
    patch(ctx, '--- "a/\\303\\251 \\t.txt"\n+++ "b/\\303\\251 \\t.txt"\n@@ -1 +1 @@\n-one\n+two\n')
    assert (ctx.cwd / "é \t.txt").read_text() == "two\n"


def test_new_deleted_renamed_and_mode_changed_files(ctx: CallContext) -> None:
    (ctx.cwd / "gone.txt").write_text("one\ntwo")
    (ctx.cwd / "from.sh").write_text("x\n" * 5)
    (ctx.cwd / "from.sh").chmod(0o711)
    (ctx.cwd / "mode.sh").write_text("x\n")
    written = patch(
        ctx,
        "diff --git a/new.txt b/new.txt\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/new.txt\n"
        "@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file\n"
        "diff --git a/empty b/empty\nnew file mode 100644\nindex 0000000..e69de29\n"
        "diff --git a/gone.txt b/gone.txt\ndeleted file mode 100644\n--- a/gone.txt\n+++ /dev/null\n"
        "@@ -1,2 +0,0 @@\n-one\n-two\n\\ No newline at end of file\n"
        "diff --git a/from.sh b/to/to.sh\nsimilarity index 100%\nrename from from.sh\nrename to to/to.sh\n"
        "diff --git a/mode.sh b/mode.sh\nold mode 100644\nnew mode 100755\n",
    )
    assert tree(ctx.cwd) == {"new.txt": b"one\ntwo", "empty": b"", "to/to.sh": b"x\n" * 5, "mode.sh": b"x\n"}
    assert (ctx.cwd / "to" / "to.sh").stat().st_mode & 0o777 == 0o711
    assert [one.change.kind for one in written] == ["create", "create", "delete", "move"]


def test_ignored_mode_change_is_reported(ctx: CallContext) -> None:
    (ctx.cwd / "f.txt").write_text("one\n")
    head = "diff --git a/f.txt b/f.txt\nold mode 100644\nnew mode 100755\n"
    [written] = patch(ctx, head + "--- a/f.txt\n+++ b/f.txt\n@@ -1 +1 @@\n-one\n+two\n")
    assert "The mode of f.txt was not changed to 100755; use chmod in bash." in written.change.notes
    with pytest.raises(ToolError, match="was not changed to 100755"):
        patch(ctx, head)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Not a unified diff"),
        ("words\n", "Not a unified diff"),
        ("@@ -1 +1 @@\n-one\n+two\n", "comes before any `--- a/path`"),
        ("--- a/f.txt\n+++ b/f.txt\n", "f.txt has no hunks in the patch, which may be truncated"),
        ("--- a/f.txt\n+++ b/f.txt\n@@ -1 +1 @@\n", "fewer lines than its header says"),
        ("--- a/f.txt\n+++ b/f.txt\n@@ @@\n", "has no lines; the patch may be truncated"),
        ("--- a/f.txt\n+++ b/f.txt\n-one\n+two\n", "is outside a hunk"),
        ("--- a/f.txt\n+++ b/f.txt\n@@ -1,2 +1,2 @@\n-one\nwhat\n", "must begin with ` `, `-` or `\\+`"),
        ("--- a/f.txt\n+++ b/f.txt\n@@@ -1 -1 +1 @@@\n--one\n", "merge header"),
        ("--- a/no.txt\n+++ b/no.txt\n@@ -1 +1 @@\n-one\n+two\n", "There is no file no.txt to edit"),
        ("--- /dev/null\n+++ b/f.txt\n@@ -0,0 +1 @@\n+two\n", "f.txt already exists"),
        (
            "--- /dev/null\n+++ b/new.txt\n@@ -1 +1 @@\n-one\n+two\n",
            "has lines without `\\+`",
        ),
        ("--- a/f.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", "has 1 lines that the deletion does not list"),
        ("diff --git a/f.txt b/f.txt\nindex 1..2 100644\n-one\n+two\n", "is outside a hunk"),
        ("diff --git a/f.txt b/f.txt\ndeleted file mode 100644\n", "is not empty, but the patch deletes it"),
        ("diff --git a/n b/n\nnew file mode 100644\n", "is new but has no lines"),
        ("diff --git a/n b/n\nnew file mode 120000\n", "symbolic link or a submodule"),
        ("diff --git a/f.txt b/g.txt\nrename from f.txt\nrename to g.t", "has an incomplete rename"),
        ("diff --git a/f.txt b/g\nsimilarity index 90%\nrename from f.txt\nrename to g\n", "has no hunks"),
        ("diff --git a/f.txt b/f.txt\nindex 1..2\nBinary files a/f.txt and b/f.txt differ\n", "binary file"),
        ("diff --git a/f.txt b/f.txt\nindex 1..2\nGIT binary patch\nliteral 3\n", "binary file"),
        ("--- a/f.txt\n+++ b/f.txt\n@@ -9,0 +10 @@\n+x\n", "which has 2 lines"),
        ("--- a/f.txt\n+++ b/f.txt\n@@ -1 +1 @@\n-ONE\n+two\n", "Hunk 1 does not fit f.txt"),
    ],
)
def test_unsupported_diffs_are_refused(ctx: CallContext, text: str, message: str) -> None:
    (ctx.cwd / "f.txt").write_text("one\nlast\n")
    with pytest.raises(ToolError, match=message):
        patch(ctx, text)
    assert tree(ctx.cwd) == {"f.txt": b"one\nlast\n"}


@pytest.mark.parametrize(
    ("text", "diff", "expected"),
    [
        ("one\r\ntwo\r\n", "-one\n+1\n two\n", "1\r\ntwo\r\n"),
        ("one\r\ntwo\r\n", "-one\r\n+1\r\n two\r\n", "1\r\ntwo\r\n"),
        ("one\r\ntwo\r\n", "-one\r\n+1\n two\r\n", "1\ntwo\r\n"),
        ("one\ntwo\n", "-one\r\n+1\r\n two\r\n", "1\ntwo\n"),
        ("one\rtwo\r", "-one\n+1\n two\n", "1\rtwo\r"),
        ("one\ntwo", "-one\n+1\n two\n", "1\ntwo"),
        ("one\ntwo", " one\n-two\n+2\n", "one\n2"),
        ("one\ntwo\n", " one\n-two\n+2\n\\ No newline at end of file\n", "one\n2"),
        ("one\ntwo", " one\n-two\n\\ No newline at end of file\n+2\n", "one\n2\n"),
    ],
)
def test_line_endings_follow_the_file_unless_the_diff_matches_exactly(
    ctx: CallContext, text: str, diff: str, expected: str
) -> None:
    assert updated(ctx, text, f"--- a/f.txt\n+++ b/f.txt\n@@ -1,2 +1,2 @@\n{diff}")[0] == expected


def test_diff_with_carriage_returns_applies(ctx: CallContext) -> None:
    diff = f"--- a/f.txt\n+++ b/f.txt\n@@ -4,3 +4,3 @@\n{HUNK}".replace("\n", "\r\n")
    assert updated(ctx, TEXT, diff)[0] == TEXT.replace("line 5\n", "five\n")


def test_empty_context_lines_may_lack_their_leading_space(ctx: CallContext) -> None:
    result, _ = updated(ctx, "a\n\nb\n\n", "--- a/f.txt\n+++ b/f.txt\n@@ -1,4 +1,4 @@\n a\n\n-b\n+c\n\n")
    assert result == "a\n\nc\n\n"


def test_truncated_diff_changes_nothing_or_everything(ctx: CallContext) -> None:
    new = TEXT.replace("line 5\n", "five\n").replace("line 15\n", "fifteen\n")
    second = HUNK.replace("line 4", "line 14").replace("line 5", "line 15").replace("five", "fifteen")
    second = second.replace("line 6", "line 16")
    whole = f"--- a/f.txt\n+++ b/f.txt\n@@ -4,3 +4,3 @@\n{HUNK}@@ -14,3 +14,3 @@\n{second}"
    one = f"--- a/f.txt\n+++ b/f.txt\n@@ -4,3 +4,3 @@\n{HUNK}"
    for end in range(len(whole)):
        try:
            result, _ = updated(ctx, TEXT, whole[:end])
        except ToolError:
            assert (ctx.cwd / "f.txt").read_text() == TEXT
            continue
        complete = len(one) - len(" line 6\n") < end <= len(one) + 2
        assert result == (TEXT.replace("line 5\n", "five\n") if complete else new), whole[:end]
        assert complete or end > len(whole) - len(" line 16\n")


@given(st.text(alphabet=st.sampled_from('@-+ \n\rab/,0123\\"diff gt'), max_size=200))
def test_parser_raises_only_its_own_error_on_any_text(text: str) -> None:
    for wrap in (
        text,
        f"--- a/f\n+++ b/f\n{text}",
        f"diff --git a/f b/f\n{text}",
        f'--- "{text}\n+++ b\n@@ @@\n+x',
    ):
        try:
            found = unified.parse(wrap, Path("/"))
        except ToolError:
            continue
        assert found.paths
