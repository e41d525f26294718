"""Every tool declares the files it touches, however they are named."""

import asyncio
from typing import Any

import pytest

from tau.ai.faux import Use
from tau.coding.tools.inspect_image import InspectImage, InspectImageParams
from tests.safety.effects_rig import Trap, play

# A text, and the file that it leads to: None for a refusal, "" for no file of the user.
PATHS: list[tuple[str, str | None]] = [
    ("a.txt", "ws/a.txt"),
    ("link.txt", "out/secret.txt"),
    ("chain.txt", "out/secret.txt"),
    ("hard.txt", "ws/hard.txt"),
    ("folder/secret.txt", "out/secret.txt"),
    ("folder/../home/.bashrc", "home/.bashrc"),
    ("../out/secret.txt", "out/secret.txt"),
    ("~/.bashrc", "home/.bashrc"),
    ("a.zipx:y", "out/secret.txt"),
    ("a.dbx:y", "out/secret.txt"),
    ("d.tar/x:y", "out/secret.txt"),
    ("./://../../out/secret.txt", "out/secret.txt"),
    ("1a://../../out/secret.txt", "out/secret.txt"),
    ("file://{base}/out/secret.txt", "out/secret.txt"),
    ("FILE://{base}/out/secret.txt", "out/secret.txt"),
    ("/proc/self/root{base}/out/secret.txt", "out/secret.txt"),
    ("/proc/self/cwd/secret.txt", "out/secret.txt"),
    (".git/config", "ws/.git/config"),
    ("http://../../out/secret.txt", None),
    ("HTTPS://../../out/secret.txt", None),
    ("a-b://../../out/secret.txt", ""),
    ("local://../../out/secret.txt", ""),
]


def edit_of(mode: str, path: str) -> dict[str, Any]:
    match mode:
        case "replace":
            return {"path": path, "old_text": "old text", "new_text": "new text"}
        case "apply_patch":
            lines = ("*** Begin Patch", f"*** Update File: {path}", "@@", "-old text", "+new text")
            return {"input": "\n".join((*lines, "*** End Patch"))}
        case "patch":
            lines = (f"--- {path}", f"+++ {path}", "@@ -2,1 +2,1 @@", "-old text", "+new text", "")
            return {"input": "\n".join(lines)}
    return {"input": f"¶{path}#1D50\nreplace 2..2:\n+new text\n"}


@pytest.mark.parametrize(("text", "target"), PATHS)
@pytest.mark.parametrize("mode", ["replace", "hashline"])
def test_edit_declares_what_it_changes(trap: Trap, mode: str, text: str, target: str | None) -> None:
    arguments = edit_of(mode, text.replace("{base}", str(trap.base)))
    outcome = asyncio.run(play(trap, "edit", arguments, **{"edit.mode": mode}))
    if target is None:
        assert not outcome.writes
    else:
        assert outcome.writes == outcome.reads == ({target} if target else set()), outcome.text
    assert outcome.changed <= (outcome.writes or set())
    if target and mode == "replace":
        assert outcome.changed == {target}, outcome.text


# What the formats of patches call a file is a path, never an address.
PATCHED = [(text, target) for text, target in PATHS if target and ":" not in text]


@pytest.mark.parametrize(("text", "target"), PATCHED)
@pytest.mark.parametrize("mode", ["apply_patch", "patch"])
def test_patch_declares_what_it_changes(trap: Trap, mode: str, text: str, target: str) -> None:
    arguments = edit_of(mode, text.replace("{base}", str(trap.base)))
    outcome = asyncio.run(play(trap, "edit", arguments, **{"edit.mode": mode}))
    assert outcome.writes == {target}, outcome.text
    assert outcome.changed <= {target}


@pytest.mark.parametrize(
    ("body", "targets"),
    [
        ("*** Add File: folder/new.txt\n+x", {"out/new.txt"}),
        ("*** Add File: dangling\n+x", {"out/new.txt"}),
        ("*** Delete File: link.txt", {"out/secret.txt"}),
        ("*** Delete File: folder/secret.txt", {"out/secret.txt"}),
        ("*** Update File: a.txt\n*** Move to: folder/moved.txt", {"ws/a.txt", "out/moved.txt"}),
        ("*** Update File: folder/secret.txt\n*** Move to: mine.txt", {"out/secret.txt", "ws/mine.txt"}),
        ("*** Add File: http://../../out/new.txt\n+x", {"out/new.txt"}),
    ],
)
def test_patch_that_adds_deletes_or_moves(trap: Trap, body: str, targets: set[str]) -> None:
    arguments = {"input": f"*** Begin Patch\n{body}\n*** End Patch"}
    outcome = asyncio.run(play(trap, "edit", arguments, **{"edit.mode": "apply_patch"}))
    assert outcome.writes == targets and outcome.changed <= targets
    refused = asyncio.run(play(trap, "edit", arguments, mode="workspace", **{"edit.mode": "apply_patch"}))
    assert not refused.changed


SEARCHED: list[tuple[str, set[str] | None]] = [
    ("a.txt", {"ws/a.txt"}),
    (".", {"ws"}),
    ("link.txt", {"out/secret.txt"}),
    ("folder", {"out"}),
    ("folder/*.txt", {"out"}),
    ("folder/../home/.bashrc", {"home/.bashrc"}),
    ("../out/*", {"out"}),
    ("a.txt, ../out/secret.txt", {"ws/a.txt", "out/secret.txt"}),
    ("a.txt ../out/secret.txt", {"ws/a.txt", "out/secret.txt"}),
    ('["a.txt", "link.txt"]', {"ws/a.txt", "out/secret.txt"}),
    ("./://../../out/secret.txt", {"out/secret.txt"}),
    ("a.zipx:y", {"out/secret.txt"}),
    ("d.tar/x:y", {"out/secret.txt"}),
    ("a-b://../../out", set()),
    ("http://../../out", set()),
    ("~", {"home", "home/.ssh"}),
    ("{base}", {".", "home/.ssh"}),
    ("/proc/self/root{base}/out", {"out"}),
]


@pytest.mark.parametrize(("text", "targets"), SEARCHED)
@pytest.mark.parametrize("tool", ["search", "find", "ast_grep"])
def test_search_declares_what_it_reads(trap: Trap, tool: str, text: str, targets: set[str] | None) -> None:
    arguments: dict[str, Any] = {"paths": text.replace("{base}", str(trap.base))}
    arguments |= {"search": {"pattern": "marker"}, "ast_grep": {"pat": "f($A)"}}.get(tool, {})
    outcome = asyncio.run(play(trap, tool, arguments))
    assert outcome.reads == targets, outcome.text
    assert not outcome.changed


@pytest.mark.parametrize(
    ("text", "target", "marker"),
    [
        ("x.zip:m.txt", "ws/x.zip", "ws/x.zip"),
        ("x.zip:/../../o.zip:m.txt", "o.zip", "o.zip"),
        ("a.zip:b.tar:m.txt", "out/o.tar", "out/o.tar"),
        ("link.zip:m.txt", "out/o.zip", "out/o.zip"),
        ("folder/o.zip:m.txt", "out/o.zip", "out/o.zip"),
    ],
)
def test_search_in_an_archive_reads_the_declared_one(trap: Trap, text: str, target: str, marker: str) -> None:
    outcome = asyncio.run(play(trap, "search", {"pattern": "marker", "paths": text}))
    assert outcome.reads == {target}
    assert f"marker of {marker}" in outcome.text


@pytest.mark.parametrize(("text", "target"), [*PATHS, ("p.png", "out/pic.png")])
def test_inspect_image_declares_what_it_reads(trap: Trap, text: str, target: str | None) -> None:
    params = InspectImageParams(text.replace("{base}", str(trap.base)), "?")
    tool = InspectImage(None)
    if target is None:
        with pytest.raises(Exception, match="not web addresses"):
            tool.effects(params, trap.ws)
        return
    assert {trap.short(path) for path in tool.effects(params, trap.ws).reads} == (
        {target} if target else set()
    )


CONFLICT = "<<<<<<< a\nours\n=======\ntheirs\n>>>>>>> b\n"


@pytest.mark.parametrize(
    "url", ["conflict://1", "conflict://*", "CONFLICT://1", " conflict://1 ", "conflict:///1/"]
)
def test_conflict_declares_the_file_it_is_in(trap: Trap, url: str) -> None:
    (trap.out / "secret.txt").write_text(CONFLICT)
    first = (Use("read", path="link.txt:conflicts"),)
    arguments = {"path": url, "content": "@ours"}
    refused = asyncio.run(play(trap, "write", arguments, mode="workspace", first=first))
    assert refused.writes == {"out/secret.txt"} and not refused.changed
    assert "needs the user's approval" in refused.text
    outcome = asyncio.run(play(trap, "write", arguments, first=first))
    assert outcome.writes == outcome.changed == {"out/secret.txt"}, outcome.text


def test_preview_declares_what_it_will_write(trap: Trap) -> None:
    (trap.out / "code.py").write_text("f(1)\n")
    first = (Use("ast_edit", ops=[{"pat": "f($A)", "out": "g($A)"}], paths="folder/code.py"),)
    refused = asyncio.run(play(trap, "resolve", {"action": "apply"}, mode="workspace", first=first))
    assert refused.writes == {"out/code.py"} and not refused.changed
    outcome = asyncio.run(play(trap, "resolve", {"action": "apply"}, first=first))
    assert outcome.changed == {"out/code.py"}, outcome.text
    assert outcome.declared is not None and outcome.declared.details[0][0] == "preview"
