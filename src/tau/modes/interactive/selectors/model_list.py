"""The list of available models, as a selector shows it."""

from collections.abc import Sequence

from tau.ai.model import THINKING_LEVELS, Model, ThinkingLevel
from tau.ai.model_search import models_in_order
from tau.modes.model_list import ModelList
from tau.tui.widgets.select_list import SelectItem

YOURS = "Your models (enabledModels)"


def model_items(
    available: ModelList, enabled: Sequence[str], *, scoped: bool, separator: str = " · "
) -> list[SelectItem[str]]:
    """Enabled models first, then by provider; those without a key last. `scoped`: only enabled ones."""
    own = models_in_order(available.catalog, enabled, prefer=available.usable) if enabled else []
    own.sort(key=lambda model: model.provider not in available.usable)
    items = [
        _item(available, model, YOURS, separator)._replace(hint=_missing(available, model)) for model in own
    ]
    if scoped:
        return items
    listed = {model.key for model in own}
    rest = [model for model in available.catalog.models if model.key not in listed]
    rest.sort(key=lambda model: model.provider not in available.usable)
    for model in rest:
        name = available.names.get(model.provider, model.provider)
        missing = _missing(available, model)
        items.append(_item(available, model, f"{name}: {missing}" if missing else name, separator))
    return items


def _item(available: ModelList, model: Model, group: str, separator: str) -> SelectItem[str]:
    usable = model.provider in available.usable
    named = model.key if group == YOURS else model.id  # the group already names the provider
    return SelectItem(model.key, model.name, facts(model, separator, named), group, "", not usable)


def _missing(available: ModelList, model: Model) -> str:
    """Briefly, why it is unusable."""
    if model.provider in available.usable:
        return ""
    row = available.catalog.provider(model.provider)
    variables = row.key_variables if row is not None else []
    return f"no key, set {variables[-1]}" if variables else "no key"


def facts(model: Model, separator: str = " · ", named: str = "") -> str:
    """Context size, price per million tokens in and out, thinking levels, missing image input, and id."""
    free = not model.cost.input and not model.cost.output
    parts = [
        tokens(model.context_window),
        "no price" if free else f"${model.cost.input:g}/${model.cost.output:g}",
        _levels(model.thinking_levels()) if model.reasoning else "",
        "" if "image" in model.input else "no images",
        named or model.key,
    ]
    return separator.join(part for part in parts if part)


def _levels(levels: Sequence[ThinkingLevel]) -> str:
    """`low-max` for three or more in a row, else each: `off/high/max`."""
    runs: list[list[ThinkingLevel]] = []
    for level in levels:
        if runs and THINKING_LEVELS.index(level) == THINKING_LEVELS.index(runs[-1][-1]) + 1:
            runs[-1].append(level)
        else:
            runs.append([level])
    return "/".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else "/".join(run) for run in runs)


def tokens(count: int) -> str:
    """A readable size: 200K, 1M."""
    if count >= 1_000_000:
        return f"{count / 1_000_000:.1f}".removesuffix(".0") + "M"
    return f"{count / 1000:.0f}K" if count >= 1000 else str(count)
