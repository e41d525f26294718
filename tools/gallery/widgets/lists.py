"""Specimens of lists, tabs and progress indicators."""

from collections.abc import Sequence

from tau.tui.component import Component
from tau.tui.input.key import InputEvent
from tau.tui.widgets.container import Container, Spacer
from tau.tui.widgets.loader import CancellableLoader, Loader
from tau.tui.widgets.select_list import SelectItem, SelectList
from tau.tui.widgets.settings_list import SettingDone, SettingRow, SettingsList
from tau.tui.widgets.tab_bar import Tab, TabBar
from tau.tui.widgets.text import Text
from tau.tui.widgets.toast import ToastStack
from tools.gallery.widgets.specimen import Bench, Specimen, focused, pressed

DISHES = [
    SelectItem("soup", "Leek soup", "Leeks, potatoes, a little cream", "Starters", "12 min"),
    SelectItem("salad", "Bean salad", "White beans, parsley, lemon", "Starters", "8 min"),
    SelectItem("pasta", "Pasta with sage", "Brown butter and too much cheese", "Mains", "20 min"),
    SelectItem("stew", "Lentil stew", "Better on the second day", "Mains", "50 min"),
    SelectItem("roast", "Roast pumpkin", "Out of season until September", "Mains", "60 min", True),
    SelectItem("cake", "Plum cake", "With crumbs on top", "Sweets", "70 min"),
    SelectItem("tea", "Mint tea", "Fresh leaves, no sugar", "Sweets", "5 min"),
]


def _dishes(bench: Bench, *keys: str, rows: int = 10) -> Component:
    picker = SelectList(bench.theme, bench.keys, DISHES, rows, current="stew")
    return focused(pressed(picker, *keys))


def _many(bench: Bench) -> Component:
    items = [SelectItem(str(n), f"src/part_{n % 40}/module_{n}.py") for n in range(10_000)]
    return focused(pressed(SelectList(bench.theme, bench.keys, items, 8), "m", "o", "d", "9", "9"))


def _empty(bench: Bench) -> Component:
    return focused(SelectList[str](bench.theme, bench.keys, [], empty_text="No sessions yet."))


class _Ask(Component):
    """A submenu with one question."""

    def __init__(self, bench: Bench, done: SettingDone) -> None:
        self._keys = bench.keys
        self._text = Text(bench.theme, "Press enter to reset everything, escape to leave it.")
        self._done = done

    def render(self, width: int) -> Sequence[str]:
        return self._text.render(width)

    def handle_input(self, event: InputEvent) -> bool:
        if self._keys.matches(event, "tui.select.confirm"):
            self._done("done")
        elif self._keys.matches(event, "tui.select.cancel"):
            self._done(None)
        return True


def _settings(bench: Bench, *keys: str) -> Component:
    settings = [
        SettingRow(
            "compact", "Auto-compact", True, "toggle", "Shrinks a session that grows too long.", "Session"
        ),
        SettingRow("name", "Name", "", "text", "What the session is called.", "Session"),
        SettingRow(
            "theme",
            "Theme",
            "dark",
            "choice",
            "The colours.",
            "Look",
            choices=["dark", "light", "solar", "none"],
            names=["Dark", "Light", "Solarised", "No colours"],
        ),
        SettingRow("rows", "Output rows", 20, "number", "How much of an output is shown.", "Look", minimum=1),
        SettingRow("key", "Key", "abc", "text", "Kept to itself.", "Look", secret=True),
        SettingRow(
            "reset",
            "Reset",
            "no",
            "submenu",
            "Asks first.",
            "Danger",
            submenu=lambda setting, done: _Ask(bench, done),
        ),
    ]
    return focused(pressed(SettingsList(bench.theme, bench.keys, settings), *keys))


def _tabs(bench: Bench, active: str = "edit") -> Component:
    tabs = [Tab("file", "File"), Tab("edit", "Edit", "3"), Tab("view", "View"), Tab("history", "History")]
    tabs += [Tab(f"more{number}", f"Another tab {number}") for number in range(1, 6)]
    return focused(TabBar(bench.theme, bench.keys, tabs, active=active))


def _loader(bench: Bench, detail: str = "", elapsed: bool = False) -> Component:
    loader = Loader(
        bench.theme,
        "Reading the documents",
        timer=bench.timer,
        request_render=bench.request_render,
        show_elapsed=elapsed,
    )
    loader.detail = detail
    loader.start()
    bench.at_close(loader.stop)
    return loader


def _stopped(bench: Bench) -> Component:
    loader = Loader(bench.theme, "Done reading", timer=bench.timer, request_render=bench.request_render)
    loader.start()
    loader.stop()
    return loader


def _cancellable(bench: Bench, *keys: str) -> Component:
    loader = CancellableLoader(
        bench.theme, bench.keys, "Compacting", timer=bench.timer, request_render=bench.request_render
    )
    loader.start()
    bench.at_close(loader.stop)
    return pressed(loader, *keys)


def _toasts(bench: Bench) -> Component:
    stack = ToastStack(bench.theme, timer=bench.timer, request_render=bench.request_render, max_shown=4)
    stack.show("An older note that has to wait", seconds=0)
    stack.show("Saved the session", "success", 0)
    stack.show("Copied two lines", "info", 0)
    stack.show("The model answers slowly; the connection may be poor", "warning", 0)
    stack.show("The file could not be written: no space is left on the device", "error", 0)
    bench.at_close(stack.clear)
    return Container([Text(bench.theme, "Under this line stand the notes.", "muted"), Spacer(), stack])


SPECIMENS = [
    Specimen("select-list/groups", "Groups, hints, a mark at the current one.", lambda b: _dishes(b)),
    Specimen("select-list/filtered", "Letters that were meant are marked.", lambda b: _dishes(b, "s", "t")),
    Specimen("select-list/scrolled", "Longer than its room.", lambda b: _dishes(b, "pageDown", rows=4)),
    Specimen("select-list/nothing-found", "No item matches.", lambda b: _dishes(b, "x", "y", "z")),
    Specimen("select-list/many", "Ten thousand paths, narrowed.", _many),
    Specimen("select-list/empty", "Nothing to choose from.", _empty),
    Specimen("settings-list/groups", "Every kind of setting.", lambda b: _settings(b)),
    Specimen(
        "settings-list/number", "A number edited in place.", lambda b: _settings(b, *["down"] * 3, "enter")
    ),
    Specimen(
        "settings-list/refused",
        "What is wrong with the number.",
        lambda b: _settings(b, *["down"] * 3, "enter", "ctrl+u", "0", "enter"),
    ),
    Specimen("settings-list/choice", "A list of choices.", lambda b: _settings(b, "down", "down", "enter")),
    Specimen("settings-list/submenu", "A component of its own.", lambda b: _settings(b, "end", "enter")),
    Specimen("settings-list/search", "Found by a few letters.", lambda b: _settings(b, "r", "o", "w")),
    Specimen("tab-bar/first", "One is active.", lambda b: _tabs(b, "file")),
    Specimen("tab-bar/last", "Scrolled to the end.", lambda b: _tabs(b, "more5")),
    Specimen("loader/turning", "Something goes on.", lambda b: _loader(b)),
    Specimen("loader/detail", "With a count of tokens.", lambda b: _loader(b, "1.2k tokens", True)),
    Specimen("loader/stopped", "Nothing goes on any more.", _stopped),
    Specimen("cancellable-loader/running", "A key stops it.", lambda b: _cancellable(b)),
    Specimen("cancellable-loader/stopping", "It was told to stop.", lambda b: _cancellable(b, "escape")),
    Specimen("toast/levels", "Four levels, and one that waits.", _toasts),
]
