"""What the user lets commands write: never what runs outside, or decides what may run."""

import os
from pathlib import Path

import pytest

from tau.coding.shell.grants import grant_folder
from tau.config.paths import user_paths
from tests.safety.sandbox_rig import ENGINES, Inside, Place, in_sandbox


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "landlock"])
def test_startup_files_stay_read_only_in_a_folder_that_commands_may_write(
    tmp_path: Path, engine: str
) -> None:
    place = Place(tmp_path)
    own = place.credentials.parent / "settings.json"
    own.write_text("{}")

    async def work(inside: Inside) -> str:
        return await inside.text(
            f"echo x > {place.outside}/new && echo wrote; echo x >> {place.home}/.bashrc; echo x > {own}"
        )

    text = in_sandbox(place, work, engine, write=(str(place.home),))
    assert text.count("wrote") == 1 and text.count("Read-only file system") == 2


def test_no_grant_opens_the_folder_of_the_settings() -> None:
    own = user_paths().home
    assert grant_folder(own / "settings.json") is None
    assert grant_folder(own / "cache/x/y") is None
    assert grant_folder(own.parent / "x") is None
    assert grant_folder(Path(os.environ["HOME"]) / "x") is None
    assert grant_folder(Path(os.environ["HOME"]) / "notes/x") is not None
