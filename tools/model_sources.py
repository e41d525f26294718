"""The packages that the model tables come from: where to get them, and what they say about prices."""

import ast
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

PI_AI = ("@earendil-works/pi-ai", "1.5.0")
GENAI_PRICES = ("genai-prices", "0.2.1")
LITELLM = ("litellm", "1.108.4")

FIELDS = ("input", "output", "cacheRead", "cacheWrite")
LITELLM_FIELDS = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "cacheRead": "cache_read_input_token_cost",
    "cacheWrite": "cache_creation_input_token_cost",
}
GENAI_FIELDS = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cacheRead": "cache_read_mtok",
    "cacheWrite": "cache_write_mtok",
}
TIERS = ("flex", "priority")

Rates = dict[str, float]


class Sources(NamedTuple):
    """`models` has the rows of pi-ai by file; the others have prices."""

    models: dict[str, list[dict[str, Any]]]
    generated: str
    litellm: dict[str, dict[str, Any]]
    genai: dict[str, list[dict[str, Any]]]


def download(folder: Path) -> None:
    """Fetch the packages that `folder` lacks. Nothing is installed."""
    folder.mkdir(parents=True, exist_ok=True)
    if not _archive(folder, PI_AI):
        subprocess.run(["npm", "pack", "--silent", "@".join(PI_AI)], cwd=folder, check=True)
    for package in (GENAI_PRICES, LITELLM):
        if not _archive(folder, package):
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
            subprocess.run([*command, "==".join(package)], check=True)


def read_sources(folder: Path) -> Sources:
    with tarfile.open(_archive(folder, PI_AI)[0]) as package:
        files = {Path(name).name: name for name in package.getnames() if "/providers/data/" in name}
        plain = {
            name: msgspec.json.decode(_member(package, path))
            for name, path in files.items()
            if name.endswith(".json")
        }
    manifest = plain.pop(".manifest.json")
    models = {
        name.removesuffix(".json"): [row for rows in by_api.values() for row in rows.values()]
        for name, by_api in plain.items()
    }
    litellm = _wheel_member(folder, LITELLM, "litellm/model_prices_and_context_window_backup.json")
    genai = _wheel_member(folder, GENAI_PRICES, "genai_prices/data.py")
    return Sources(models, manifest["generatedAt"][:10], msgspec.json.decode(litellm), _genai_models(genai))


def _archive(folder: Path, package: tuple[str, str]) -> list[Path]:
    name, version = package
    stem = name.removeprefix("@").replace("/", "-")
    return sorted(
        [*folder.glob(f"{stem}-{version}.tgz"), *folder.glob(f"{stem.replace('-', '_')}-{version}-*")]
    )


def _member(package: tarfile.TarFile, path: str) -> bytes:
    file = package.extractfile(path)
    assert file is not None
    return file.read()


def _wheel_member(folder: Path, package: tuple[str, str], name: str) -> bytes:
    with zipfile.ZipFile(_archive(folder, package)[0]) as wheel:
        return wheel.read(name)


LITELLM_PREFIXES: Mapping[str, Sequence[str]] = {
    "amazon-bedrock": ("", "bedrock/"),
    "anthropic": ("",),
    "azure": ("azure/", "azure_ai/"),
    "baseten": ("baseten/",),
    "cerebras": ("cerebras/",),
    "deepseek": ("deepseek/",),
    "fireworks": ("fireworks_ai/",),
    "google": ("gemini/",),
    "google-vertex": ("vertex_ai/", ""),
    "groq": ("groq/",),
    "meta": ("meta/",),
    "minimax": ("minimax/",),
    "mistral": ("mistral/",),
    "moonshot": ("moonshot/",),
    "openai": ("",),
    "openrouter": ("openrouter/",),
    "together": ("together_ai/",),
    "vercel-ai-gateway": ("vercel_ai_gateway/",),
    "xai": ("xai/",),
    "zai": ("zai/",),
}


def litellm_price(table: Mapping[str, dict[str, Any]], provider: str, id: str) -> dict[str, Any] | None:
    names = (prefix + id for prefix in LITELLM_PREFIXES.get(provider, ()))
    return next((table[name] for name in names if name in table), None)


def litellm_rates(price: Mapping[str, Any], suffix: str = "") -> Rates:
    """Dollars per million tokens, of the plain price or of a variant such as `_flex`."""
    found = {name: price.get(key + suffix) for name, key in LITELLM_FIELDS.items()}
    if not suffix:
        found["cacheWrite1h"] = price.get("cache_creation_input_token_cost_above_1hr")
    return {name: per_million(value) for name, value in found.items() if isinstance(value, (int, float))}


def litellm_steps(price: Mapping[str, Any], suffix: str = "") -> list[Rates]:
    """The rates of long prompts, shortest first."""
    steps = []
    for key in price:
        if match := re.fullmatch(rf"input_cost_per_token_above_(\d+)k_tokens{suffix}", key):
            above = f"_above_{match[1]}k_tokens{suffix}"
            steps.append({"inputTokensAbove": int(match[1]) * 1000, **litellm_rates(price, above)})
    return sorted(steps, key=lambda step: step["inputTokensAbove"])


def per_million(dollars: float) -> float:
    return round(dollars * 1_000_000, 6)


GENAI_PROVIDERS = {
    "amazon-bedrock": "aws",
    "anthropic": "anthropic",
    "azure": "azure",
    "cerebras": "cerebras",
    "deepseek": "deepseek",
    "fireworks": "fireworks",
    "google": "google",
    "google-vertex": "google",
    "groq": "groq",
    "mistral": "mistral",
    "moonshot": "moonshotai",
    "openai": "openai",
    "openrouter": "openrouter",
    "together": "together",
    "xai": "x-ai",
}


def _genai_models(source: bytes) -> dict[str, list[dict[str, Any]]]:
    for node in ast.parse(source).body:
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            return {row["id"]: row["models"] for row in _literal(node.value)}
    raise ValueError("genai-prices has another form than expected")


def _literal(node: ast.expr) -> Any:
    match node:
        case ast.Constant():
            return node.value
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_literal(item) for item in items]
        case ast.Dict():
            return {
                _literal(key): _literal(value)
                for key, value in zip(node.keys, node.values, strict=True)
                if key
            }
        case ast.Call(func=ast.Name(id="Decimal"), args=[number]):
            return float(_literal(number))
        case ast.Call(func=ast.Attribute(), args=args):
            return "-".join(f"{_literal(part):02}" for part in args)  # datetime.date(2026, 10, 12)
        case ast.Call(func=ast.Name(id=name), keywords=fields):
            return {"kind": name} | {field.arg: _literal(field.value) for field in fields if field.arg}
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_literal(operand)
    raise ValueError(f"genai-prices has an unexpected {type(node).__name__}")


def genai_price(table: Mapping[str, list[dict[str, Any]]], provider: str, id: str) -> Rates | None:
    """The current price without conditions; None if the model is not listed."""
    for model in table.get(GENAI_PROVIDERS.get(provider, ""), ()):
        if _matches(model["match"], id):
            prices = model.get("prices") or {}
            if isinstance(prices, list):  # with conditions such as a start date: the last one is the newest
                prices = prices[-1].get("prices", {})
            return dict(_genai_rates(prices))
    return None


def _genai_rates(prices: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for name, key in GENAI_FIELDS.items():
        value = prices.get(key)
        if isinstance(value, dict):
            value = value["base"]
        if value is not None:
            yield name, value


def _matches(clause: Mapping[str, Any], id: str) -> bool:
    id = id.lower()
    match clause["kind"]:
        case "ClauseEquals":
            return id == clause["equals"].lower()
        case "ClauseStartsWith":
            return id.startswith(clause["starts_with"].lower())
        case "ClauseEndsWith":
            return id.endswith(clause["ends_with"].lower())
        case "ClauseContains":
            return clause["contains"].lower() in id
        case "ClauseRegex":
            return re.search(clause["regex"], id) is not None
        case "ClauseOr":
            return any(_matches(part, id) for part in clause["or_"])
        case "ClauseAnd":
            return all(_matches(part, id) for part in clause["and_"])
    raise ValueError(f"genai-prices has an unexpected {clause['kind']}")
