"""What holds keys asks before a tool reads it, and is hidden from commands: the two lists agree."""

import os
from pathlib import Path

import pytest

from tau.backends.sandbox.policy import HIDDEN
from tau.backends.sandbox.redacted_files import SETTINGS_FILES
from tau.coding.approval.command_report import report_command
from tau.coding.files.credential_stores import STORES, is_credential_store, stores_below
from tau.config.paths import user_paths

# Package managers read their settings from these, and need them; commands see copies.
SHOWN = {name.removeprefix("~/") for name in SETTINGS_FILES}


def is_below(path: str, folders: "list[str]") -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


@pytest.mark.parametrize("store", [each for each in STORES if not each.startswith("Library/")])
def test_store_is_hidden_from_commands(store: str) -> None:
    hidden = [name.removeprefix("~/") for name in HIDDEN]
    inside = [name for name in hidden if name.startswith(f"{store}/")]
    assert store in SHOWN or is_below(store, hidden) or inside


@pytest.mark.parametrize("name", [each for each in HIDDEN if each.startswith("~/")])
def test_path_hidden_from_commands_asks_before_it_is_read(name: str) -> None:
    place = Path(os.environ["HOME"]) / name[2:]
    stores = [f"{os.environ['HOME']}/{store}" for store in STORES]
    inner = any(store.startswith(f"{place}/") for store in stores)  # a folder that has more than keys
    assert is_credential_store(place) or inner


@pytest.mark.parametrize("name", ["auth.json", "models.json", "secrets.json"])
def test_own_files_with_keys_ask(name: str) -> None:
    home = user_paths().home
    home.mkdir(parents=True)
    (home / name).write_text("{}")
    assert is_credential_store(home / name)
    assert home / name in stores_below(home.parent)


def test_agent_that_starts_a_command_is_a_wrapper(tmp_path: Path) -> None:
    names = [each.name for each in report_command("ssh-agent -t 5 touch x", tmp_path, [tmp_path]).commands]
    assert "touch" in names
    for command in ("dbus-run-session touch x", "xvfb-run touch x", "valgrind touch x"):
        assert report_command(command, tmp_path, [tmp_path]).problem
