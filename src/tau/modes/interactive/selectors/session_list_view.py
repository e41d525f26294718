"""The session list: searchable by title and content, with a preview."""

from collections.abc import Iterable, Mapping, Sequence

from tau.base.sizes import format_bytes
from tau.coding.session_index.labels import age_text
from tau.coding.session_index.search import SessionPreview
from tau.modes.interactive.dialogs.dialog_widgets import FocusDelegate
from tau.modes.interactive.screen_protocols import Display
from tau.modes.interactive.selectors.pick_list import AllChoices, PickList
from tau.modes.interactive.selectors.session_actions import SessionItem, Sort
from tau.tui.text.clean import clean_line
from tau.tui.text.cut import fit, truncate
from tau.tui.text.wrap import wrap
from tau.tui.widgets.fuzzy import Ranker, query_words
from tau.tui.widgets.select_items import MAX_LABEL_WIDTH, SelectItem

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
        self, sessions: Sequence[SessionItem] = (), sort: Sort = "time", *, by_folder: bool = False
    ) -> None:
        super().__init__(())
        self.items = [session_item(item, sort, by_folder=by_folder) for item in sessions]  # of clean texts
        self.has_groups = by_folder
        self.label_width = min(max((len(item.title) for item in sessions), default=0), MAX_LABEL_WIDTH)
        self.places = {item.row.file: place for place, item in enumerate(sessions)}
        self.content_matches: Sequence[int] = ()
        """Sessions containing all words of the current query."""
        self._titles = Ranker([item.title for item in sessions], CLOSELY_RANKED)
        self._searchable = [f"{row.label} {row.group}".lower() for row in self.items]
        self.narrow("")

    def matching(self, query: str) -> list[int]:
        words = query_words(query.lower())
        if not words:
            return list(range(len(self.items)))
        ranked = self._titles.order(query)
        whole = [at for at in ranked if all(word in self._searchable[at] for word in words)]
        matched = set(whole)
        in_folder: Iterable[int] = range(len(self.items)) if self.has_groups else ()
        for word in words:
            in_folder = [at for at in in_folder if word in self._searchable[at]]
        places = dict.fromkeys([*whole, *self.content_matches, *in_folder])
        return [*places, *(at for at in ranked if at not in matched and at not in places)]


class SessionList(PickList[bytes]):
    """Items keyed by file path."""

    def __init__(self, display: Display, current: bytes | None) -> None:
        self._described: list[int] = []
        super().__init__(display, (), current=current, empty_text="Reading sessions ...")
        self.set_choices(SessionChoices())

    def show(self, sessions: SessionChoices, empty_text: str) -> None:
        """Show these sessions in this order, keeping the selection if possible."""
        before = self.selected
        self.empty_text = empty_text
        self._described = []
        self.set_choices(sessions)
        if before is None and self.current is not None:
            self.select(self.current)

    def show_matches(self, matches: Mapping[bytes, str]) -> None:
        """Also show sessions whose content matches the filter, with an excerpt."""
        choices = self.choices
        assert isinstance(choices, SessionChoices)
        was_first = self.selected is None or choices.place_of(self.selected.value) == 0
        for place in self._described:
            self.change(place, description="")
        excerpts = {choices.places[file]: text for file, text in matches.items() if file in choices.places}
        for place, text in excerpts.items():
            if choices.items[place].label[:MIN_SAME_CHARS] not in text:  # otherwise the title matches
                self.change(place, description=text)
        self._described = list(excerpts)
        choices.content_matches = self._described
        choices.has_descriptions = any(choices.items[place].description for place in excerpts)
        self.set_choices(choices)
        if was_first:
            self.select_first()

    def mark_open(self, files: Iterable[bytes]) -> None:
        """Mark these as open in another window."""
        choices = self.choices
        assert isinstance(choices, SessionChoices)
        for file in files:
            place = choices.places.get(file)
            if place is not None:
                self.change(place, label=f"{choices.items[place].label} ({OPEN})")


def session_item(item: SessionItem, sort: Sort, *, by_folder: bool) -> SelectItem[bytes]:
    """A row of the list."""
    row = item.row
    count = row.summary.messages
    hint = f"{count:,} message{'' if count == 1 else 's'}, {age_text(row.changed_ms)}"
    if sort == "size":
        hint = f"{format_bytes(row.size_bytes)}, {hint}"
    return SelectItem(row.file, item.title, "", item.folder if by_folder else "", hint)


class SessionBody(FocusDelegate):
    """The list, with a preview of the highlighted session beside or below it."""

    def __init__(self, display: Display, sessions: SessionList) -> None:
        self._display = display
        self.inside = self.sessions = sessions
        self._about: Sequence[str] = ()
        self._rows: list[str] = []
        self._drawn_for: tuple[object, ...] = ()
        self._beside = False
        self._below = 0

    def show(self, item: SessionItem | None, preview: SessionPreview | None) -> None:
        """Update the preview; blank while it is unknown."""
        separator = f" {self._display.theme.symbols.separator} "
        about = () if item is None or preview is None else tuple(preview_lines(item, preview, separator))
        if about != self._about:
            self._about = about
            self._drawn_for = ()

    def fit(self, rows: int, width: int) -> None:
        linear = self._display.theme.linear
        self._beside = width >= SIDE_WIDTH and not linear
        roomy = self._display.terminal.rows >= BELOW_ROWS and not linear
        self._below = MAX_BELOW if roomy and not self._beside else 0
        self.sessions.fit(rows - self._below, self._list_width(width))

    def invalidate(self) -> None:
        self._drawn_for = ()
        super().invalidate()

    def render(self, width: int) -> Sequence[str]:
        rows = self.sessions.render(self._list_width(width))
        if not self._beside and not self._below:
            return rows
        state = (width, rows, self._about, self._beside, self._below)
        same = len(self._drawn_for) == len(state) and self._drawn_for[1] is rows
        if not same or self._drawn_for != state:
            self._drawn_for = state
            self._rows = self._side_by_side(rows, width) if self._beside else self._stack(rows, width)
        return self._rows

    def _list_width(self, width: int) -> int:
        return width * 11 // 20 if self._beside else width

    def _side_by_side(self, rows: Sequence[str], width: int) -> list[str]:
        left = self._list_width(width)
        theme = self._display.theme
        line = theme["border"](theme.symbols.quote)
        height = max(len(rows), self.sessions.max_rows + 2)
        about = self._wrap_preview(width - left - 3, height)
        drawn = []
        for place in range(max(len(rows), len(about))):
            row = rows[place] if place < len(rows) else ""
            side = about[place] if place < len(about) else ""
            drawn.append(f"{fit(row, left)} {line} {side}".rstrip())
        return drawn

    def _stack(self, rows: Sequence[str], width: int) -> list[str]:
        theme = self._display.theme
        about = self._wrap_preview(width, self._below - 1)
        rule = theme["border"](theme.symbols.rule * width)
        return [*rows, rule, *about, *[""] * (self._below - 1 - len(about))]

    def _wrap_preview(self, width: int, most: int) -> list[str]:
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


def preview_lines(item: SessionItem, preview: SessionPreview, separator: str = " · ") -> list[str]:
    """One paragraph each: facts, the first prompts, the last answer."""
    summary = item.row.summary
    cost = f"${summary.cost:.2f}" if summary.cost >= 0.005 else ""
    parts = [summary.model.rpartition("/")[2], format_bytes(item.row.size_bytes), cost, item.folder]
    lines = [separator.join(clean_line(part) for part in parts if part)]
    lines += [f"You: {clean_line(text)}" for text in preview.prompts]
    if preview.more > 0:
        lines.append(f"and {preview.more:,} more prompts")
    if preview.answer:
        lines.append(f"Last answer: {clean_line(preview.answer)}")
    return lines
