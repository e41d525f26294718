"""Chooses the model: by a few letters, by provider, from the user's own set or from all."""

import os
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from tau.ai.auth import resolve_headers
from tau.ai.model import Model
from tau.base.errors import TauError
from tau.base.run import LocalRunner
from tau.modes.interactive.selectors.model_list import known_models, model_items, served_models
from tau.modes.interactive.selectors.panel import CANCEL, CONFIRM, Hint, Panel
from tau.modes.interactive.selectors.pick_list import PickList
from tau.modes.interactive.selectors.setting_changes import save_setting

if TYPE_CHECKING:
    from tau.coding.session.session import Session
    from tau.modes.interactive.command_context import CommandContext
    from tau.tui.component import Component
    from tau.tui.widgets.select_list import SelectItem

SCOPE, SAVE = "app.models.scope", "app.models.saveDefault"


class ModelSelection(NamedTuple):
    model: Model
    default: bool = False
    """Whether new sessions begin with it too."""


async def choose_model(context: "CommandContext") -> None:
    """Ask for a model and go on with it; what serves models on this machine is looked for meanwhile."""
    session = context.session
    if session is None:
        raise TauError("The session is still being opened; try again in a moment.")
    picker = ModelSelector(context, session.model)
    looking = context.start(picker.look_around()) if context.settings.local.discover else None
    try:
        wish = await context.ask(picker.open)
    finally:
        if looking is not None:
            looking.cancel()
    if wish is not None and context.session is session:
        await use(context, session, wish)


async def use(context: "CommandContext", session: "Session", wish: ModelSelection) -> None:
    """Go on with a model, and begin with it from now on if that is the wish."""
    model = wish.model
    if model.headers:
        with closing(LocalRunner()) as runner:
            model = replace(model, headers=await resolve_headers(model.headers, os.environ, runner))
    if model.key != session.model.key:
        session.use_model(model)
        context.status_line.refresh()
    if wish.default:
        save_setting(context, "defaultProvider", model.provider)
        loaded = save_setting(context, "defaultModel", model.id)
        text = f"{model.name} answers from now on, in new sessions too."
        origin = loaded.origin("defaultModel")
        if origin.layer == "project":
            text += f" In this folder {origin.path} names another model, which is used here."
        context.say(text)
    else:
        context.hint(f"Model: {model.key}.")
    used = session.compaction.usage().tokens
    if used > model.context_window:
        context.say(
            f"The conversation has about {used:,} tokens, and {model.name} takes {model.context_window:,}: "
            "it will be compacted before the next answer, or do it now with /compact.",
            "warning",
        )


class ModelSelector:
    """What the dialog shows; the list grows when servers of this machine have answered."""

    def __init__(self, context: "CommandContext", current: Model) -> None:
        self._context = context
        self._known = known_models(context.paths, current)
        self._enabled = context.settings.enabled_models
        self._scoped = bool(model_items(self._known, self._enabled, scoped=True))
        self._list: PickList[str] = PickList(context.display, self._items(), current=current.key)
        self._panel = Panel(context.display, "Model", self._list, hints=self._hints, fit=self._list.fit)
        self._panel.actions[SCOPE] = self._toggle
        self._show_scope()

    def open(self, done: Callable[[ModelSelection | None], None]) -> "Component":
        """The panel, which answers with a wish."""
        self._list.on_cancel = lambda: done(None)
        self._list.on_select = lambda item: self._take(item.value, done)
        self._panel.actions[SAVE] = lambda: self._save(done)
        return self._panel

    async def look_around(self) -> None:
        """Ask the usual places of this machine for servers."""
        models, names = await served_models()
        if models:
            self._known = self._known.with_more(models, names)
            self._list.set_items(self._items())
            self._context.display.request_render()

    def _items(self) -> "list[SelectItem[str]]":
        theme = self._context.display.theme
        separator = ", " if theme.linear else f" {theme.symbols.separator} "
        return model_items(self._known, self._enabled, scoped=self._scoped, separator=separator)

    def _hints(self) -> list[Hint]:
        hints = [Hint(CONFIRM, "use here"), Hint(CANCEL, "leave"), Hint(SAVE, "use, and make it the default")]
        if self._enabled:
            hints.append(Hint(SCOPE, "show all" if self._scoped else "show your set"))
        return hints

    def _toggle(self) -> None:
        if not self._enabled:
            self._panel.tell("The setting enabledModels names the models of your set; it is empty.", "info")
            return
        self._scoped = not self._scoped
        self._list.set_items(self._items())
        self._show_scope()

    def _show_scope(self) -> None:
        note = "$ for a million tokens in/out"
        self._panel.set_title(note=f"your set; {note}" if self._scoped else note)

    def _take(
        self, key: str, done: Callable[[ModelSelection | None], None], *, default: bool = False
    ) -> None:
        model = self._known.model(key)
        if model is None:
            return
        missing = self._known.missing(model)
        if missing:
            self._panel.tell(missing)
        elif default and self._known.catalog.provider(model.provider) is None:
            self._panel.tell(
                f"{model.name} is served on this machine and is in no table, so it cannot be the default; "
                f"start tau with --model {model.key}."
            )
        else:
            done(ModelSelection(model, default))

    def _save(self, done: Callable[[ModelSelection | None], None]) -> None:
        if self._list.selected is not None:
            self._take(self._list.selected.value, done, default=True)
