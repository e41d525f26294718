"""Writes the model tables in src/tau/ai/data/models, one file per provider, and docs/model-data.md.

.venv/bin/python tools/models_data.py [FOLDER WITH THE PACKAGES]

The models come from pi-ai, service tiers and hour-long cache writes from litellm; prices are compared with
litellm and genai-prices. `tools/models_extra.json` has what pi-ai lacks. Nothing downloaded is installed.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from model_sources import (
    FIELDS,
    GENAI_PRICES,
    LITELLM,
    PI_AI,
    TIERS,
    Sources,
    download,
    genai_price,
    litellm_price,
    litellm_rates,
    litellm_steps,
    read_sources,
)

from tau.ai.catalog import DATA, ModelRow, Provider, load_providers
from tau.ai.model import THINKING_LEVELS, Compat
from tau.ai.model_search import DATE

ROOT = Path(__file__).resolve().parent.parent
EXTRA = ROOT / "tools" / "models_extra.json"
PAGE = ROOT / "docs" / "model-data.md"
CACHE = Path.home() / ".cache" / "tau-models-data"

# Our name for a provider, where pi-ai has another one.
FILES = {
    "kimi-code": "kimi-coding",
    "moonshot": "moonshotai",
    "moonshot-cn": "moonshotai-cn",
    "opencode-zen": "opencode",
    "zai-coding-plan": "zai",
    "zhipu-coding-plan": "zai-coding-cn",
}
# Logins that their vendors do not open to other programs, a gateway with its own dialect, classifiers.
SKIPPED_FILES = {
    "github-copilot": "its plan is for its own clients",
    "radius": "has its own dialect",
    "typesafe": "has no chat models",
}
# Providers that serve each model in one of several dialects, at an address of its own.
MIXED = {"openrouter", "opencode-zen", "opencode-go", "cloudflare-ai-gateway"}
APIS = {
    "openai-codex-responses": "openai-responses",
    "azure-openai-responses": "openai-responses",
    "google-vertex": "google-generative-ai",
}
FLAGS = {
    "supportsReasoningEffort": "supportsReasoningEffort",
    "maxTokensField": "maxTokensField",
    "forceAdaptiveThinking": "adaptiveThinking",
    "supportsTemperature": "supportsTemperature",
    "supportsOpenAIGrammarTools": "grammarTools",
    "supportsExplicitPromptCacheMode": "cacheDiagnostics",
    "allowEmptySignature": "allowEmptySignature",
}
# Budgets that differ from the usual ones: this model cannot stop thinking.
LEVELS = {
    f"{provider}/gemini-2.5-pro": {"off": "128", "xhigh": "32768"} for provider in ("google", "google-vertex")
}
FAST_MODE = "fast-mode-2026-02-01"  # the beta that Anthropic asks for
FORMATS = {"openrouter", "deepseek", "zai", "qwen", "together"}
DIFFERS = 0.005  # of a price: rounding is no difference


class Difference(NamedTuple):
    model: str
    field: str
    ours: float
    litellm: float | None
    genai: float | None


class Tables(NamedTuple):
    rows: dict[str, list[dict[str, Any]]]
    differences: list[Difference]
    compared: int
    skipped: dict[str, int]


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else CACHE
    download(folder)
    sources = read_sources(folder)
    tables = build_tables(sources, load_providers(), msgspec.json.decode(EXTRA.read_bytes()))
    write_tables(tables.rows)
    PAGE.write_text(describe(tables, sources))
    models = sum(len(rows) for rows in tables.rows.values())
    print(
        f"Wrote {models:,} models of {len(tables.rows)} providers; {len(tables.differences)} prices differ."
    )


def build_tables(
    sources: Sources, providers: Mapping[str, Provider], extra: Mapping[str, list[dict[str, Any]]]
) -> Tables:
    tables = Tables({}, [], 0, {file: len(sources.models[file]) for file in SKIPPED_FILES})
    compared = 0
    for provider in providers.values():
        rows = {}
        for plain in sources.models.get(FILES.get(provider.id, provider.id), ()):
            if plain["type"] != "chat" or plain["id"].endswith((":batch", "-batch")):
                continue  # batches are no conversation
            if provider.id == "zai" and not plain["cost"]["input"]:
                continue  # only sold with the plan
            row, differences = build_row(provider, plain, sources)
            rows[row["id"]] = row
            compared += differences is not None
            tables.differences.extend(differences or ())
        for row in extra.get(provider.id, ()):
            rows.setdefault(row["id"], row)
        if rows:
            first = provider.default_model
            tables.rows[provider.id] = sorted(rows.values(), key=lambda row: _place(row["id"], first))
    return tables._replace(compared=compared)


def build_row(
    provider: Provider, plain: Mapping[str, Any], sources: Sources
) -> tuple[dict[str, Any], list[Difference] | None]:
    """A row of our table, and the prices that differ elsewhere; None if nobody else lists the model."""
    id, window = plain["id"], plain["contextWindow"]
    levels = plain.get("thinkingLevelMap") or LEVELS.get(f"{provider.id}/{id}", {})
    limits = plain.get("inputLimits") or {}
    cost, differences = ({}, None) if provider.plan else build_cost(provider.id, plain, sources)
    compat = dict(_compat(provider, plain.get("compat") or {}))
    if "fast" in cost.get("tiers", {}):
        compat["fastMode"] = FAST_MODE
    row = {
        "id": id,
        "name": _name(plain),
        "api": _api(provider, plain),
        "baseUrl": _address(provider, plain),
        "reasoning": plain["reasoning"],
        "thinkingLevelMap": {level: levels[level] for level in THINKING_LEVELS if level in levels},
        "input": [kind for kind in ("text", "image") if kind in plain["input"]],
        "cost": cost,
        "contextWindow": window,
        "maxTokens": plain["maxTokens"] if plain["maxTokens"] < window else window // 2,
        "cacheSeconds": plain.get("promptCache"),
        "limits": _without_zeros(
            {
                "maxRequestBytes": limits.get("maxRequestBytes"),
                "maxImages": limits.get("images", {}).get("maxPerRequest"),
                "maxImagesPerMessage": limits.get("images", {}).get("maxPerMessage"),
            }
        ),
        "headers": plain.get("headers"),
        "compat": compat,
    }
    if row["input"] == ["text"]:
        del row["input"]
    return _without_zeros(row), differences


def _place(id: str, first: str) -> tuple[bool, bool, str]:
    """The default model, then the others by id, those with a date last."""
    return id != first, DATE.search(id) is not None, id


def _name(plain: Mapping[str, Any]) -> str:
    """A version with a date says so: the newest one has the same name otherwise."""
    name = plain["name"].removesuffix(" (latest)")
    date = DATE.search(plain["id"])
    return f"{name} ({date[1]})" if date and date[1] not in name else name


def _api(provider: Provider, plain: Mapping[str, Any]) -> str:
    api = APIS.get(plain["api"], plain["api"])
    return api if provider.id in MIXED and api != provider.api else ""


def _address(provider: Provider, plain: Mapping[str, Any]) -> str:
    """Only if the dialect is elsewhere: `anthropic-messages` adds the version to its path itself."""
    address = plain["baseUrl"].rstrip("/")
    same = (provider.base_url, provider.base_url.removesuffix("/v1"))
    return address if provider.id in MIXED and address not in same else ""


def _compat(provider: Provider, flags: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Our names of the flags, where they change something."""
    ours = msgspec.to_builtins(provider.compat)
    found = {name: flags[theirs] for theirs, name in FLAGS.items() if theirs in flags}
    if flags.get("thinkingFormat") in FORMATS:
        found["thinkingFormat"] = flags["thinkingFormat"]
    if flags.get("requiresReasoningContentOnAssistantMessages"):
        found["thinkingField"] = "reasoning_content"
    defaults = msgspec.to_builtins(Compat())
    for name, value in found.items():
        if value != ours.get(name, defaults[name]):
            yield name, value


def build_cost(
    provider: str, plain: Mapping[str, Any], sources: Sources
) -> tuple[dict[str, Any], list[Difference] | None]:
    theirs = plain["cost"]
    cost: dict[str, Any] = {name: theirs[name] for name in FIELDS if theirs[name]}
    listed = litellm_price(sources.litellm, provider, plain["id"])
    rates = litellm_rates(listed) if listed else {}
    genai = genai_price(sources.genai, provider, plain["id"])
    if listed and rates.get("cacheWrite1h"):
        cost["cacheWrite1h"] = rates["cacheWrite1h"]
    if steps := theirs.get("tiers"):
        cost["steps"] = [_step(step, cost) for step in sorted(steps, key=lambda one: one["inputTokensAbove"])]
    tiers = dict(_tiers(listed)) if listed else {}
    if listed and listed.get("supports_fast_mode"):
        times = listed["provider_specific_entry"]["fast"]
        tiers["fast"] = {name: round(price * times, 6) for name, price in cost.items()}
    if tiers:
        cost["tiers"] = tiers
    if not rates and not genai:
        return cost, None
    key = f"{provider}/{plain['id']}"
    return cost, list(_differences(key, theirs, rates, genai or {}))


def _step(step: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """The hour-long write keeps its ratio to the input price."""
    found = {name: step[name] for name in ("inputTokensAbove", *FIELDS) if step[name]}
    if "cacheWrite1h" in base and base["input"]:
        found["cacheWrite1h"] = round(base["cacheWrite1h"] * step["input"] / base["input"], 6)
    return found


def _tiers(listed: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for tier in TIERS:
        rates = litellm_rates(listed, f"_{tier}")
        if "input" in rates and "output" in rates:
            steps = litellm_steps(listed, f"_{tier}")
            yield tier, {**rates, "steps": steps} if steps else dict(rates)


def _differences(
    model: str, ours: Mapping[str, float], litellm: Mapping[str, float], genai: Mapping[str, float]
) -> Iterator[Difference]:
    for field in FIELDS:
        others = (litellm.get(field), genai.get(field))
        if any(
            other is not None and abs(other - ours[field]) > DIFFERS * max(other, ours[field])
            for other in others
        ):
            yield Difference(model, field, ours[field], *others)


def _without_zeros(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value}


def write_tables(rows: Mapping[str, list[dict[str, Any]]]) -> None:
    """One row per line, so that a change is one line of a diff."""
    folder = DATA / "models"
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.json"):
        if old.stem not in rows:
            old.unlink()
    for provider, models in rows.items():
        msgspec.convert(models, list[ModelRow])
        lines = ",\n".join(msgspec.json.encode(model).decode() for model in models)
        (folder / f"{provider}.json").write_text(f"[\n{lines}\n]\n")


def describe(tables: Tables, sources: Sources) -> str:
    names = [f"{name} {version}" for name, version in (PI_AI, GENAI_PRICES, LITELLM)]
    lines = [
        "# Model data",
        "",
        "tau ships tables of the models it knows, one file per provider in `src/tau/ai/data/models`.",
        "`tools/models_data.py` writes them and this page. For newer data, change the versions in",
        "`tools/model_sources.py` and run it again.",
        "",
        "| package | license | what is taken from it |",
        "|---|---|---|",
        f"| npm `{names[0]}` of {sources.generated} | MIT | models, limits, thinking levels, prices |",
        f"| PyPI `{names[1]}` | MIT | a second opinion on prices |",
        f"| PyPI `{names[2]}` | MIT | a third one; prices of service tiers and of hour-long cache writes |",
        "",
        "Models of vendors whose logins other programs may not use are left out, and so are batch variants.",
        "Models of plans have no price: the plan is paid, not the tokens.",
        "",
        "## Models by provider",
        "",
        "| provider | models | with long-context prices | with tiers |",
        "|---|---:|---:|---:|",
    ]
    for provider, rows in tables.rows.items():
        steps = sum("steps" in row.get("cost", {}) for row in rows)
        tiers = sum("tiers" in row.get("cost", {}) for row in rows)
        lines.append(f"| `{provider}` | {len(rows)} | {steps or ''} | {tiers or ''} |")
    lines += [
        "",
        "## Prices that differ",
        "",
        f"{tables.compared:,} models are priced by another package too. tau uses the price of pi-ai; these",
        "differ by more than half a percent (US dollars per million tokens; empty: not listed).",
        "",
        "| model | price | pi-ai | litellm | genai-prices |",
        "|---|---|---:|---:|---:|",
    ]
    for one in tables.differences:
        cells = ("" if price is None else f"{price:g}" for price in (one.ours, one.litellm, one.genai))
        lines.append(f"| `{one.model}` | {one.field} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
