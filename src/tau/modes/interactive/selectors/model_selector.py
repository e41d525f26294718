"""Chooses a model: by search, by provider, from the enabled set or from all."""

from collections.abc import Callable
from typing import NamedTuple

from tau.ai.model import Model
from tau.coding.session.session import Session
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.selectors.model_list import model_items
from tau.modes.interactive.selectors.panel import CANCEL, CONFIRM, Hint, Panel
from tau.modes.interactive.selectors.pick_list import PickList
from tau.modes.interactive.selectors.setting_changes import save_setting
from tau.modes.model_list import known_models, served_models, with_headers
from tau.tui.component import Component
from tau.tui.widgets.select_list import SelectItem

SCOPE, SAVE = "app.models.scope", "app.models.saveDefault"


class ModelSelection(NamedTuple):
    model: Model
    default: bool = False
    """Whether to use it for new sessions too."""


async def choose_model(context: CommandContext) -> None:
    """Ask for a model and switch to it, and look for local servers in the meantime."""
    session = context.require_session()
    picker = ModelSelector(context, session.model)
    looking = context.start(picker.find_local_models()) if context.settings.local.discover else None
    try:
        selection = await context.ask(picker.open)
    finally:
        if looking is not None:
            looking.cancel()
    if selection is not None and context.session is session:
        await use(context, session, selection)


async def use(context: CommandContext, session: Session, selection: ModelSelection) -> None:
    """Switch to a model, and make it the default if requested."""
    model = selection.model
    model = await with_headers(model)
    if model.key != session.model.key:
        session.use_model(model)
        context.status_line.refresh()
    if selection.default:
        save_setting(context, "defaultProvider", model.provider)
        loaded = save_setting(context, "defaultModel", model.id)
        text = f"Using {model.name}, also for new sessions."
        origin = loaded.origin("defaultModel")
        if origin.layer == "project":
            text += f" In this folder, {origin.path} sets another model."
        context.say(text)
    else:
        context.hint(f"Model: {model.key}.")
    used = session.compaction.usage().tokens
    if used > model.context_window:
        context.say(
            f"The conversation has about {used:,} tokens; {model.name} accepts {model.context_window:,}. "
            "It will be compacted before the next answer; /compact does it now.",
            "warning",
        )


class ModelSelector:
    """The dialog's state; the list grows as local servers answer."""

    def __init__(self, context: CommandContext, current: Model) -> None:
        self._context = context
        self._models = known_models(context.paths, current)
        self._enabled = context.settings.enabled_models
        self._scoped = bool(model_items(self._models, self._enabled, scoped=True))
        self._list: PickList[str] = PickList(context.display, self._items(), current=current.key)
        self._panel = Panel(context.display, "Model", self._list, hints=self._hints, fit=self._list.fit)
        self._panel.actions[SCOPE] = self._toggle
        self._show_scope()

    def open(self, done: Callable[[ModelSelection | None], None]) -> Component:
        """The panel, which returns a selection."""
        self._list.on_cancel = lambda: done(None)
        self._list.on_select = lambda item: self._select(item.value, done)
        self._panel.actions[SAVE] = lambda: self._save(done)
        return self._panel

    async def find_local_models(self) -> None:
        """Look for local model servers."""
        models, names = await served_models(self._context.settings.local)
        if models:
            self._models = self._models.with_more(models, names)
            self._list.set_items(self._items())
            self._context.display.request_render()

    def _items(self) -> list[SelectItem[str]]:
        theme = self._context.display.theme
        separator = ", " if theme.linear else f" {theme.symbols.separator} "
        return model_items(self._models, self._enabled, scoped=self._scoped, separator=separator)

    def _hints(self) -> list[Hint]:
        hints = [Hint(CONFIRM, "use here"), Hint(CANCEL, "close"), Hint(SAVE, "use and make default")]
        if self._enabled:
            hints.append(Hint(SCOPE, "show all" if self._scoped else "show enabled"))
        return hints

    def _toggle(self) -> None:
        if not self._enabled:
            self._panel.tell("No models enabled; list them in the setting enabledModels.", "info")
            return
        self._scoped = not self._scoped
        self._list.set_items(self._items())
        self._show_scope()

    def _show_scope(self) -> None:
        note = "$ per million tokens in/out, thinking levels"
        self._panel.set_note(f"enabled models; {note}" if self._scoped else note)

    def _select(
        self, key: str, done: Callable[[ModelSelection | None], None], *, default: bool = False
    ) -> None:
        model = self._models.model(key)
        if model is None:
            return
        missing = self._models.missing(model)
        if missing:
            self._panel.tell(missing)
        elif default and self._models.catalog.provider(model.provider) is None:
            self._panel.tell(
                f"{model.name} runs locally and is not in the catalog, so it cannot be the default; "
                f"start tau with --model {model.key}."
            )
        else:
            done(ModelSelection(model, default))

    def _save(self, done: Callable[[ModelSelection | None], None]) -> None:
        if self._list.selected is not None:
            self._select(self._list.selected.value, done, default=True)
