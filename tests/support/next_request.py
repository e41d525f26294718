"""Checks a history as the next request would send it, in every dialect."""

import importlib
from collections.abc import Sequence
from typing import Any

import msgspec

from tau.ai.apis import DIALECTS
from tau.ai.catalog import load_catalog
from tau.ai.dialect import Request
from tau.ai.model import Model
from tau.ai.normalization import normalize_history
from tau.ai.wire import AppMessage, UserMessage
from tests.support.fake_dialects import BY_API

_MODELS: dict[str, Model] = {model.api: model for model in load_catalog().models}


def problems(history: Sequence[AppMessage]) -> list[str]:
    """What servers would refuse about it; empty if all of them would take it."""
    asked = [*history, UserMessage("go on", 99)]
    found: list[str] = []
    for api in DIALECTS:
        model = _MODELS.get(api) or Model(id="m", name="M", api=api, provider="p", base_url="")
        request = Request(system="s", messages=normalize_history(asked, model), tools=[], max_tokens=100)
        module: Any = importlib.import_module(f"tau.ai.apis.{api.replace('-', '_')}")
        body = msgspec.to_builtins(module.build_body(model, request))
        found += BY_API[api].validate(msgspec.json.decode(body) if isinstance(body, bytes) else body)
    return found
