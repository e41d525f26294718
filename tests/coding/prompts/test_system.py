"""The system prompt: its content, its size, and that it stays the same."""

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from tau.ai.faux import FAUX_MODEL
from tau.coding.prompts.system import SystemPrompt, fill
from tau.coding.session.runner import tools_for
from tau.coding.tools.registry import create_tools
from tau.config.instruction_files import ContextFile

DEMO = replace(FAUX_MODEL, demo=True)


def test_first_request_is_small() -> None:
    """At most 1,500 tokens, counted as bytes / 4, with the four basic tools."""
    prompt = SystemPrompt(cwd=Path("/home/somebody/projects/example"))(FAUX_MODEL)
    basic = create_tools(("read", "bash", "edit", "write"))
    specs = msgspec.json.encode([tool.spec for tool in basic])

    assert len(prompt.encode()) + len(specs) <= 6000


def test_demo_model_gets_a_tiny_prompt() -> None:
    prompt = SystemPrompt(cwd=Path("/home/somebody/projects/example"))(DEMO)
    tools = tools_for(DEMO, create_tools())
    specs = msgspec.json.encode([tool.spec.brief() for tool in tools])

    assert [tool.name for tool in tools] == ["read", "bash"]
    assert len(prompt.encode()) + len(specs) <= 1000


def test_project_instructions_are_included_verbatim() -> None:
    files = [
        ContextFile(Path("/a/AGENTS.md"), "Use tabs.\n"),
        ContextFile(Path("/a/b/AGENTS.md"), "No: {{x}}"),
    ]

    prompt = SystemPrompt(cwd=Path("/a/b"), context_files=files)(FAUX_MODEL)

    assert '<instructions path="/a/AGENTS.md">\nUse tabs.\n</instructions>' in prompt
    assert prompt.index("Use tabs.") < prompt.index("No: {{x}}")
    assert prompt.rstrip().splitlines()[-2] == "Working directory: /a/b"


def test_user_may_replace_it_and_add_to_it() -> None:
    files = [ContextFile(Path("/a/AGENTS.md"), "Use tabs.")]

    prompt = SystemPrompt(cwd=Path("/a"), context_files=files, replacement="Be a cat.", addition="Purr.")(
        FAUX_MODEL
    )

    assert prompt.startswith("Be a cat.") and prompt.endswith("Purr.") and "Use tabs." in prompt


def test_it_stays_the_same_for_the_whole_session() -> None:
    prompt = SystemPrompt(cwd=Path("/a"))

    assert prompt(FAUX_MODEL) == prompt(FAUX_MODEL)


def test_placeholder_without_a_value_is_an_error() -> None:
    assert fill("a {{x}} b", x="{{y}}", z="unused") == "a {{y}} b"
    with pytest.raises(ValueError, match="'x'"):
        fill("a {{x}} b")
