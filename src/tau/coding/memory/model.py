"""Asks the small model about memories."""

from pathlib import Path

from tau.agent.loop_owner import Complete
from tau.coding.ports import Models
from tau.coding.side_request import ask_model
from tau.coding.untrusted_text import fence


class MemoryModel:
    """The `smol` role, for extracting and reflecting. `folder` holds the prompts."""

    def __init__(self, complete: Complete, models: Models) -> None:
        self._complete = complete
        self._models = models

    async def ask(self, prompt: str, text: str, timeout_s: float) -> str:
        """Raises TauError."""
        system = Path(__file__).with_name(f"{prompt}.md").read_text(encoding="utf-8").strip()
        model, thinking = self._models.role("smol"), self._models.level("smol") or "off"
        return await ask_model(self._complete, model, system, text, thinking=thinking, timeout_s=timeout_s)


def fence_memories(text: str) -> str:
    """Memories are data: what is in one may have come from anywhere."""
    return fence([text], "long-term memory")[0]
