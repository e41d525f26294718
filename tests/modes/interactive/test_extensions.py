"""Extensions on the screen: commands, dialogs, components, renderers, shortcuts."""

import asyncio
from pathlib import Path
from textwrap import dedent

import pytest

from tau.ai.faux import Say, Use
from tests.modes.interactive.rig import rigged

PICKER = """
from tau.ext import Component, truncate

class Picker(Component):
    disposed = 0

    def __init__(self, done):
        self.done, self.at = done, 0

    def render(self, width):
        names = enumerate(("red", "blue"))
        return [truncate(f"{'>' if self.at == at else ' '} {name}", width) for at, name in names]

    def handle_input(self, event):
        if event.name == "down":
            self.at = 1
        elif event.name == "enter":
            self.done(("red", "blue")[self.at])
            self.done("twice")
        return True

    def dispose(self):
        Picker.disposed += 1
        tau_api.append_entry("disposed", Picker.disposed)

def extension(tau):
    global tau_api
    tau_api = tau

    @tau.command("pick", complete=lambda typed: [("now", "Right now")])
    async def pick(args, ctx):
        color = await ctx.ui.custom(lambda screen, theme, keys, done: Picker(done), overlay=args == "over")
        ctx.ui.notify(f"picked {color}")
"""


def write(folder: Path, code: str) -> tuple[str, ...]:
    (folder / "e.py").write_text(dedent(code))
    return ("e.py",)


@pytest.mark.parametrize("command", ["/pick", "/pick over"])
def test_a_component_replaces_the_editor_until_it_is_done(tmp_path: Path, command: str) -> None:
    async def main() -> None:
        async with rigged(tmp_path, extensions=write(tmp_path, PICKER)) as rig:
            await rig.send(command)
            await rig.show("> red")
            await rig.press("down")
            await rig.show("> blue")
            await rig.press("enter")
            await rig.show("picked blue")
            assert "> blue" not in await rig.drawn()
            await rig.type("still here")
            await rig.show("still here")
            data = [
                entry.data
                for _, entry in rig.session.log.entries()
                if getattr(entry, "custom_type", "") == "disposed"
            ]
            assert data == [1]

    asyncio.run(main())


BAD_ROWS = {
    "too wide": "return ['x' * (width + 1)]",
    "unclean": "return ['a\\tb\\x1b[2J']",
    "no list": "return 'text'",
    "no text": "return [1]",
    "raises": "raise ValueError('no')",
    "exits": "raise SystemExit",
}


@pytest.mark.parametrize("fault", BAD_ROWS)
def test_a_component_that_draws_badly_is_closed(tmp_path: Path, fault: str) -> None:
    code = f"""
    from tau.ext import Component

    class Bad(Component):
        def render(self, width):
            {BAD_ROWS[fault]}

    def extension(tau):
        @tau.command("bad")
        async def bad(args, ctx):
            await ctx.ui.custom(lambda screen, theme, keys, done: Bad())
            ctx.ui.notify("it is over")
    """

    async def main() -> None:
        async with rigged(tmp_path, [[Say("an answer")]], extensions=write(tmp_path, code)) as rig:
            await rig.send("/bad")
            await rig.show("it is over")
            assert "its part of the screen was closed" in await rig.drawn()
            await rig.send("hello")
            await rig.show("an answer")

    asyncio.run(main())


def test_widgets_headers_shortcuts_and_the_editor(tmp_path: Path) -> None:
    code = """
    def extension(tau):
        @tau.on("session_start")
        def start(event, ctx):
            ctx.ui.widget("todo", ["first task"])
            ctx.ui.status("state", "all well")
            ctx.ui.footer(["the footer"])

        @tau.shortcut("ctrl+alt+x", description="Fill in")
        def fill(ctx):
            ctx.ui.set_editor("filled in")
    """

    async def main() -> None:
        async with rigged(tmp_path, extensions=write(tmp_path, code)) as rig:
            await rig.show("first task")
            await rig.show("all well")
            await rig.show("the footer")
            await rig.press("ctrl+alt+x")
            await rig.show("filled in")
            assert rig.session.extensions is not None
            (tmp_path / "e.py").write_text("def extension(tau): pass")
            await rig.session.extensions.reload()
            await rig.gone("first task")
            await rig.gone("the footer")

    asyncio.run(main())


def test_renderers_draw_calls_notes_and_entries(tmp_path: Path) -> None:
    code = """
    def extension(tau):
        @tau.tool(effects="none")
        def weather(city: str) -> str:
            return "sunny"

        tau.tool_renderer(
            "weather",
            call=lambda args, options, theme: [f"Weather of {args.get('city')}"],
            result=lambda result, options, theme: [f"It is {result['text']}!"],
        )
        tau.message_renderer("memo", lambda message, theme: [f"MEMO {message.content}"])
        tau.entry_renderer("mark", lambda data, theme: [f"MARK {data}"])

        @tau.command("memo")
        def memo(args, ctx):
            tau.send_message(args, kind="memo")
            tau.append_entry("mark", 7)
    """

    async def main() -> None:
        replies = [[Use("weather", city="Rome")], [Say("fine")]]
        async with rigged(tmp_path, replies, extensions=write(tmp_path, code)) as rig:
            await rig.send("how is it?")
            await rig.show("Weather of Rome")
            await rig.show("It is sunny!")
            await rig.idle()
            await rig.send("/memo remember")
            await rig.show("MEMO remember")
            await rig.show("MARK 7")

    asyncio.run(main())


def test_a_failing_renderer_falls_back_to_the_usual_view(tmp_path: Path) -> None:
    code = """
    def extension(tau):
        @tau.tool(effects="none")
        def weather(city: str) -> str:
            return "sunny today"

        tau.tool_renderer("weather", result=lambda result, options, theme: 1 / 0)
    """

    async def main() -> None:
        replies = [[Use("weather", city="Rome")], [Say("fine")]]
        async with rigged(tmp_path, replies, extensions=write(tmp_path, code)) as rig:
            await rig.send("how is it?")
            await rig.show("sunny today")
            await rig.show("fine")

    asyncio.run(main())


def test_an_extension_may_keep_the_session(tmp_path: Path) -> None:
    code = """
    from tau.ext import Deny

    def extension(tau):
        tau.on("session_before_switch", lambda event, ctx: Deny("Not now."))
    """

    async def main() -> None:
        async with rigged(tmp_path, extensions=write(tmp_path, code)) as rig:
            before = rig.session
            await rig.send("/new")
            await rig.show("Not now.")
            assert rig.session is before

    asyncio.run(main())
