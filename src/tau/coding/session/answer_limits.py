"""How long answers may be: moderate at first, less if the server says so, more if one was cut off."""

from msgspec import Struct
from msgspec.structs import replace

from tau.ai.model import Model
from tau.base.errors import ProviderError

# Plans that limit tokens per minute count the whole limit of each request, however short its answer is.
USUAL_ANSWER_TOKENS = 16_384
THINKING_ANSWER_TOKENS = 32_768  # thinking counts as answer


class AnswerLimits(Struct):
    """What the servers of this session's models have said and done, by model."""

    _limits: dict[str, int] = {}  # raised after answers that were cut off
    _refused: dict[str, int] = {}  # what a server allows
    _windows: dict[str, int] = {}  # of prompt and answer together
    _fitting: dict[str, int] = {}  # what fits with the current prompt
    _served: dict[str, tuple[Model, Model]] = {}

    def served(self, model: Model) -> Model:
        """The model with the limits of its server."""
        key = model.key
        served = replace(
            model,
            context_window=min(model.context_window, self._windows.get(key, model.context_window)),
            max_tokens=min(
                model.max_tokens,
                self._refused.get(key, model.max_tokens),
                self._fitting.get(key, model.max_tokens),
            ),
        )
        known = self._served.get(key)
        if known is None or known[0] is not model or known[1] != served:
            known = self._served[key] = (model, model if served == model else served)
        return known[1]

    def limit(self, model: Model) -> int:
        """The tokens to allow for the next answer."""
        usual = THINKING_ANSWER_TOKENS if model.reasoning else USUAL_ANSWER_TOKENS
        return min(self._limits.get(model.key, usual), self.served(model).max_tokens)

    def lower(self, model: Model, error: ProviderError) -> bool:
        """Ask for less after a refusal that says how much is allowed; False if that changes nothing."""
        if error.answer_limit is None or error.answer_limit >= self.served(model).max_tokens:
            return False
        if error.window is None:
            self._refused[model.key] = error.answer_limit
        else:
            self._fitting[model.key] = error.answer_limit
            self._windows[model.key] = error.window
        return True

    def raise_after_cut(self, model: Model) -> bool:
        """Allow longer answers; False if the model's or the server's own limit is reached."""
        limit = self.limit(model)
        self._limits[model.key] = limit * 2
        return self.limit(model) > limit

    def on_answer(self, model: Model) -> None:
        """Forget what fitted with the last prompt: the window says it for the next one."""
        self._fitting.pop(model.key, None)
