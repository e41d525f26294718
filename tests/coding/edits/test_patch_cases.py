"""Golden results of many valid and broken patches."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

from tau.base.errors import ToolError
from tau.coding.edits import apply_patch, unified
from tau.coding.edits.change import summary
from tau.coding.edits.diff import unified as diff
from tau.coding.edits.multi_file_patch import MultiFilePatch
from tau.coding.edits.multi_file_patch import apply_patch as apply_sections
from tau.coding.edits.replace import Replacement, match
from tau.coding.edits.splices import spliced
from tests.coding.context import CallContext
from tests.support.golden import check, listed, read_cases

CASES, GOLDEN = Path(__file__).parent / "cases", Path(__file__).parent / "golden"
SHOP = (CASES / "shop.py.txt").read_text()
Parse = Callable[[str, Path], MultiFilePatch]
HUNK = "@@ -4,1 +4,1 @@\n-LIMIT = 10\n+LIMIT = 5\n"


def outcome(ctx: CallContext, parse: Parse, patch: str, text: str = SHOP, **others: str) -> str:
    """The report of a patch, and how the files differ afterwards."""
    shutil.rmtree(ctx.cwd)
    before = {
        "shop.py": text,
        **{name.replace("__", "/").replace("_", "."): old for name, old in others.items()},
    }
    for name, content in before.items():
        (ctx.cwd / name).parent.mkdir(parents=True, exist_ok=True)
        (ctx.cwd / name).write_bytes(content.encode())
    try:
        parsed = parse(patch, ctx.cwd)
        written = asyncio.run(apply_sections(parsed, ctx))
    except ToolError as error:
        assert tree(ctx.cwd) == before
        return f"refused: {error}"
    report = [*parsed.notes, *(summary(one.change) for one in written)]
    after = tree(ctx.cwd)
    names = sorted(name for name in before | after if before.get(name) != after.get(name))
    changed = [diff(before.get(name, ""), after.get(name, ""), name).text or f"{name}\n" for name in names]
    return "\n".join([*report, *changed]).replace("\r", "<CR>")


def tree(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes().decode() for path in files}


def test_single_file_envelopes(ctx: CallContext) -> None:
    def run(hunks: str) -> str:
        return outcome(
            ctx, apply_patch.parse, f"*** Begin Patch\n*** Update File: shop.py\n{hunks}*** End Patch\n"
        )

    check(
        GOLDEN / "envelopes.txt",
        listed((name, run(hunks)) for name, hunks in read_cases(CASES / "envelopes.txt").items()),
    )


def test_envelopes_for_a_file_with_other_line_endings(ctx: CallContext) -> None:
    def run(hunks: str) -> str:
        patch = f"*** Begin Patch\n*** Update File: shop.py\n{hunks}*** End Patch\n"
        return outcome(ctx, apply_patch.parse, patch, SHOP.rstrip().replace("\n", "\r\n"))

    cases = read_cases(CASES / "envelopes.txt")
    wanted = [name for name in cases if name.startswith(("one", "new", "two", "blank", "the"))]
    check(GOLDEN / "envelopes_crlf.txt", listed((name, run(cases[name])) for name in wanted))


def test_scopes_and_numbers(ctx: CallContext) -> None:
    def run(hunks: str) -> str:
        patch = f"*** Begin Patch\n*** Update File: shop.py\n{hunks}*** End Patch\n"
        return outcome(ctx, apply_patch.parse, patch, (CASES / "shop.js.txt").read_text())

    cases = read_cases(CASES / "scopes.txt")
    check(GOLDEN / "scopes.txt", listed((name, run(hunks)) for name, hunks in cases.items()))


def test_whole_patches(ctx: CallContext) -> None:
    files = {"gone_txt": "gone\n", "a__inner_txt": "inner\n", "marks_txt": "first\n-- old\nlast\n"}
    files["crlf_txt"] = "one\r\n\r\nend\r\n"
    for name, parse in (("patches", apply_patch.parse), ("whole_diffs", unified.parse)):
        cases = read_cases(CASES / f"{name}.txt")
        outcomes = [(case, outcome(ctx, parse, patch, **files)) for case, patch in cases.items()]
        check(GOLDEN / f"{name}.txt", listed(outcomes))


def test_single_file_diffs(ctx: CallContext) -> None:
    def run(hunks: str) -> str:
        return outcome(ctx, unified.parse, f"--- a/shop.py\n+++ b/shop.py\n{hunks}")

    check(
        GOLDEN / "diffs.txt",
        listed((name, run(hunks)) for name, hunks in read_cases(CASES / "diffs.txt").items()),
    )


def test_diff_headers(ctx: CallContext) -> None:
    whole = "".join(f"-{line}\n" for line in SHOP.splitlines())
    bodies = {
        "with a hunk": HUNK,
        "with new lines": "@@ -0,0 +1,1 @@\n+new\n",
        "with all lines gone": f"@@ -1,{SHOP.count(chr(10))} +0,0 @@\n{whole}",
        "without hunks": "",
    }
    cases = [
        (f"{name}, {kind}", outcome(ctx, unified.parse, head + body))
        for name, head in read_cases(CASES / "diff_heads.txt").items()
        for kind, body in bodies.items()
    ]
    check(GOLDEN / "diff_heads.txt", listed(cases))


def test_wrappings(ctx: CallContext) -> None:
    patches: dict[str, tuple[Parse, str]] = {
        "diff": (unified.parse, f"--- a/shop.py\n+++ b/shop.py\n{HUNK}"),
        "envelope": (
            apply_patch.parse,
            f"*** Begin Patch\n*** Update File: shop.py\n{HUNK}*** End Patch\n",
        ),
    }
    cases = []
    for kind, (parse, patch) in patches.items():
        for name, wrapping in read_cases(CASES / "wrappings.txt").items():
            wrapped = wrapping.replace("{}\n", patch)
            cases.append((f"{kind}, {name}", outcome(ctx, parse, wrapped)))
            cases.append((f"{kind}, {name}, CR", outcome(ctx, parse, wrapped.replace("\n", "\r\n"))))
    check(GOLDEN / "wrappings.txt", listed(cases))


def test_replacements(ctx: CallContext) -> None:
    def run(case: str) -> str:
        text, old, new = case.replace("<NBSP>", "\u00a0").replace("<TAB>", "\t").split("---\n")
        outcomes = []
        for kind, end in (("", "\n"), ("CRLF", "\r\n"), ("CR", "\r")):
            source = text.replace("<end>\n", "").replace("\n", end)
            quoted = (old.removesuffix("\n"), new.removesuffix("\n"))
            for what, (before, after) in (("", quoted), ("whole lines", (old, new))):
                try:
                    found = match(source, Replacement(before, after), "shop.py")
                except ToolError as error:
                    report = f"refused: {error}"
                else:
                    report = "\n".join([*found.notes, shown(spliced(source, found.splices))])
                outcomes.append(f"-- {kind} {what}\n{report}")
        return "\n".join(outcomes)

    cases = read_cases(CASES / "replacements.txt")
    check(GOLDEN / "replacements.txt", listed((name, run(case)) for name, case in cases.items()))


def shown(text: str) -> str:
    return text.replace("\r", "<CR>").replace("\t", "<TAB>").replace("\u00a0", "<NBSP>")
