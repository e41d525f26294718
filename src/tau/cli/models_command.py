"""`tau models`: lists, searches and describes models, and asks servers for new ones."""

import asyncio
import os
from collections.abc import Iterator, Sequence

from msgspec import to_builtins

from tau.ai.catalog import Provider, load_catalog, pick_model
from tau.ai.http import HttpTransport
from tau.ai.model import Model, Rates, SteppedRates
from tau.base import secrets
from tau.base.errors import UsageError
from tau.base.late import late
from tau.base.run import LocalRunner
from tau.cli.json_output import write_json
from tau.cli.main import write_stdout
from tau.cli.models_table import json_row, local_models, models_table, token_count
from tau.cli.subcommand_flags import parse_subcommand
from tau.cli.subcommand_help import usage_line
from tau.config.auth_file import AuthFile
from tau.config.credentials import KeyCredentials
from tau.config.layers import load_settings
from tau.config.models_file import load_models_file, merge_models
from tau.config.paths import current_folder, user_paths

served_models = late("tau.config.served_models")

ACTIONS = ("list", "search", "show", "refresh")
HIDDEN = " (a guess: the server does not say if it takes images or calls tools; see local.images)"
RATE_NAMES = (
    ("input", "in"),
    ("output", "out"),
    ("cache_read", "cached"),
    ("cache_write", "cache write"),
    ("cache_write_1h", "1-hour cache write"),
)


def run(words: Sequence[str]) -> int:
    """Run the subcommand. Raises UsageError and ConfigError."""
    parsed = parse_subcommand("models", words)
    as_json = parsed.has("json")
    action, *rest = parsed.words or ["list"]
    match action, rest:
        case "list", ([] | [_]):
            return _list(" ".join(rest), as_json=as_json)
        case "search", [_, *_]:
            return _list(" ".join(rest), as_json=as_json)
        case "show", [pattern]:
            return _show(pattern, as_json=as_json)
        case "refresh", ([] | [_]):
            return _refresh(rest[0] if rest else None, as_json=as_json)
    raise UsageError(usage_line("models"))


def _list(query: str, *, as_json: bool) -> int:
    table = asyncio.run(models_table(query, None, current_folder(), (), as_json=as_json))
    if not table:
        raise UsageError(f'No model matches "{query}"; list all with tau models.')
    return write_stdout(table)


def _show(pattern: str, *, as_json: bool) -> int:
    paths = user_paths()
    file = load_models_file(paths.models)
    settings = load_settings(paths, current_folder()).settings
    served = asyncio.run(local_models(settings.local))
    catalog = merge_models(load_catalog(), file).with_models(served)
    keys = KeyCredentials(catalog, AuthFile(paths.auth), LocalRunner(), os.environ, models=file.keys)
    match = pick_model(catalog, pattern, prefer=keys.providers_with_keys())
    model = match.model
    server = Provider(id=model.provider, name=model.provider, api=model.api, base_url="", local=True)
    row = catalog.providers.get(model.provider, server)
    key = "not needed" if row.local else "yes" if keys.available(row.id) else "no"
    if as_json:
        shown = {**json_row(model, key), **_details(model), "known": match.known}
        return write_json(shown)
    facts = [
        ("name", model.name + ("" if match.known else " (not in the table; limits are guessed)")),
        ("provider", f"{row.name} ({model.api} at {secrets.mask(model.base_url)})"),
        (
            "context",
            f"{token_count(model.context_window)} tokens, answers up to {token_count(model.max_tokens)}",
        ),
        ("input", ", ".join(model.input) + (HIDDEN if model.compat.hides_abilities else "")),
        ("thinking", ", ".join(model.thinking_levels()) if model.reasoning else "no"),
        *_prices(model, is_plan=row.plan),
        *_limits(model),
        ("key", _key_advice(key, row.key_variables, row.key_page)),
    ]
    width = max(len(name) for name, _ in facts) + 2
    lines = [model.key, *(f"  {name:{width}}{text}" for name, text in facts)]
    return write_stdout("\n".join(lines) + "\n")


def _details(model: Model) -> dict[str, object]:
    return {
        "api": model.api,
        "baseUrl": secrets.mask(model.base_url),
        "cacheSeconds": to_builtins(model.cache_seconds),
        "limits": to_builtins(model.limits),
    }


def _prices(model: Model, *, is_plan: bool) -> Iterator[tuple[str, str]]:
    """Per million tokens: the plain rates, longer prompts, service tiers."""
    if not (model.cost.input or model.cost.output):
        yield "price", "included in the plan" if is_plan else "unknown or free"
        return
    yield from _stepped("price", model.cost)
    for tier, rates in model.cost.tiers.items():
        yield from _stepped(tier, rates)


def _stepped(name: str, rates: SteppedRates) -> Iterator[tuple[str, str]]:
    yield name, _rates(rates)
    for step in rates.steps:
        yield f"{name} above {token_count(step.input_tokens_above)}", _rates(step)


def _rates(rates: Rates) -> str:
    known = ((getattr(rates, field), name) for field, name in RATE_NAMES)
    return ", ".join(f"${price:g} {name}" for price, name in known if price) + " per million tokens"


def _limits(model: Model) -> Iterator[tuple[str, str]]:
    if model.cache_seconds.short:
        yield "cache", f"{model.cache_seconds.short} s, or {model.cache_seconds.long} s with long retention"
    if model.limits.max_images:
        yield "images", f"up to {model.limits.max_images:,} in a request"


def _key_advice(key: str, variables: Sequence[str], page: str) -> str:
    if key != "no":
        return key
    ways = f"set {' or '.join(variables)}" if variables else "add one to auth.json"
    return f"no: {ways}{f'; create one at {page}' if page else ''}"


def _refresh(provider: str | None, *, as_json: bool) -> int:
    counts = asyncio.run(_ask_servers(provider))
    if as_json:
        return write_json(counts)
    lines = (f"{id}: {count} model{'' if count == 1 else 's'}\n" for id, count in counts.items())
    return write_stdout("".join(lines))


async def _ask_servers(provider: str | None) -> dict[str, int]:
    paths = user_paths()
    file = load_models_file(paths.models)
    catalog = merge_models(load_catalog(), file)
    if provider is not None and provider not in catalog.providers:
        raise UsageError(f'Unknown provider "{provider}"; list them with tau completions values providers.')
    ids = [provider] if provider else [id for id, row in file.providers.items() if row.discovery]
    if not ids:
        raise UsageError(
            'No provider in models.json has "discovery"; name a provider: tau models refresh openrouter.'
        )
    settings = load_settings(paths, current_folder()).settings
    http = HttpTransport(os.environ)
    keys = KeyCredentials(catalog, AuthFile(paths.auth), LocalRunner(), os.environ, models=file.keys)
    try:
        return {
            id: await served_models.refresh(
                http,
                catalog.providers[id],
                file.providers.get(id),
                keys,
                paths,
                local=settings.local,
                plain_hosts=settings.keys.plain_http_hosts,
            )
            for id in ids
        }
    finally:
        await http.close()
