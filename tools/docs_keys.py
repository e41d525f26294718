"""Builds the key and theme tables in docs/ from the tables in the code."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from tau.config.theme_files import read_theme, theme_paths
from tau.modes import interactive
from tau.modes.interactive.key_bindings import APP_BINDINGS
from tau.modes.interactive.themes.tokens import ROLES, TOKENS, ThemeToken
from tau.tui.input.bindings import BINDINGS, Binding
from tau.tui.input.names import label
from tau.tui.widgets.editor.bindings import EDITOR_BINDINGS

OURS = Path(interactive.__file__).parent / "themes" / "data"
GROUNDS = {"dark": "dark", "light": "light", "any": "both"}
STYLES = ("bold", "italic", "underline", "strike", "inverse")


def keys() -> str:
    """List all actions of the screen, the editor and lists."""
    known = BINDINGS | EDITOR_BINDINGS | APP_BINDINGS
    groups: dict[str, dict[str, Binding]] = {"Screen": {}, "Editor": {}, "Lists": {}}
    for action, binding in known.items():
        groups[_group(action, binding)][action] = binding
    lines = ["| action | keys | what it does |", "|---|---|---|"]
    for group, bindings in groups.items():
        lines += [f"| **{group}** | | |", *_rows(bindings)]
    return "\n".join(lines)


def _group(action: str, binding: Binding) -> str:
    if action.startswith("tui.select.") or binding.scope:
        return "Lists"
    return "Screen" if action.startswith("app.") else "Editor"


def _rows(bindings: Mapping[str, Binding]) -> Iterable[str]:
    for action, binding in bindings.items():
        yield f"| `{action}` | {_labels(binding.keys) or 'none'} | {binding.description} |"


def _labels(names: Iterable[str]) -> str:
    """Format key names for display, each key once."""
    return ", ".join(dict.fromkeys(label(name) for name in names)).replace("|", "\\|")


def theme_colors() -> str:
    lines = ["| color | what it is for |", "|---|---|"]
    return "\n".join([*lines, *(f"| `{name}` | {text} |" for name, text in ROLES.items())])


def theme_tokens() -> str:
    lines = ["| token | made from | what it is for |", "|---|---|---|"]
    rows = (f"| `{name}` | {_sources(token)} | {token.description} |" for name, token in TOKENS.items())
    return "\n".join([*lines, *rows])


def _sources(token: ThemeToken) -> str:
    parts = [f"`{token.fg}`"] if token.fg else []
    parts += [f"on `{token.bg}`"] if token.bg else []
    return " ".join([*parts, *(style for style in STYLES if getattr(token, style))])


def themes() -> str:
    """List the built-in themes; user themes are ignored."""
    lines = ["| theme | ground | what it looks like |", "|---|---|---|"]
    for name, path in theme_paths(OURS).items():
        theme = read_theme(path, roles=ROLES, tokens=TOKENS)
        lines.append(f"| `{name}` | {GROUNDS[theme.kind]} | {theme.description} |")
    return "\n".join(lines)


KEY_TABLES: dict[str, Callable[..., str]] = {
    "keys": keys,
    "theme_colors": theme_colors,
    "theme_tokens": theme_tokens,
    "themes": themes,
}
