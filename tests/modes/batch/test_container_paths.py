"""Suites come from strangers: no path of one leads out of the folder of its container."""

from pathlib import Path

import pytest

from tau.base.errors import TauError
from tau.modes.batch.formats.dockerfile import read_dockerfile
from tau.modes.batch.task_container import ContainerRoot, TaskContainer


@pytest.mark.parametrize("target", ["../../../victim", "/../../../victim", "/app/../../../../victim"])
def test_no_copy_leads_out_of_the_container(target: str, tmp_path: Path) -> None:
    suite, victim = tmp_path / "suite", tmp_path / "victim"
    suite.mkdir()
    victim.write_text("mine")
    (suite / "evil").write_text("theirs")
    (suite / "Dockerfile").write_text(f"FROM x\nWORKDIR /app\nCOPY evil {target}\n")
    ContainerRoot(read_dockerfile(suite / "Dockerfile"), tmp_path / "a").make()
    assert victim.read_text() == "mine"


def test_no_link_of_a_suite_leads_a_copy_away(tmp_path: Path) -> None:
    suite, outside = tmp_path / "suite", tmp_path / "outside"
    (suite / "files").mkdir(parents=True)
    outside.mkdir()
    (suite / "files/link").symlink_to(outside)
    (suite / "evil").write_text("theirs")
    copies = [(str(suite / "files"), "/app"), (str(suite / "evil"), "/app/link/evil")]
    with pytest.raises(TauError, match="leads out of the container"):
        ContainerRoot(TaskContainer(copies=copies), tmp_path / "a").make()
    assert list(outside.iterdir()) == []
