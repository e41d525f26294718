"""What models are told about the tools: changes here are changes of a contract."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from inline_snapshot import snapshot

from tests.contract.session_tools import HOW, tools_of_a_session


def test_prompts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = tmp_path / "node"  # what is said about JavaScript depends on it
    node.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    found = {name: spec.description for name, spec in tools_of_a_session(tmp_path).items()}
    pinned = snapshot(
        {
            "read": """\
Read a file, a directory or an image (png, jpeg, gif, webp). Text files have a header `¶PATH#TAG`, which edit
needs, and lines `N:text`: line number, colon, the exact line.
Without a selector, a long code file is summarized, bodies omitted: read the ranges you need. Otherwise you
get the first 300 lines; one call returns at most 3000 lines or 50 KiB.
Selectors after the path: `:50-100`, `:50+10` (10 lines from 50), `:50-` (to the end), `:5-9,40-60`, `:raw` (verbatim).
Also read: archives (`a.zip:inner/path`), SQLite (`a.db`, `a.db:table`, `a.db:table:key`, `a.db?q=SELECT ...`), notebooks
as cells, pdf, docx, pptx, xlsx, epub, `artifact://ID` (the full output of an earlier call), `local://PATH` (your
notes), `tau://` (tau's own documentation).\
""",
            "bash": """\
Run a command in your shell: directory, variables and functions stay for later calls. No terminal, stdin is empty,
stdout and stderr are merged. Time limit 300 s unless you set `timeout`.
Long output shows its beginning and end; read artifact://ID for all of it.
For files prefer read, edit and write. Start a server with `&` and redirect its output to a file.\
""",
            "edit": """\
Edits files by line number. `input` has one section per file: the header `¶PATH#TAG`, copied from the latest read, search, write or edit of that file, then hunks.

- `replace N..M:` replaces lines N to M with the body
- `delete N..M` deletes them; it has no body
- `insert before N:` / `insert after N:` / `insert head:` / `insert tail:`
- `replace block N:` / `delete block N` / `insert after block N:` apply to the whole construct (function, class, statement) that starts on line N: its first line, or that of its decorators; not a comment above it.

A body follows each header that ends in `:`. Its rows are `+TEXT`, with the exact indentation; `+` alone is a blank line. There are no `-` rows and no context rows: lines outside every range stay, so name only the lines that change. Write text that starts with `+` or `-` as `++…` or `+-…`.

All numbers refer to the file as shown under the tag, even in later hunks. Each line belongs to at most one hunk. All sections apply together or not at all. The result has a new tag and new numbers: use them next. If the tag is rejected, check the lines in the result before retrying.

Example, for a file shown as

¶src/app.py#0A3B
1:import os
2:
3:def main():
4:    print("hi")
5:    return

input:

¶src/app.py#0A3B
replace 4..4:
+    name = os.environ["USER"]
+    print("hello", name)
insert after 1:
+import sys\
""",
            "write": """\
Create a file or replace a whole one; to change part of a file use edit. Parent directories are
created; a new file starting with `#!` becomes executable.
Also written: archive entries (`a.zip:inner/path`), SQLite rows (`a.db:table` inserts,
`a.db:table:key` updates; `content` is a JSON object, empty deletes the row), your notes (`local://PATH`).\
""",
            "search": """\
Search file contents with a regular expression (Rust syntax, as in ripgrep; no look-around).
`paths` are files, directories, globs (`src/**/*.py`), archive members (`a.zip:src/x.py`) or internal URLs; put
`:50-100` after a single file to search only these lines. Escape literal braces: `interface\\{\\}`.
Only a pattern with `\\n` matches across lines. Hidden files are searched; ignored ones and those above 4 MiB are not
(name such a file, or set `gitignore` to false).
Rows are `*LINE:text` for matches, ` LINE:text` for lines around them, under `¶PATH#TAG`, for edit.
You get 20 files per page, 20 matches each (200 for a single file); `skip` gets the next page.\
""",
            "find": """\
Find files and directories by name: globs (`*.py` anywhere, `src/*.py` in that directory, `src/**/*.py` below it),
directories (everything in them) or files. Newest first, at most 200, grouped by directory; directories end with `/`.
Ignored files are omitted unless `gitignore` is false. To search contents use search.\
""",
            "ast_grep": """\
Find code by its structure. `pat` is code in the language of the files, with holes: `$NAME` matches one
expression, name or statement, `$$$NAME` any number of them, `$_` anything; the same name must match the same
code. Whitespace does not matter. Examples: `print($A)`, `if ($A) { $$$B }`, `def $F($$$ARGS): $$$BODY`.
A pattern is one complete expression, statement or declaration. `paths` are files, directories or globs; ignored files
and languages without a parser are skipped. For plain text use search.
You get 20 files per page, 20 matches each (200 for a single file); `skip` gets the next page.\
""",
            "ast_edit": """\
Change code by its structure, in many places at once. Each op replaces matches of `pat` with `out`; `pat` is code with
holes as in ast_grep (`$NAME` one node, `$$$NAME` several); `out` may use the same holes. Example:
`{"pat": "assertEqual($A, $B)", "out": "assert $A == $B"}`. An empty `out` deletes. All ops match the current
files; of nested matches the outer one is changed.
You get a preview. Nothing is written until you call resolve with action `apply`.\
""",
            "resolve": "Apply or discard the change a tool has just previewed. Nothing is written before you apply it.",
            "job": """\
Wait for, stop or list background jobs. Without parameters: wait until a running job ends.
`poll` waits until the first named job ends, at most 30 s; call again for the others. `cancel` stops
jobs and does not wait. `list` shows all jobs now; use it alone.
You get results automatically when jobs end: wait only if you cannot continue without them.\
""",
            "eval": """\
Run code in kernels that keep their variables between cells and calls, instead of `python -c` or `node -e` in bash. Cells run in
order and stop at the first failure; `reset` restarts that language's kernel. You see printed output, the value of the
last line, and displays: `display(x)` shows lists and objects as JSON, images as images. stdin fails.
py: the project's own Python. Top-level await works. matplotlib figures are shown after the cell. Markdown(text) and HTML(text)
make rich text.
js: Node.js. Top-level await, return and import work; const and let may be redeclared. The helpers below that touch files or
tau are async, and options are a trailing object: await read("a.txt", {limit: 10}).
Helpers: read(path, offset=1, limit=None), write(path, text), append(path, text), tree(path, max_depth=3, hidden=False),
diff(path, path), env(key, value), sort(text, reverse, unique), uniq(text, count), counter(items, limit, reverse), output(artifact_id),
log(message), phase(title). tool.NAME(argument=value) calls another tool and returns its text. completion(prompt,
model="default"|"smol"|"slow", system=None, schema=None) asks a model, parallel([function, ...]) and pipeline(items, stage, ...) run
concurrently.\
""",
            "ssh": """\
Run a command on another machine, in its own shell. `host` is a name from the list below, never an
address. No terminal, stdin is empty, stdout and stderr are merged. `cd` and variables end with the call; use
`cwd`. Time limit 60 s unless you set `timeout`. Redirect background output to a file.

No hosts are configured.\
""",
            "todo": """\
Maintain your task list. The user sees it. Use it for work of three or more steps, or when the user asks for several things; not for a single small step.

`ops` run in order:
- `init` with `list` ([{phase, items}]): replace the list. The first task is in progress at once.
- `start` with `task`: put it in progress; there is only one.
- `done`, `drop`, `rm` with `task`, with `phase` for a whole phase, or with neither for everything: complete, abandon, or remove.
- `append` with `phase` and `items`: add tasks; a missing phase is created.
- `note` with `task` and `text`: remember something about a task.
- `view`: show the list.

Tasks and phases are named by their exact text, so keep each text unique and short. After `done` or `drop` the next pending task starts automatically. Mark a task done as soon as it is, and not before; drop what is no longer needed.\
""",
            "checkpoint": """\
Mark this point of the conversation before an investigation whose details you will not need later: a search through many files, a long log, a first try. Then call `rewind` with your findings: the conversation returns to this point and keeps only your report.

Only the conversation is rewound; files and processes stay as they are. There is one checkpoint at a time, and you must call `rewind` before you end your answer.\
""",
            "rewind": """\
End the investigation started with `checkpoint`. When this turn ends, your report replaces everything in the conversation since the checkpoint.

The report is all you will remember: include every finding that matters, with paths and lines, what failed, which files you changed, and what to do next. Files and processes stay as they are.\
""",
            "inspect_image": """\
Ask a vision model about one local image file (png, jpeg, gif, webp) and get its answer as text.
Put everything you want to know into `question`: what to look for, and the form of the answer.\
""",
            "ask": """\
Ask the user when you cannot find out yourself and the answer changes what you do: a choice between different outcomes, something only they know. Look first; do not ask for permission or for what the project answers.

- Ask everything you need in one call. Give 2 to 5 short, distinct `options`, each with its consequence; the user can always type something else, so add no "other".
- `recommended` marks your preferred option, used if nobody answers in time.
- `multi` allows several options.\
""",
        }
    )
    assert found == pinned, HOW


def test_the_tools_of_a_request_stay_small(tmp_path: Path) -> None:
    """Every request pays for them; the four basic ones alone leave room in a first request of 6,000 bytes."""

    def mean_bytes(names: Sequence[str] | None) -> float:
        specs = [msgspec.structs.asdict(spec) for spec in tools_of_a_session(tmp_path, names).values()]
        return len(msgspec.json.encode(specs)) / len(specs)

    assert mean_bytes(("read", "bash", "edit", "write")) < 1_050
    assert mean_bytes(None) < 1_170
