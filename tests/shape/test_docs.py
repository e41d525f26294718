"""Pages say what is there: the map, the links and the generated tables."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shape.source_tree import PACKAGE, ROOT

PAGES = [ROOT / "README.md", ROOT / "AGENTS.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_generated_tables_are_current() -> None:
    run = subprocess.run(
        [sys.executable, "tools/docs_tables.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text())
    missing = [one for one in targets if "://" not in one and not (page.parent / one).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_exist(page: Path) -> None:
    """`agent/loop.py` and the like stand for files of the package, `tests/...` for those of the project."""
    named = re.findall(r"`([a-z_]+/[a-z_/]+\.(?:py|md|json))`", page.read_text())
    missing = [one for one in named if not (PACKAGE / one).exists() and not (ROOT / one).exists()]
    assert not missing


def test_map_names_every_folder_of_the_package() -> None:
    readme = (ROOT / "README.md").read_text()
    block = readme[readme.index("src/tau/\n") :]
    named = re.findall(r"^  ([a-z]+)(?:/|\.py) ", block[: block.index("```")], re.MULTILINE)
    found = {
        path.stem for path in PACKAGE.iterdir() if not path.name.startswith("_") and path.name != "py.typed"
    }
    assert set(named) == found


def test_readme_shows_the_two_commands() -> None:
    readme = (ROOT / "README.md").read_text()
    assert "make run" in readme and "make test" in readme
