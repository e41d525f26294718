"""What authors of extensions import: `from tau.ext import ExtensionAPI`. Each name loads when it is used."""

from tau.base.late import late

TYPE_CHECKING = False
if TYPE_CHECKING:  # the same names for type checkers and editors; a test compares the two
    from tau.agent.effects import Effects as Effects
    from tau.agent.output import ToolOutput as ToolOutput
    from tau.base.errors import TauError as TauError
    from tau.base.errors import ToolError as ToolError
    from tau.ext.extensions.api import API_VERSION as API_VERSION
    from tau.ext.extensions.api import ExtensionAPI as ExtensionAPI
    from tau.ext.extensions.context import ExtensionCommandContext as ExtensionCommandContext
    from tau.ext.extensions.context import ExtensionContext as ExtensionContext
    from tau.ext.extensions.context import StaleContext as StaleContext
    from tau.ext.extensions.context import ToolRunContext as ToolRunContext
    from tau.ext.extensions.events import BeforeAgentStart as BeforeAgentStart
    from tau.ext.extensions.events import BeforeCompact as BeforeCompact
    from tau.ext.extensions.events import BeforeLeave as BeforeLeave
    from tau.ext.extensions.events import BeforeProviderHeaders as BeforeProviderHeaders
    from tau.ext.extensions.events import BeforeProviderRequest as BeforeProviderRequest
    from tau.ext.extensions.events import BeforeTree as BeforeTree
    from tau.ext.extensions.events import CompactionReply as CompactionReply
    from tau.ext.extensions.events import ContextEvent as ContextEvent
    from tau.ext.extensions.events import CredentialDisabled as CredentialDisabled
    from tau.ext.extensions.events import Deny as Deny
    from tau.ext.extensions.events import GoalUpdated as GoalUpdated
    from tau.ext.extensions.events import ProjectTrust as ProjectTrust
    from tau.ext.extensions.events import ProviderResponse as ProviderResponse
    from tau.ext.extensions.events import ResourcePaths as ResourcePaths
    from tau.ext.extensions.events import ResourcesDiscover as ResourcesDiscover
    from tau.ext.extensions.events import RunSetup as RunSetup
    from tau.ext.extensions.events import SessionShutdown as SessionShutdown
    from tau.ext.extensions.events import SessionStart as SessionStart
    from tau.ext.extensions.events import ToolCallEvent as ToolCallEvent
    from tau.ext.extensions.events import ToolResultEvent as ToolResultEvent
    from tau.ext.extensions.events import TreeMoved as TreeMoved
    from tau.ext.extensions.events import UserCode as UserCode
    from tau.ext.extensions.events import UserInput as UserInput
    from tau.ext.extensions.ui import ExtensionUi as ExtensionUi
    from tau.tui.component import CURSOR_MARKER as CURSOR_MARKER
    from tau.tui.component import CachedComponent as CachedComponent
    from tau.tui.component import Component as Component
    from tau.tui.input.key import InputEvent as InputEvent
    from tau.tui.input.key import Key as Key
    from tau.tui.input.key import Paste as Paste
    from tau.tui.text.clean import clean_line as clean_line
    from tau.tui.text.clean import clean_styled as clean_styled
    from tau.tui.text.cut import truncate as truncate
    from tau.tui.text.width import visible_width as visible_width
    from tau.tui.text.wrap import wrap as wrap
    from tau.tui.widgets.loader import CancellableLoader as CancellableLoader

_renamed = late("tau.ext.extensions.deprecated_names")
_HOMES = {
    late("tau.agent.effects"): "Effects",
    late("tau.agent.output"): "ToolOutput",
    late("tau.base.errors"): "TauError ToolError",
    late("tau.ext.extensions.api"): "API_VERSION ExtensionAPI",
    late(
        "tau.ext.extensions.context"
    ): "ExtensionCommandContext ExtensionContext StaleContext ToolRunContext",
    late("tau.ext.extensions.events"): (
        "BeforeAgentStart BeforeCompact BeforeLeave BeforeProviderHeaders BeforeProviderRequest BeforeTree "
        "Deny CompactionReply ContextEvent CredentialDisabled GoalUpdated ProjectTrust ProviderResponse "
        "ResourcePaths ResourcesDiscover RunSetup SessionShutdown SessionStart TreeMoved ToolCallEvent "
        "ToolResultEvent UserCode UserInput"
    ),
    late("tau.ext.extensions.ui"): "ExtensionUi",
    late("tau.tui.component"): "CURSOR_MARKER CachedComponent Component",
    late("tau.tui.input.key"): "InputEvent Key Paste",
    late("tau.tui.text.clean"): "clean_line clean_styled",
    late("tau.tui.text.cut"): "truncate",
    late("tau.tui.text.width"): "visible_width",
    late("tau.tui.text.wrap"): "wrap",
    late("tau.tui.widgets.loader"): "CancellableLoader",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [*_HOME_OF]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        if (new := _renamed.new_name(name)) is not None:
            return __getattr__(new)
        raise AttributeError(f"module 'tau.ext' has no attribute {name!r}")
    value: object = getattr(_HOME_OF[name], name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
