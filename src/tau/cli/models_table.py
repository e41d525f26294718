"""`tau --list-models`: models with their features, prices and key status."""

import os
from pathlib import Path

from msgspec import json

from tau.ai.catalog import load_catalog
from tau.ai.http import HttpTransport
from tau.ai.local.discovery import discover
from tau.ai.model import Model
from tau.ai.model_search import find_models, models_in_order
from tau.base.run import LocalRunner
from tau.config.auth_file import AuthFile
from tau.config.credentials import KeyCredentials
from tau.config.layers import load_settings
from tau.config.models_file import load_models_file, merge_models
from tau.config.paths import user_paths
from tau.config.settings import LocalSettings
from tau.modes.columns import align_rows

HEADS = ("provider", "model", "name", "context", "output", "thinks", "images", "$ in", "$ out", "key")
RIGHT = {HEADS.index(head) for head in ("context", "output", "$ in", "$ out")}


async def models_table(
    query: str, provider: str | None, cwd: Path, config_files: tuple[Path, ...], *, as_json: bool = False
) -> str:
    """Format the table, or nothing if no model matches. Prices are per million tokens."""
    found = await listed_models(query, provider, cwd, config_files)
    if not found:
        return ""
    if as_json:
        return json.format(json.encode([json_row(*one) for one in found]), indent=2).decode() + "\n"
    return "\n".join([*align_rows([HEADS, *(_row(*one) for one in found)], RIGHT), ""])


async def listed_models(
    query: str, provider: str | None, cwd: Path, config_files: tuple[Path, ...]
) -> list[tuple[Model, str]]:
    """Models, and whether each has a key."""
    paths = user_paths()
    settings = load_settings(paths, cwd, files=config_files).settings
    models_file = load_models_file(paths.models)
    catalog = merge_models(load_catalog(), models_file)
    keys = KeyCredentials(catalog, AuthFile(paths.auth), LocalRunner(), os.environ, models=models_file.keys)
    local = await local_models(settings.local)
    everything = catalog.with_models(local)
    served = {model.provider for model in local}
    found = find_models(everything, query, provider) if query else everything.models
    listed = {
        model.key: model for model in found if not provider or model.provider.lower() == provider.lower()
    }
    first = [
        model.key for model in models_in_order(everything, settings.enabled_models) if model.key in listed
    ]
    status: dict[str, str] = {}
    for owner in {model.provider for model in listed.values()}:
        row = everything.providers.get(owner)
        free = owner in served or (row is not None and row.local)
        status[owner] = "not needed" if free else "yes" if keys.available(owner) else "no"
    return [(listed[key], status[listed[key].provider]) for key in dict.fromkeys((*first, *listed))]


async def local_models(settings: LocalSettings) -> list[Model]:
    """The models of servers on this machine."""
    if not settings.discover:
        return []
    http = HttpTransport(os.environ)
    try:
        servers = await discover(http, os.environ, num_ctx=settings.num_ctx, images=settings.images)
        return [model for found in servers for model in found.models]
    finally:
        await http.close()


def _row(model: Model, key: str) -> tuple[str, ...]:
    free = not model.cost.input and not model.cost.output
    return (
        model.provider,
        model.id,
        model.name,
        token_count(model.context_window),
        token_count(model.max_tokens),
        "yes" if model.reasoning else "no",
        "yes" if "image" in model.input else "no",
        "-" if free else f"{model.cost.input:g}",
        "-" if free else f"{model.cost.output:g}",
        key,
    )


def json_row(model: Model, key: str) -> dict[str, object]:
    return {
        "provider": model.provider,
        "id": model.id,
        "name": model.name,
        "contextWindow": model.context_window,
        "maxTokens": model.max_tokens,
        "reasoning": model.reasoning,
        "thinkingLevels": model.thinking_levels(),
        "input": model.input,
        "cost": model.cost,
        "key": key,
    }


def token_count(count: int) -> str:
    if count >= 1_000_000:
        return f"{count / 1_000_000:.1f}".removesuffix(".0") + "M"
    return f"{count / 1000:.0f}K" if count >= 1000 else str(count)
