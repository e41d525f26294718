"""docs/sessions.md covers every kind of entry, and its examples are correct."""

import json
import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from tau.ai.catalog import load_catalog, pick_model
from tau.ai.wire import AppMessage
from tau.coding.session.entries import KnownEntry, SessionEntryBase, SessionHeader, decode_header
from tau.config.layers import load_settings
from tau.config.paths import user_paths
from tests.shape.source_tree import ROOT

PAGE = (ROOT / "docs" / "sessions.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `([a-z_]+)` \| (.*) \|$", PAGE[PAGE.index("| type |") :], re.MULTILINE))
PLACE = set(SessionEntryBase.__struct_encode_fields__)


def test_table_names_every_entry_and_no_other() -> None:
    assert set(ROWS) == {entry.__struct_config__.tag for entry in get_args(KnownEntry)}


@pytest.mark.parametrize("entry", get_args(KnownEntry), ids=lambda entry: entry.__struct_config__.tag)
def test_row_names_every_field(entry: type[SessionEntryBase]) -> None:
    row = ROWS[str(entry.__struct_config__.tag)]
    missing = [
        name for name in entry.__struct_encode_fields__ if name not in PLACE and f"`{name}`" not in row
    ]
    assert not missing


def test_row_of_messages_names_every_role() -> None:
    roles = {message.__struct_config__.tag for message in get_args(AppMessage)}
    assert not {role for role in roles if f"`{role}`" not in ROWS["message"]}


def test_header_has_exactly_the_named_fields() -> None:
    header = decode_header(re.findall(r'^\{"type":"session".*\}$', PAGE, re.MULTILINE)[0].encode())
    assert header.version == msgspec.structs.fields(SessionHeader)[0].default
    assert all(name in PAGE for name in SessionHeader.__struct_encode_fields__)


def test_fallback_chain_example_is_accepted_and_names_existing_models(tmp_path: Path) -> None:
    (example,) = re.findall(r'^```json\n(\{"retry".*?)^```', PAGE, re.MULTILINE | re.DOTALL)
    path = tmp_path / "settings.json"
    path.write_text(example)
    loaded = load_settings(user_paths(), tmp_path, files=(path,))
    assert not loaded.warnings and json.loads(example)
    chains = loaded.settings.retry.fallback_chains
    names = [name for chain in (chains, *chains.values()) for name in chain if name != "default"]
    assert names and [pick_model(load_catalog(), name).model.key for name in names] == names
    assert all(pick_model(load_catalog(), name).known for name in names)


def test_named_settings_exist() -> None:
    keys = set(re.findall(r"`((?:compaction|retry|branchSummary)\.[A-Za-z]+)`", PAGE))
    settings = (ROOT / "docs" / "settings.md").read_text()
    assert keys and not {key for key in keys if f"| `{key}` |" not in settings}
