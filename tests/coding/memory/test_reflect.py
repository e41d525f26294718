"""reflect: an answer from memory that cites its sources."""

from functools import partial
from pathlib import Path

import pytest

from tau.ai.assembler import complete
from tau.ai.faux import Faux, Say
from tau.backends.memory.store import MemoryStore
from tau.coding.project_memory import ProjectMemory
from tau.coding.tools.reflect import Reflect
from tau.coding.untrusted_text import unfence
from tau.config.settings import MemorySettings
from tests.coding.context import CallContext, call_now
from tests.coding.tools.test_memory_tools import said


@pytest.fixture
def memory(tmp_path: Path) -> ProjectMemory:
    return ProjectMemory(MemoryStore(tmp_path / "m" / "memory.db"), tmp_path, MemorySettings(backend="local"))


def test_the_small_model_answers_from_what_is_recalled(memory: ProjectMemory, ctx: CallContext) -> None:
    id = memory.store.add("The cache is per tenant", scope=memory.scope)
    faux = Faux([[Say(f"Per tenant ({id}).")]])
    tool = Reflect(memory, partial(complete, faux.stream))
    text = said(call_now(tool, ctx, query="How is the cache split?", context="I change it"))
    assert unfence(text) == f"Per tenant ({id})." and unfence(text) != text
    asked = str(faux.requests[0].messages)
    assert id in asked and "How is the cache split?" in asked and "I change it" in asked


def test_without_a_model_it_lists_what_it_recalls(memory: ProjectMemory, ctx: CallContext) -> None:
    id = memory.store.add("The cache is per tenant", scope=memory.scope)
    text = said(call_now(Reflect(memory, None), ctx, query="cache"))
    assert text.startswith("Based on recalled memories:") and f"(id: {id})" in text


def test_nothing_to_reflect_on(memory: ProjectMemory, ctx: CallContext) -> None:
    faux = Faux([])
    tool = Reflect(memory, partial(complete, faux.stream))
    assert said(call_now(tool, ctx, query="zebra")) == "No relevant information found to reflect on."
    assert not faux.requests
