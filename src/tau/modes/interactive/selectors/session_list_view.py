"""The session list: searchable by title and content, with a preview."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tau.base.sizes import format_bytes
from tau.coding.session_index.labels import age_text
from tau.coding.session_index.preview import SessionPreview
from tau.modes.interactive.selectors.pick_list import AllChoices, PickList
from tau.modes.interactive.selectors.session_actions import SessionItem, Sort
from tau.tui.component import LiveComponent
from tau.tui.input.key import InputEvent
from tau.tui.text.clean import clean_line
from tau.tui.text.cut import fit, truncate
from tau.tui.text.wrap import wrap
from tau.tui.widgets.fuzzy import Ranker, query_words
from tau.tui.widgets.select_items import MAX_LABEL_WIDTH, SelectItem

if TYPE_CHECKING:
    from tau.modes.interactive.ports import Display

CLOSELY_RANKED = 300
OPEN = "open elsewhere"
SIDE_WIDTH = 100
"""From this width on, the preview is beside the list."""
BELOW_ROWS = 28
"""From this terminal height on, it is below, if it does not fit beside."""
MAX_BELOW = 7
MIN_SAME_CHARS = 20


class SessionChoices(AllChoices[bytes]):
    """Titles containing the words rank first, then content matches, then fuzzy ones.

    Slow to build for thousands of sessions: keep it off the event loop.
    """

    def __init__(
        self, found: Sequence[SessionItem] = (), sort: Sort = "time", *, by_folder: bool = False
    ) -> None:
        super().__init__(())
        self.items = [session_item(one, sort, by_folder=by_folder) for one in found]  # of clean texts
        self.has_groups = by_folder
        self.label_width = min(max((len(one.title) for one in found), default=0), MAX_LABEL_WIDTH)
        self.places = {one.row.file: place for place, one in enumerate(found)}
        self.said: Sequence[int] = ()
        """Sessions containing all words of the current query."""
        self._titles = Ranker([one.title for one in found], CLOSELY_RANKED)
        self._told = [f"{item.label} {item.group}".lower() for item in self.items]
        self.narrow("")

    def matching(self, query: str) -> list[int]:
        words = query_words(query.lower())
        if not words:
            return list(range(len(self.items)))
        ranked = self._titles.order(query)
        whole = [at for at in ranked if all(word in self._told[at] for word in words)]
        known = set(whole)
        in_folder: Iterable[int] = range(len(self.items)) if self.has_groups else ()
        for word in words:
            in_folder = [at for at in in_folder if word in self._told[at]]
        found = dict.fromkeys([*whole, *self.said, *in_folder])
        return [*found, *(at for at in ranked if at not in known and at not in found)]


class SessionList(PickList[bytes]):
    """Items keyed by file path."""

    def __init__(self, display: "Display", current: bytes | None) -> None:
        self._noted: list[int] = []
        super().__init__(display, (), current=current, empty_text="Reading sessions ...")
        self.set_choices(SessionChoices())

    def show(self, sessions: SessionChoices, empty_text: str) -> None:
        """Show these sessions in this order, keeping the selection if possible."""
        before = self.selected
        self.empty_text = empty_text
        self._noted = []
        self.set_choices(sessions)
        if before is None and self.current is not None:
            self.select(self.current)

    def note_said(self, said: Mapping[bytes, str]) -> None:
        """Also show sessions whose content matches the filter, with an excerpt."""
        choices = self.choices
        assert isinstance(choices, SessionChoices)
        was_first = self.selected is None or choices.place_of(self.selected.value) == 0
        for place in self._noted:
            self.change(place, description="")
        found = {choices.places[file]: text for file, text in said.items() if file in choices.places}
        for place, text in found.items():
            if choices.items[place].label[:MIN_SAME_CHARS] not in text:  # otherwise the title matches
                self.change(place, description=text)
        self._noted = list(found)
        choices.said = self._noted
        choices.has_descriptions = any(choices.items[place].description for place in found)
        self.set_choices(choices)
        if was_first:
            self.select_first()

    def note_open(self, files: Iterable[bytes]) -> None:
        """Mark these as open in another window."""
        choices = self.choices
        assert isinstance(choices, SessionChoices)
        for file in files:
            place = choices.places.get(file)
            if place is not None:
                self.change(place, label=f"{choices.items[place].label} ({OPEN})")


def session_item(one: SessionItem, sort: Sort, *, by_folder: bool) -> SelectItem[bytes]:
    """A row of the list."""
    row = one.row
    count = row.summary.messages
    hint = f"{count:,} message{'' if count == 1 else 's'}, {age_text(row.changed_ms)}"
    if sort == "size":
        hint = f"{format_bytes(row.size_bytes)}, {hint}"
    return SelectItem(row.file, one.title, "", one.folder if by_folder else "", hint)


class SessionBody(LiveComponent):
    """The list, with a preview of the highlighted session beside or below it."""

    def __init__(self, display: "Display", sessions: SessionList) -> None:
        self._display = display
        self.sessions = sessions
        self._about: Sequence[str] = ()
        self._rows: list[str] = []
        self._drawn_for: tuple[object, ...] = ()
        self._beside = False
        self._below = 0

    @property
    def focused(self) -> bool:
        return self.sessions.focused

    @focused.setter
    def focused(self, focused: bool) -> None:
        self.sessions.focused = focused

    def show(self, found: SessionItem | None, preview: SessionPreview | None) -> None:
        """Update the preview; blank while it is unknown."""
        about = () if found is None or preview is None else tuple(self._lines(found, preview))
        if about != self._about:
            self._about = about
            self._drawn_for = ()

    def _lines(self, found: SessionItem, preview: SessionPreview) -> list[str]:
        return preview_lines(found, preview, f" {self._display.theme.symbols.separator} ")

    def fit(self, rows: int, width: int) -> None:
        linear = self._display.theme.linear
        self._beside = width >= SIDE_WIDTH and not linear
        roomy = self._display.terminal.rows >= BELOW_ROWS and not linear
        self._below = MAX_BELOW if roomy and not self._beside else 0
        self.sessions.fit(rows - self._below, self._list_width(width))

    def handle_input(self, event: InputEvent) -> bool:
        return self.sessions.handle_input(event)

    def invalidate(self) -> None:
        self._drawn_for = ()
        self.sessions.invalidate()

    def render(self, width: int) -> Sequence[str]:
        rows = self.sessions.render(self._list_width(width))
        if not self._beside and not self._below:
            return rows
        wanted = (width, rows, self._about, self._beside, self._below)
        same = len(self._drawn_for) == len(wanted) and self._drawn_for[1] is rows
        if not same or self._drawn_for != wanted:
            self._drawn_for = wanted
            self._rows = self._side_by_side(rows, width) if self._beside else self._stacked(rows, width)
        return self._rows

    def _list_width(self, width: int) -> int:
        return width * 11 // 20 if self._beside else width

    def _side_by_side(self, rows: Sequence[str], width: int) -> list[str]:
        left = self._list_width(width)
        theme = self._display.theme
        line = theme["border"](theme.symbols.quote)
        height = max(len(rows), self.sessions.max_rows + 2)
        about = self._wrapped(width - left - 3, height)
        drawn = []
        for place in range(max(len(rows), len(about))):
            row = rows[place] if place < len(rows) else ""
            side = about[place] if place < len(about) else ""
            drawn.append(f"{fit(row, left)} {line} {side}".rstrip())
        return drawn

    def _stacked(self, rows: Sequence[str], width: int) -> list[str]:
        theme = self._display.theme
        about = self._wrapped(width, self._below - 1)
        rule = theme["border"](theme.symbols.rule * width)
        return [*rows, rule, *about, *[""] * (self._below - 1 - len(about))]

    def _wrapped(self, width: int, most: int) -> list[str]:
        """As many rows as fit; each text gets a share."""
        theme, room = self._display.theme, max(width, 1)
        texts = self._about
        rows: list[str] = []
        for place, text in enumerate(texts):
            left = max((most - len(rows)) // (len(texts) - place), 1)
            wrapped = wrap(text, room)
            if len(wrapped) > left:
                wrapped[left - 1] = truncate(" ".join(wrapped[left - 1 :]), room, theme.symbols.ellipsis)
            token = "muted" if text.startswith("You: ") or not place else "text"
            rows += [theme[token](row) for row in wrapped[:left]]
        return rows[:most]


def preview_lines(found: SessionItem, preview: SessionPreview, separator: str = " · ") -> list[str]:
    """One paragraph each: facts, the first prompts, the last answer."""
    summary = found.row.summary
    cost = f"${summary.cost:.2f}" if summary.cost >= 0.005 else ""
    parts = [summary.model.rpartition("/")[2], format_bytes(found.row.size_bytes), cost, found.folder]
    lines = [separator.join(clean_line(part) for part in parts if part)]
    lines += [f"You: {clean_line(text)}" for text in preview.prompts]
    if preview.more > 0:
        lines.append(f"and {preview.more:,} more prompts")
    if preview.answer:
        lines.append(f"Last answer: {clean_line(preview.answer)}")
    return lines
