"""JavaScript cells in a real kernel."""

from pathlib import Path

import pytest

from tau.backends.kernels import cells
from tests.backends.kernels.kernel_rig import World, in_world, needs_node, run_cells

pytestmark = needs_node

# code of one cell each, and the result of the last one
LASTING = [
    (["const x = 5; let y = 6", "const x = 7", "x * y"], "42"),
    (["const {a, b: [c], ...rest} = {a: 1, b: [2], d: 3}", "[a, c, rest.d]"], "[ 1, 2, 3 ]"),
    (["await 0; const {a, b: [c = 9], ...rest} = {a: 1, b: [], d: 3}", "[a, c, rest.d]"], "[ 1, 9, 3 ]"),
    (["await 0\nlet n = 0\nfunction inc() { n++ }", "inc(); inc(); n"], "2"),
    (["function f(v) { return 2 * v }\nclass K { go() { return f(2) } }", "new K().go()"], "4"),
    (
        ["await 0\nclass K { go() { return 3 } }\nasync function g() { return new K() }", "(await g()).go()"],
        "3",
    ),
    (["class K {}\n[1, 2].map(v => v + 1)"], "[ 2, 3 ]"),
    (["const a = 1,\n  b = 2\nawait null\nconst f = (p, q) => p, c = 3\na + b + c"], "6"),
    (["var v\nawait 0\nlet w\n", "[v, w]"], "[ undefined, undefined ]"),
    (["const crypto = require('crypto')", "typeof crypto.createHash"], "function"),
    (["await 0; const fetch = 3, name = 'n'", "fetch + name"], "3n"),
    (["const fs = await import('node:fs')", "typeof fs.statSync"], "function"),
    (["const f = async () => {\n  return await 3\n}", "f()"], "3"),
    (["export const z = 4", "z"], "4"),
]


@pytest.mark.parametrize(("codes", "text"), LASTING)
def test_declarations_persist_across_cells(tmp_path: Path, codes: list[str], text: str) -> None:
    *_, last = run_cells(tmp_path, *codes, language="js")
    assert (last.end.status, last.text) == ("ok", f"{text}\n")


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("1 + 1", "2\n"),
        ("'text'", "text\n"),
        ("undefined", ""),
        ("const q = 1", ""),
        ("return 5", "5\n"),
        ("if (true) return 6\n7", "6\n"),
        ("await (async () => 8)()", "8\n"),
        ("await Promise.resolve(9)", "9\n"),
        ("Promise.resolve(10)", "10\n"),
        ("({a: 1})", "{ a: 1 }\n"),
        ("let s = 0\nfor (const v of [1, 2]) { s += v }\ns", "3\n"),
        ("for (let i = 0; i < 2; i++) console.log(i)", "0\n1\n"),
        ("if (1) {\n  console.log(`a${`b${1}`}`)\n}", "ab1\n"),
        ("const re = /a\\/[/]b/g\n'a//b'.replace(re, 'z')", "z\n"),
        ("const t = `x\n${[1].map(v => `${v}`)}`\nt.length / 1", "3\n"),
        ("label: for (;;) { break label }", ""),
        ("// a remark\n/* and\nanother */ 4 // last", "4\n"),
        ("const o = {\n  await: 1,\n  return: 2\n}\no.await + o.return", "3\n"),
        ("print('p', 1); console.error('e')", "p 1\ne\n"),
        ("[1, 2]\n  .map(v => v * 2)\n  .join()", "2,4\n"),
        ("try { null.x } catch { console.log('caught') } finally { console.log('done') }", "caught\ndone\n"),
        ("do { } while (false)\n11", "11\n"),
        ("", ""),
    ],
)
def test_value_of_the_last_line_is_shown(tmp_path: Path, code: str, text: str) -> None:
    (ran,) = run_cells(tmp_path, code, language="js")
    assert (ran.end.status, ran.text) == ("ok", text)


def test_modules_are_imported_relative_to_the_folder(tmp_path: Path) -> None:
    (tmp_path / "local.mjs").write_text("export const a = 1; export default 7; export { a as 'odd name' }")
    (tmp_path / "common.cjs").write_text("module.exports = { q: 4 }")
    (tmp_path / "data.json").write_text('{"j": 5}')
    package = tmp_path / "node_modules" / "modern"
    package.mkdir(parents=True)
    package.joinpath("package.json").write_text('{"type": "module", "exports": {"import": "./index.js"}}')
    package.joinpath("index.js").write_text("export const e = 'modern'")
    static = (
        "import seven, {a as one, 'odd name' as odd} from './local.mjs'\nimport * as os from 'node:os'\n"
        "import 'node:path'\nimport {e} from 'modern'\nimport common from './common.cjs'\n"
        "import all, * as ns from './local.mjs'\n"
        "import data from './data.json' with { type: 'json' }\n"
        "[seven, one, odd, typeof os.cpus, e, common.q, all, ns.a, data.j]"
    )
    first, second = run_cells(tmp_path, static, "[seven, e, (await import('modern')).e]", language="js")
    assert "".join(first.text.split()) == "[7,1,1,'function','modern',4,7,1,5]"
    assert second.text == "[ 7, 'modern', 'modern' ]\n"


def test_changed_local_module_is_reloaded(tmp_path: Path) -> None:
    for name, text in (("m.mjs", "export const v = 1"), ("c.cjs", "exports.v = 1")):
        (tmp_path / name).write_text(text)

    async def work(made: World) -> None:
        code = "import {v} from './m.mjs'\nimport c from './c.cjs'\n[v, c.v]"
        assert (await made.run(code)).text == "[ 1, 1 ]\n"
        assert (await made.run(code)).text == "[ 1, 1 ]\n"
        (tmp_path / "m.mjs").write_text("export const v = 22")
        (tmp_path / "c.cjs").write_text("exports.v = 22")
        assert (await made.run(code)).text == "[ 22, 22 ]\n"

    in_world(tmp_path, work, "js")


@pytest.mark.parametrize(
    ("code", "last"),
    [
        ("throw new Error('bad')", "    at cell 1:1:7"),
        ("await Promise.reject(new TypeError('no'))", "    at cell 1:1:"),
        ("function f() { null.x }\nf()", "    at cell 1:2:1"),
        ("throw 'text'", "Uncaught 'text'"),
        ("const = 3", "SyntaxError: Unexpected token '='"),
        ("await 1; const x x", "SyntaxError: "),
        ("import {a} from './missing.mjs'", ""),
        ("if (true) { import x from 'y' }", "SyntaxError: Cannot use import statement"),
        ("missing", "    at cell 1:1:1"),
    ],
)
def test_error_has_no_internal_frames(tmp_path: Path, code: str, last: str) -> None:
    (ran,) = run_cells(tmp_path, code, language="js")
    assert (ran.end.status, ran.end.exit_code) == ("error", 1)
    assert ran.last.startswith(last) or last in ran.text
    assert "node:internal" not in ran.text and "main.mjs" not in ran.text and "__tau" not in ran.text


@pytest.mark.parametrize(
    ("code", "status", "exit_code"), [("process.exit(3)", "error", 3), ("process.exit()", "ok", 0)]
)
def test_exiting_a_cell_early_keeps_the_kernel(
    tmp_path: Path, code: str, status: str, exit_code: int
) -> None:
    _, ran, after = run_cells(tmp_path, "const x = 1", code, "x", language="js")
    assert (ran.end.status, ran.end.exit_code, after.text) == (status, exit_code, "1\n")


def test_late_failure_is_reported_and_does_not_end_the_kernel(tmp_path: Path) -> None:
    code = "setTimeout(() => { throw new Error('late') }, 1); await new Promise(r => setTimeout(r, 30)); 1"
    ran, after = run_cells(tmp_path, code, "2", language="js")
    assert "Error: late" in ran.text and ran.last == "1" and after.text == "2\n"


def test_display_shows_values(tmp_path: Path) -> None:
    (ran,) = run_cells(
        tmp_path,
        "display({a: [1]}, [2], 'text', 3, new Map([[1, 2]]), {type: 'markdown', text: '# m'},"
        " {type: 'html', text: '<b>h</b>'}, {type: 'image', data: Buffer.from('png')})",
        language="js",
    )
    assert ran.events == [
        cells.JsonOutput({"a": [1]}),
        cells.JsonOutput([2]),
        cells.MarkdownOutput("# m"),
        cells.HtmlOutput("<b>h</b>"),
        cells.ImageOutput("cG5n", "image/png"),
    ]
    assert ran.text == "text\n3\nMap(1) { 1 => 2 }\n"


def test_large_value_and_long_output_do_not_deadlock(tmp_path: Path) -> None:
    code = "display({a: 'y'.repeat(3e6)}); for (let i = 0; i < 200; i++) console.log('x'.repeat(9999)); 'end'"
    (ran,) = run_cells(tmp_path, code, language="js")
    assert len(ran.events) == 1 and len(ran.text) == 200 * 10_000 + 4


def test_helpers_work(tmp_path: Path) -> None:
    ran = run_cells(
        tmp_path,
        "await write('a/one.txt', 'b\\na\\nb\\n')\nawait append('a/one.txt', 'c\\n')\n"
        "await read('a/one.txt')",
        "await read('a/one.txt', {offset: 2, limit: 2})",
        "[sort('b\\na\\nb'), sort('b\\na\\nb', {reverse: true, unique: true})]",
        "[uniq('a\\na\\nb\\na'), uniq('a\\na\\nb', {count: true})]",
        "[counter('a\\nb\\na'), counter([1, 1, 2], {limit: 1}), counter('a\\nb\\na', {reverse: true})]",
        "await tree('.', {maxDepth: 2})",
        "await write('b.txt', 'b\\nA\\nb\\nc\\n'); await diff('a/one.txt', 'b.txt')",
        "[await env('NEW', 'value'), await env('NEW'), process.env.NEW]",
        "await read('.')",
        "await read('https://example.com')",
        language="js",
    )
    assert ran[0].text == "b\na\nb\nc\n\n" and ran[1].text == "a\nb\n\n"
    assert ran[2].text == "[ 'a\\nb\\nb', 'b\\na' ]\n"
    assert ran[3].text == "[ 'a\\nb\\na', [ [ 2, 'a' ], [ 1, 'b' ] ] ]\n"
    assert ran[4].text.replace("\n", "").replace(" ", "") == "[[[2,'a'],[1,'b']],[[2,1]],[[1,'b'],[2,'a']]]"
    assert ran[5].text == f"{tmp_path}\n  a/\n    one.txt\n"
    assert ran[6].text == "--- a/one.txt\n+++ b.txt\n@@ -1,4 +1,4 @@\n b\n-a\n+A\n b\n c\n\n"
    assert ran[7].text == "[ 'value', 'value', 'value' ]\n"
    assert "is a directory" in ran[8].text and "is a URL" in ran[9].text


def test_python_and_javascript_are_isolated(tmp_path: Path) -> None:
    async def work(made: World) -> None:
        await made.run("const x = 1")
        made.language = "python"
        await made.run("x = 2")
        assert (await made.run("x", reset=True)).end.status == "error"
        made.language = "js"
        assert (await made.run("x")).text == "1\n"

    in_world(tmp_path, work, "js")
