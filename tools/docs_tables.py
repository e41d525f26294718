"""Writes the generated tables in docs/ anew; with --check it only says which are out of date.

A table stands between `<!-- table: NAME -->` and `<!-- end of table -->`.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path

from tau.ai.catalog import load_catalog
from tau.cli.help import markdown_table
from tau.config.settings import describe_settings
from tau.config.words import show_value

DOCS = Path(__file__).resolve().parent.parent / "docs"
BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def flags() -> str:
    return markdown_table().strip()


def settings() -> str:
    lines = ["| key | value | default | what it does |", "|---|---|---|---|"]
    for one in describe_settings():
        scope = " Only the user's own settings count." if one.scope == "user" else ""
        text = cell(f"{one.description}.{scope}")
        lines.append(f"| `{one.key}` | {cell(one.type)} | `{cell(show_value(one.default))}` | {text} |")
    return "\n".join(lines)


def providers() -> str:
    lines = ["| provider | name | key | default model |", "|---|---|---|---|"]
    for one in load_catalog().providers.values():
        keys = " or ".join(f"`{variable}`" for variable in one.key_variables)
        keys = keys or ("none needed" if one.local else "`auth.json`")
        default = f"`{one.default_model}`" if one.default_model else "what the server has"
        lines.append(f"| `{one.id}` | {cell(one.name)} | {keys} | {default} |")
    return "\n".join(lines)


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


TABLES: dict[str, Callable[[], str]] = {"flags": flags, "settings": settings, "providers": providers}


def with_tables(text: str) -> str:
    """A page with its tables made anew. An unknown name of a table is a mistake in the page."""

    def made(block: re.Match[str]) -> str:
        return f"{block[1]}\n{TABLES[block[2]]()}\n\n{block[3]}"

    return BLOCK.sub(made, text)


def main() -> int:
    stale = []
    for page in sorted(DOCS.rglob("*.md")):
        old = page.read_text(encoding="utf-8")
        new = with_tables(old)
        if new != old:
            stale.append(page.name)
            if "--check" not in sys.argv:
                page.write_text(new, encoding="utf-8")
    if "--check" in sys.argv:
        if stale:
            print(f"Out of date: {', '.join(stale)}. `make docs` writes them anew.", file=sys.stderr)
        return 1 if stale else 0
    print(f"Written: {', '.join(stale)}" if stale else "All tables are current.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
