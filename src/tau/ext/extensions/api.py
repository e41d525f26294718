"""`ExtensionAPI`: what an extension registers; its actions on the session are in `actions.py`."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast, overload

from tau.agent.effects import Effects
from tau.agent.tool import Tool
from tau.base.late import late
from tau.base.text import clean_line
from tau.coding.extensions import Choice, ExtensionCommand, ExtensionShortcut
from tau.ext.extensions.actions import SessionActions
from tau.ext.extensions.context import ExtensionContext, on_loop
from tau.ext.extensions.event_types import EventRegistrar, Subscription
from tau.ext.extensions.events import EVENT_NAMES
from tau.ext.extensions.function_tool import EffectsOf, FunctionTool
from tau.ext.extensions.url_scheme import ExtensionScheme

if TYPE_CHECKING:
    from tau.ai.wire import CustomMessage
    from tau.ext.extensions.extension import Extension
    from tau.ext.extensions.host import ExtensionHost
    from tau.tui.component import Component
    from tau.tui.style import Theme

plugin_settings = late("tau.ext.plugins.plugin_settings")
deprecated_names = late("tau.ext.extensions.deprecated_names")

API_VERSION = "1.0"
F = TypeVar("F", bound=Callable[..., Any])
Completer: TypeAlias = Callable[[str], Sequence[Choice]]
Drawn: TypeAlias = "Component | Sequence[str] | str | None"


class ExtensionAPI(SessionActions):
    """Passed to `extension(tau)`. Register at any time; all of it goes when the extension is unloaded."""

    on: EventRegistrar

    def __init__(self, host: "ExtensionHost", extension: "Extension") -> None:
        super().__init__(host, extension)
        self.on = cast(EventRegistrar, self._on)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if (new := deprecated_names.new_name(f"ExtensionAPI.{name}")) is not None:
                return getattr(self, new.rpartition(".")[2])
            raise AttributeError(f"ExtensionAPI has no {name}; see the page Extensions.")

    def _on(self, event: str, call: Any = None, /) -> Subscription[Any, Any]:
        self._host.check(self._extension)
        if event not in EVENT_NAMES:
            raise ValueError(f'There is no event "{event}"; see the page Extensions for all.')

        def add(function: Callable[..., Any]) -> Callable[[], None]:
            remove = self._extension.add_handler(event, function)
            self._host.changed()

            def stop() -> None:
                remove()
                self._host.changed()

            return stop

        return Subscription(add, call)

    @overload
    def tool(self, function: F, /) -> F: ...
    @overload
    def tool(self, function: Tool[Any], /) -> Tool[Any]: ...
    @overload
    def tool(
        self,
        *,
        name: str = "",
        label: str = "",
        description: str = "",
        effects: EffectsOf = None,
        parameters: dict[str, Any] | None = None,
        exclusive: bool = False,
    ) -> Callable[[F], F]: ...
    def tool(self, function: Any = None, /, **options: Any) -> Any:  # type: ignore[misc]
        """Offer a function to the model. Its hints and docstring describe the parameters.

        `effects` declares what a call does: "none", Effects(...), or a function of the parameters and the
        folder. Without it, the user is asked about each call. `parameters` is a JSON schema instead of hints.
        A tool of tau's with this name is replaced; the user's permissions for it still apply.
        """

        def register(given: Any) -> Any:
            tool = (
                given
                if isinstance(given, Tool)
                else FunctionTool(self._host, self._extension, given, **options)
            )
            self._extension.tools[tool.name] = tool
            self._host.changed(tools=True)
            return given

        return register if function is None else register(function)

    def remove_tool(self, name: str) -> None:
        if self._extension.tools.pop(name, None) is not None:
            self._host.changed(tools=True)

    @overload
    def command(
        self, name: str, function: F, /, *, description: str = "", complete: Completer | None = None
    ) -> F: ...
    @overload
    def command(
        self, name: str, /, *, description: str = "", complete: Completer | None = None
    ) -> Callable[[F], F]: ...
    def command(
        self,
        name: str,
        function: Any = None,
        /,
        *,
        description: str = "",
        complete: Completer | None = None,
    ) -> Any:
        """Add `/name`; the function gets what is typed after it, and an ExtensionCommandContext.

        `complete` returns what can be typed next, with its meaning.
        """

        if not name.isprintable() or name.startswith("/") or name.split() != [name]:
            raise ValueError(f'"{clean_line(name)}" is not a name for a command: use one word, without "/".')

        def register(given: F) -> F:
            text = description or (given.__doc__ or "").strip().partition("\n")[0]
            self._extension.command_functions[name] = given
            self._extension.commands[name] = ExtensionCommand(
                name=name, description=text, source=self._extension.name, complete=complete
            )
            self._host.changed(commands=True)
            return given

        return register if function is None else register(function)

    @overload
    def shortcut(self, key: str, function: F, /, *, description: str = "") -> F: ...
    @overload
    def shortcut(self, key: str, /, *, description: str = "") -> Callable[[F], F]: ...
    def shortcut(self, key: str, function: Any = None, /, *, description: str = "") -> Any:
        """Call the function with an ExtensionContext when the user presses the key, such as "ctrl+alt+t"."""

        def register(given: F) -> F:
            self._extension.shortcuts[key] = ExtensionShortcut(
                key=key,
                description=description,
                source=self._extension.name,
                run=lambda: self._host.run_shortcut(self._extension, key, given),
            )
            return given

        return register if function is None else register(function)

    def flag(self, name: str, description: str, default: str = "") -> str:
        """What the user passed as `--flag NAME=VALUE`; "true" for `--flag NAME`, else the default."""
        self._extension.flags[name] = description
        return self._host.options.flags.get(name, default)

    def provider(self, name: str, **fields: Any) -> None:
        """Add a provider of models, with the fields of models.json in snake case, such as `base_url`."""
        self._extension.providers[name] = fields

    def url_scheme(
        self,
        scheme: str,
        read: Callable[..., Any],
        write: Callable[..., Any] | None = None,
    ) -> None:
        """Let tools read `scheme://...`: `read(rest)` returns text or bytes; `write(rest, data)` stores."""
        self._extension.schemes[scheme] = ExtensionScheme(self._host, self._extension, scheme, read, write)
        self._host.changed(schemes=True)

    def message_renderer(self, kind: str, render: "Callable[[CustomMessage, Theme], Drawn]") -> None:
        """Draw notes of `send_message(kind=...)`: `render(message, theme)` returns rows or a component."""
        self._extension.renderers["message", kind] = render

    def entry_renderer(self, kind: str, render: "Callable[[Any, Theme], Drawn]") -> None:
        """Show entries of `append_entry(kind, data)`, otherwise hidden: `render(data, theme)`."""
        self._extension.renderers["entry", kind] = render

    def thinking_renderer(self, render: Callable[[str], str]) -> None:
        """Change how the model's thinking is shown: `render(text)` returns another text."""
        self._extension.renderers["thinking", ""] = render

    def tool_renderer(
        self,
        tool: str,
        *,
        call: "Callable[[dict[str, Any], Any, Theme], Drawn] | None" = None,
        result: "Callable[[dict[str, Any], Any, Theme], Drawn] | None" = None,
    ) -> None:
        """Draw a tool's calls: `call(args, options, theme)` above, `result(result, options, theme)` below.

        Each returns rows or a component. `options` has `expanded`, `is_partial` and `spinner_frame`.
        """
        if call is not None:
            self._extension.renderers["tool_call", tool] = call
        if result is not None:
            self._extension.renderers["tool_result", tool] = result

    @property
    def context(self) -> ExtensionContext:
        """A context outside of any event, for `tau.task` and `tau.every`."""
        return self._host.context(self._extension)

    @property
    @on_loop
    def settings(self) -> dict[str, Any]:
        """Of the extension's plugin: what the user has set with `tau plugin config`, else the defaults."""
        folder = self._extension.source.plugin
        if folder is None:
            return {}
        home = self._host.options.paths.home
        return plugin_settings.PluginSettings(home, folder, folder.name).values()

    @property
    def data_dir(self) -> Path:
        """A folder for the extension's own files; it stays across sessions and updates."""
        folder = self._host.options.paths.home / "extension-data" / self._extension.name
        folder.mkdir(parents=True, exist_ok=True)
        return folder


__all__ = ["API_VERSION", "Effects", "ExtensionAPI"]
