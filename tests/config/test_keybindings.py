"""Custom keys: one or several, none at all, and mistakes that name their line."""

from pathlib import Path

import pytest

from tau.base.errors import ConfigError
from tau.config.keybindings import load_keybindings


def test_binding_is_one_key_several_or_none(tmp_path: Path) -> None:
    path = tmp_path / "keybindings.json"
    assert load_keybindings(path) == {}
    path.write_text('{"app.suspend": "ctrl+q", "app.exit": ["f4", "f5"], "app.clear": []}')
    assert load_keybindings(path) == {"app.suspend": ["ctrl+q"], "app.exit": ["f4", "f5"], "app.clear": []}


@pytest.mark.parametrize("value", ("3", "null", '{"a": 1}', '["a", 2]'))
def test_invalid_key_is_named_with_its_line(tmp_path: Path, value: str) -> None:
    path = tmp_path / "keybindings.json"
    path.write_text(f'{{\n  "app.exit": "f4",\n  "app.suspend": {value}\n}}')
    with pytest.raises(ConfigError, match="needs a key") as caught:
        load_keybindings(path)
    assert (caught.value.path, caught.value.line) == (path, 3)
