"""Pages are accurate: the map, the links and the generated tables."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tau.ai.catalog import load_catalog, pick_model
from tau.coding.tools.registry import TOOLS
from tau.config.layers import load_settings
from tau.config.models_file import load_models_file, merge_models
from tau.config.paths import user_paths
from tests.shape.source_tree import PACKAGE, ROOT
from tests.support.fake_server import FakeServer

DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
EXAMPLE = re.compile(r"^(?:Given|Now) `.*`:$", re.MULTILINE)  # names its own file


def shown(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def test_generated_tables_are_current() -> None:
    run = subprocess.run(
        [sys.executable, "tools/docs_tables.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_links_resolve(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text())
    missing = [one for one in targets if "://" not in one and not (page.parent / one).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_named_files_exist(page: Path) -> None:
    """`agent/loop.py` and the like are files of the package, `tests/...` those of the project."""
    text = EXAMPLE.sub("", page.read_text())
    named = re.findall(r"`([a-z_]+/[a-z_/]+\.(?:py|md|json))`", text)
    missing = [one for one in named if not (PACKAGE / one).exists() and not (ROOT / one).exists()]
    assert not missing


@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_has_a_page_with_its_parameters(name: str) -> None:
    page = DOCS / "tools" / f"{name}.md"
    assert page.exists() and f"<!-- table: parameters {name} -->" in page.read_text()
    assert f"](tools/{name}.md)" in (DOCS / "tools.md").read_text()


def test_map_names_every_folder_of_the_package() -> None:
    readme = (ROOT / "README.md").read_text()
    block = readme[readme.index("src/tau/\n") :]
    named = re.findall(r"^  ([a-z]+)(?:/|\.py) ", block[: block.index("```")], re.MULTILINE)
    found = {
        path.stem for path in PACKAGE.iterdir() if not path.name.startswith("_") and path.name != "py.typed"
    }
    assert set(named) == found


@pytest.mark.parametrize("room", ["backends", "coding", "ext", "modes", "modes/interactive"])
def test_design_page_names_every_folder(room: str) -> None:
    page = (DOCS / "design.md").read_text()
    table = page[page.index(f"### Inside `{room}`\n") :].partition("\n## ")[0].split("\n### ")[0]
    named = set(re.findall(r"`([a-z_]+)/`", table))
    assert named >= {path.parent.name for path in (PACKAGE / room).glob("*/__init__.py")}


def test_readme_shows_the_two_commands() -> None:
    readme = (ROOT / "README.md").read_text()
    assert "make run" in readme and "make test" in readme


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_python_interface_example_runs(tmp_path: Path) -> None:
    (example,) = blocks("usage.md", "python")
    home = Path(os.environ["TAU_HOME"])
    home.mkdir(parents=True)
    with FakeServer() as server:
        server.script("It is an example.")
        provider = {"baseUrl": f"{server.url}/v1", "api": "openai-completions", "models": [{"id": "m"}]}
        (home / "models.json").write_text(json.dumps({"providers": {"fake": provider}}))
        (home / "settings.json").write_text('{"defaultProvider": "fake", "defaultModel": "m"}')
        run = subprocess.run([sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("It is an example.\n", "")


def test_models_file_examples_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    named: list[str] = []
    for example in blocks("models.md", "json"):
        path.write_text(example)
        file = load_models_file(path)
        assert not file.warnings
        catalog = merge_models(load_catalog(), file)
        for provider, entry in file.providers.items():
            named += [f"{provider}/{pick_model(catalog, row.id, provider).model.id}" for row in entry.models]
    assert "office/coder-large" in named and len(named) >= 2


def test_settings_file_example_is_accepted(tmp_path: Path) -> None:
    (example,) = blocks("settings.md", "json")
    path = tmp_path / "settings.json"
    path.write_text(example)
    loaded = load_settings(user_paths(), tmp_path, files=(path,))
    assert not loaded.warnings
    assert (loaded.settings.retry.max_retries, loaded.settings.tools.approval_mode) == (3, "ask")
