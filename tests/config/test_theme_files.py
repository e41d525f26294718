"""Theme files: their content, and mistakes that name their line."""

import json
from pathlib import Path

import pytest

from tau.base.errors import ConfigError
from tau.config.theme_files import is_color, read_theme, theme_paths


def written(folder: Path, **content: object) -> Path:
    path = folder / "mine.json"
    path.write_text(json.dumps(content, indent=1))
    return path


def test_theme_names_colors_and_tokens(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        kind="light",
        colors={"accent": "#102030", "muted": "brightBlack", "dim": "244"},
        tokens={"link": {"fg": "accent", "underline": True}},
    )
    theme = read_theme(path, roles=("accent", "muted", "dim"), tokens=("link",))
    assert (theme.kind, theme.colors["dim"]) == ("light", "244")
    assert (theme.tokens["link"].fg, theme.tokens["link"].underline) == ("accent", True)
    assert theme_paths(tmp_path) == {"mine": path}
    assert theme_paths(tmp_path / "nowhere") == {}


@pytest.mark.parametrize(
    ("content", "words"),
    (
        ({"colors": {"accent": "#12345"}}, "is not a color"),
        ({"colors": {"accent": "reddish"}}, "is not a color"),
        ({"colors": {"accent": "256"}}, "is not a color"),
        ({"colors": {"nonsense": "red"}}, "Unknown color"),
        ({"tokens": {"nonsense": {}}}, "Unknown token"),
        ({"tokens": {"link": {"fg": "unknown"}}}, "is not a color"),
        ({"tokens": {"link": {"bold": "yes"}}}, "Not a valid theme"),
        ({"kind": "purple"}, "Not a valid theme"),
    ),
    ids=str,
)
def test_mistake_is_one_sentence_with_the_file(
    tmp_path: Path, content: dict[str, object], words: str
) -> None:
    path = written(tmp_path, **content)
    with pytest.raises(ConfigError, match=words) as caught:
        read_theme(path, roles=("accent",), tokens=("link",))
    assert caught.value.path == path


def test_colors_are_hex_numbers_or_names() -> None:
    assert all(map(is_color, ("", "#00ff7A", "0", "255", "red", "brightCyan")))
    assert not any(map(is_color, ("#00ff7", "#00ff7g", "-1", "256", "٣", "Red", "brightred", "\x1b[31m")))
