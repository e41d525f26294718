"""SGLang's own detectors as a second opinion: they find the same calls in the same answers."""

import enum
import importlib
import json
import sys
import types
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from tests.ai.text_calls.install import detectors
from tests.ai.text_calls.reading import read
from tests.ai.text_calls.written import FORMATS, TOOLS, written

ANSWERS = 36  # of each format: 504 in all
pydantic = pytest.importorskip("pydantic", reason="needs the extra `judges`")


class Anything:
    """Replaces all that the detectors import and do not need."""

    def __getattr__(self, name: str) -> Any:
        return Anything()

    def __call__(self, *_: Any, **__: Any) -> Any:
        return Anything()

    def __bool__(self) -> bool:
        return False


class Stub(types.ModuleType):
    """A module of SGLang that needs torch."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return enum.Enum(name, {}) if name.endswith("Level") else type(name, (), {})


def stub(name: str, **members: Any) -> types.ModuleType:
    module = Stub(name)
    module.__dict__.update(members)
    return module


@pytest.fixture(scope="module")
def sglang() -> Iterator[Any]:
    """Loads a detector by name."""
    folder = detectors()
    if not folder.is_dir():
        pytest.skip("SGLang's detectors are not installed: run python -m tests.ai.text_calls.install")

    function = pydantic.create_model("Function", name=(str, ""), parameters=(dict, {}), description=(str, ""))
    tool = pydantic.create_model("Tool", type=(str, "function"), function=(function, ...))
    names = (
        "sglang",
        "sglang.srt",
        "sglang.srt.entrypoints",
        "sglang.srt.entrypoints.openai",
        "sglang.srt.parser",
    )
    packages = {name: types.ModuleType(name) for name in names}
    for name in packages:
        packages[name].__path__ = [str(folder / name.replace(".", "/"))]
    stubs = {
        **packages,
        "sglang.srt.entrypoints.openai.protocol": stub("protocol", Tool=tool, Function=function),
        "sglang.srt.environ": stub("environ", envs=Anything()),
    }
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    sys.modules.update(stubs)

    def load(path: str) -> Any:
        module, _, name = path.rpartition(".")
        known = [
            tool(function=function(name=one.name, parameters=one.parameters, description="")) for one in TOOLS
        ]
        detector = getattr(importlib.import_module(f"sglang.srt.function_call.{module}"), name)

        def calls(text: str) -> list[tuple[str, Any]]:
            found = detector().detect_and_parse(text, known).calls
            return [(call.name, json.loads(call.parameters)) for call in found]

        return calls

    try:
        yield load
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            if name.startswith(("sglang", "orjson", "partial_json_parser")):
                del sys.modules[name]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("format", FORMATS)
def test_detectors_find_the_same_calls(format: str, sglang: Any) -> None:
    detect = sglang(FORMATS[format][1])
    for seed in range(ANSWERS):
        answer, calls = written(Random(f"{format} {seed}"), format)
        assert read(answer).calls == calls, answer
        assert detect(answer) == calls, answer
