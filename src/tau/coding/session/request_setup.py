"""The model, thinking level, prompt and tools of a session's next request."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tau.agent.owner import InterruptMode, Setup
from tau.agent.tool import Tool
from tau.ai.model import Model, ThinkingLevel
from tau.coding.context import ModelRoles
from tau.coding.session.entries import ModelChange, ThinkingLevelChange
from tau.coding.session.storage.log import SessionLog

if TYPE_CHECKING:
    from tau.coding.plan.mode import PlanMode


class RequestSetup:
    """Owns the thinking level; shares the models and the log."""

    def __init__(
        self,
        *,
        log: SessionLog,
        models: ModelRoles,
        thinking: ThinkingLevel,
        system: Callable[[Model], str],
        tools: Sequence[Tool[Any]],
        interrupt_mode: InterruptMode,
        plan: "PlanMode",
    ) -> None:
        self.thinking = thinking
        self._log = log
        self._models = models
        self._make_system = system
        self._tools = tools
        self._interrupt_mode = interrupt_mode
        self._plan = plan
        self._system: tuple[Model, str] | None = None  # the prompt last made, and for which model

    def model(self) -> Model:
        """The model in use: the default one, or that of plan mode."""
        return self._plan.model()

    def build(self) -> Setup:
        model = self.model()
        if self._system is None or self._system[0] != model:
            self._system = (model, self._make_system(model))
        return Setup(
            model=model,
            thinking=self.thinking if model.reasoning else "off",
            system=self._plan.system(self._system[1]),
            tools=self._plan.tools(tools_for(model, self._tools)),
            max_tokens=model.max_tokens,
            cache_key=self._log.header.id,
            interrupt_mode=self._interrupt_mode,
        )

    def record_changes(self) -> None:
        """Log the default model and the thinking level if they differ from the last ones logged."""
        context = self._log.context()
        model = self._models.default
        if context.model != (model.provider, model.id):
            self._log.append(ModelChange(provider=model.provider, model_id=model.id))
        if context.thinking != self.thinking:
            self._log.append(ThinkingLevelChange(thinking_level=self.thinking))

    def switch_model(self, model: Model) -> None:
        """Make `model` the default without a request of the user, and log it."""
        self._models.default = model
        self._log.append(ModelChange(provider=model.provider, model_id=model.id))


# The demo model reads prompts slowly and rarely calls a tool: two are enough to show how they work.
DEMO_TOOLS = ("read", "bash")


def tools_for(model: Model, tools: Sequence[Tool[Any]]) -> Sequence[Tool[Any]]:
    """The tools that a model is offered."""
    return [tool for tool in tools if tool.name in DEMO_TOOLS] if model.demo else tools
