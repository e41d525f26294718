"""Regenerates the tables in docs/; with --check, only reports which are out of date.

A table is between `<!-- table: NAME -->` and `<!-- end of table -->`. The name may have arguments:
`parameters read`, `parameters edit patch`, `limits read`.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import rpc_methods
from docs_commands import COMMAND_TABLES
from docs_keys import KEY_TABLES
from docs_limits import LIMITS
from docs_relay import describe_config
from docs_rpc import RPC_TABLES, rpc_schema

from tau.agent.arguments import full_schema
from tau.agent.tool import Tool
from tau.ai.catalog import load_catalog
from tau.backends.syntax.languages import LANGUAGES
from tau.backends.web.site_handlers import load_sites
from tau.cli.help import markdown_table
from tau.coding.tools.registry import TOOLS, ToolParts
from tau.config.descriptions import show_value
from tau.config.setting_table import describe_settings
from tau.config.settings import Settings
from tau.config.tool_settings import EDIT_MODES, EditMode, EditSettings
from tau.config.web_access import SEARCH_KEYS
from tau.ext.mcp.config import McpServer

DOCS = Path(__file__).resolve().parent.parent / "docs"
BLOCK = re.compile(r"(<!-- table: (\w+)((?: \w+)*) -->\n).*?(<!-- end of table -->)", re.DOTALL)
LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")


def flags() -> str:
    return markdown_table().strip()


def settings() -> str:
    lines = ["| key | value | default | project | what it does |", "|---|---|---|---|---|"]
    scopes = {"any": "yes", "tighten": "stricter", "user": "no"}
    for one in describe_settings():
        default, text = f"`{cell(show_value(one.default))}`", cell(f"{one.description}.")
        lines.append(f"| `{one.key}` | {cell(one.type)} | {default} | {scopes[one.scope]} | {text} |")
    return "\n".join(lines)


def relay() -> str:
    lines = ["| key | value | default | what it does |", "|---|---|---|---|"]
    for one in describe_config():
        shown = one.default if one.default in ("", "required") else f"`{cell(one.default)}`"
        lines.append(f"| `{one.key}` | {cell(one.type)} | {shown} | {cell(one.description)}. |")
    return "\n".join(lines)


def providers() -> str:
    lines = ["| provider | name | key | dialect | default model | |", "|---|---|---|---|---|---|"]
    for one in load_catalog().providers.values():
        keys = " or ".join(f"`{variable}`" for variable in one.key_variables)
        keys = keys or ("none needed" if one.local else "`auth.json`")
        default = f"`{one.default_model}`" if one.default_model else "what the server has"
        name = f"[{cell(one.name)}]({one.key_page})" if one.key_page else cell(one.name)
        marks = [mark for mark, is_set in (("plan", one.plan), ("when named", one.on_request)) if is_set]
        cells = (f"`{one.id}`", name, keys, f"`{one.api}`", default, ", ".join(marks))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def sites() -> str:
    """List the site handlers with the hosts that they ask."""
    lines = ["| method | asks |", "|---|---|"]
    for site in load_sites():
        addresses = (*site.requests.values(), *site.optional.values())
        hosts = dict.fromkeys(f"`{re.sub(r'{.*?}', '*', one).split('/')[2]}`" for one in addresses)
        lines.append(f"| `{site.name}` | {', '.join(hosts)} |")
    return "\n".join(lines)


def searches() -> str:
    """List the search providers in the order in which they are tried."""
    lines = ["| provider | key |", "|---|---|"]
    for name, key in SEARCH_KEYS.items():
        ways = [f"`{variable}`" for variable in key.variables]
        ways += [f"`tau login {key.login}`"] if key.login else []
        lines.append(f"| `{name}` | {', '.join(ways)} |")
    return "\n".join(lines)


def tools() -> str:
    """List the tools that have a page, with its first sentence."""
    lines = ["| tool | what it does |", "|---|---|"]
    for name in TOOLS:
        page = DOCS / "tools" / f"{name}.md"
        if page.exists():
            sentence = LINK.sub(r"\1", page.read_text(encoding="utf-8").split("\n\n")[1])
            lines.append(f"| [`{name}`](tools/{name}.md) | {cell(sentence)} |")
    return "\n".join(lines)


def parameters(name: str, mode: str = EDIT_MODES[0]) -> str:
    """List the parameters that a tool accepts; `mode` is the edit mode."""
    settings = Settings(edit=EditSettings(mode=msgspec.convert(mode, EditMode)))
    tool = TOOLS[name].make(ToolParts(settings))
    lines = ["| parameter | value | default | what it is |", "|---|---|---|---|"]
    return "\n".join([*lines, *_fields(full_schema(tool.params), _defaults(tool))])


def _fields(schema: dict[str, Any], defaults: dict[str, str], above: str = "") -> list[str]:
    """Return one row per field; fields of objects in a list follow their list."""
    rows: list[str] = []
    for name, field in schema["properties"].items():
        default = "required" if name in schema.get("required", ()) else defaults.get(name, "")
        rows.append(f"| `{above}{name}` | {_value(field)} | {default} | {cell(_text(field))} |")
        inner = next((one["items"] for one in (field, *field.get("anyOf", ())) if "items" in one), {})
        if "properties" in inner:
            rows += _fields(inner, {}, f"{above}{name}[].")
    return rows


def _text(field: dict[str, Any]) -> str:
    """What a parameter is, and whether a model has to know about it itself."""
    text: str = field.get("description") or field.get("title", "")
    return f"{text}; not listed for the model" if "unlisted" in field else text


def _defaults(tool: Tool[Any]) -> dict[str, str]:
    """Return the parameters' defaults, where meaningful."""
    fields = msgspec.structs.fields(tool.params) if hasattr(tool, "params") else ()
    silent = (msgspec.NODEFAULT, None, "")
    return {one.encode_name: f"`{show_value(one.default)}`" for one in fields if one.default not in silent}


def _value(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_value(one) for one in schema["anyOf"] if one != {"type": "null"})
    if "enum" in schema:
        return " or ".join(f"`{one}`" for one in schema["enum"])
    kind: str = schema.get("type", "any value")
    if kind == "array":
        return f"list of {_value(schema.get('items', {}))}s"
    return {"string": "text", "boolean": "true or false", "integer": "whole number"}.get(kind, kind)


def languages() -> str:
    return f"Languages: {', '.join(LANGUAGES)}."


def limits(name: str) -> str:
    """List the limits of a tool."""
    lines = ["| limit | |", "|---|---|"]
    return "\n".join([*lines, *(f"| {cell(what)} | {amount} |" for what, amount in LIMITS[name])])


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def mcp_fields() -> str:
    """List the fields of a server's definition."""
    (_,), parts = msgspec.json.schema_components([McpServer])
    lines = ["| field | value | what it is |", "|---|---|---|"]
    for name, field in parts["McpServer"]["properties"].items():
        if "description" in field:
            lines.append(f"| `{name}` | {_value(field)} | {cell(field['description'])} |")
    return "\n".join(lines)


TABLES: dict[str, Callable[..., str]] = {
    "searches": searches,
    "sites": sites,
    **COMMAND_TABLES,
    **KEY_TABLES,
    **RPC_TABLES,
    "flags": flags,
    "settings": settings,
    "providers": providers,
    "relay": relay,
    "tools": tools,
    "parameters": parameters,
    "limits": limits,
    "languages": languages,
    "mcp_fields": mcp_fields,
}


def with_tables(text: str) -> str:
    """Return the page with its tables regenerated. Raises KeyError for an unknown table name."""

    def regenerate(block: re.Match[str]) -> str:
        return f"{block[1]}\n{TABLES[block[2]](*block[3].split())}\n\n{block[4]}"

    return BLOCK.sub(regenerate, text)


def main() -> int:
    stale = []
    for page in sorted(DOCS.rglob("*.md")):
        old = page.read_text(encoding="utf-8")
        new = with_tables(old)
        if new != old:
            stale.append(str(page.relative_to(DOCS)))
            if "--check" not in sys.argv:
                page.write_text(new, encoding="utf-8")
    for target, text in (
        (rpc_methods.TARGET, rpc_methods.render()),
        (DOCS / "rpc-schema.json", rpc_schema()),
    ):
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            stale.append(target.name)
            if "--check" not in sys.argv:
                target.write_text(text, encoding="utf-8")
    if "--check" in sys.argv:
        if stale:
            print(f"Out of date: {', '.join(stale)}. Run `make docs` to update them.", file=sys.stderr)
        return 1 if stale else 0
    print(f"Written: {', '.join(stale)}" if stale else "All tables are current.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
