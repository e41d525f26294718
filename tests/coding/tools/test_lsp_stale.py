"""Reports are about the bytes on disk, however the files were changed: by tools, by commands, by others."""

import asyncio
import random
from pathlib import Path

import pytest

from tau.ai.faux import Use
from tau.backends.lsp.pool import FileReport
from tests.backends.lsp.servers import fake_spec, pool_of, real_pool
from tests.coding.tools.test_lsp import lsp, results, use_fake
from tests.support.limits import HANG_S
from tests.support.soak import is_soaking, seeds

WAYS = ("write", "edit", "bash", "outside")


@pytest.mark.parametrize("seed", seeds(1, 5))
def test_no_report_is_stale_after_random_changes(tmp_path: Path, seed: int) -> None:
    """In one session, with tools; what a report has to say is known from the bytes."""
    rng = random.Random(seed)
    use_fake()
    names = [f"{number}.txt" for number in range(3)]
    contents = dict.fromkeys(names, "fine\n")
    for name, text in contents.items():
        (tmp_path / name).write_text(text)
    steps: list[tuple[Use, str | None]] = []  # a call, and the text that its report is about
    for _ in range(100 if is_soaking() else 8):
        name = rng.choice(names)
        lines = rng.choices(["fine", "bad", "bad one", "also fine"], k=rng.randint(1, 4))
        contents[name] = "".join(f"{line}\n" for line in lines)
        if rng.random() < 0.5:
            steps.append((Use("read", path=name), None))
            steps.append((Use("write", path=name, content=contents[name]), None))
        else:
            quoted = contents[name].replace("\n", "\\n")
            steps.append((Use("bash", command=f"printf '{quoted}' > {name}"), None))
        asked = rng.choice(names)
        steps.append((lsp("diagnostics", file=asked), contents[asked]))
    found = results(tmp_path, *(call for call, _ in steps), settings={"lsp.diagnosticsOnWrite": False})
    for text, (_, content) in zip(found, steps, strict=True):
        if content is not None:
            lines = content.split("\n")
            wrong = [[str(number), "1 error"] for number, line in enumerate(lines, 1) if "bad" in line]
            rows = [row.strip().split(":", 2)[:2] for row in text.split("\n") if " error: " in row]
            assert rows == wrong


PYTHON = (
    "def f(x: int) -> int:\n    return x\n",
    "import missing_module\n",
    "f: int = 'text'\n",
    "print(undefined)\n",
)
TYPESCRIPT = ("export const a: number = 1;\n", "export const a: number = 'x';\n", "let b: string = 5;\n")
C = (
    "int f(int x) { return x; }\n",
    "int f(int x) { return y; }\n",
    'int g = "text";\n',
    "int f(void) { return }\n",
)
LANGUAGES = {
    "python": (".py", PYTHON, "pyproject.toml", ("ruff", "basedpyright")),
    "typescript": (".ts", TYPESCRIPT, "tsconfig.json", ("typescript-native",)),
    "c": (".c", C, "compile_flags.txt", ("clangd",)),
}


@pytest.mark.soak
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("language", LANGUAGES)
def test_500_random_edits_are_reported_as_by_a_fresh_server(tmp_path: Path, language: str) -> None:
    suffix, texts, marker, servers = LANGUAGES[language]
    rng = random.Random(25)
    (tmp_path / marker).write_text("{}" if marker.endswith("json") else "")
    path = tmp_path / f"main{suffix}"
    fresh: dict[str, FileReport] = {}  # by text: what a server that has seen nothing else says

    async def main() -> None:
        async with real_pool(tmp_path, *servers) as pool:
            for number in range(500):
                text = "".join(rng.choices(texts, k=rng.randint(1, 3)))
                if rng.choice(WAYS) == "bash":  # another program, without our knowledge
                    argv = ("sh", "-c", 'printf %s "$1" > "$0"', path, text)
                    await (await asyncio.create_subprocess_exec(*argv)).wait()
                else:
                    path.write_text(text)
                report = await pool.check(path, wait_s=HANG_S, cold_wait_s=HANG_S)
                if text not in fresh:
                    async with real_pool(tmp_path, *servers) as other:
                        fresh[text] = await other.check(path, wait_s=HANG_S, cold_wait_s=HANG_S)
                assert not report.silent and not report.failed
                assert [(each.range, each.text) for each in report.diagnostics] == [
                    (each.range, each.text) for each in fresh[text].diagnostics
                ], (number, text)

    asyncio.run(main())


def test_memory_of_open_files_is_bounded(tmp_path: Path) -> None:
    async def main() -> None:
        async with pool_of(tmp_path, fake_spec()) as pool:
            for number in range(120):
                path = tmp_path / f"{number}.txt"
                path.write_text("bad\n")
                await pool.check(path, wait_s=HANG_S)
            [row] = pool.rows()
            assert row.open_files == 100

    asyncio.run(main())
